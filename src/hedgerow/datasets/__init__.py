"""Tables to try things on: what the papers print, and a census generator."""

from hedgerow.datasets.census import census
from hedgerow.datasets.printed import authors_and_papers, employees, patients, payroll, salaries

__all__ = [
    "authors_and_papers",
    "census",
    "employees",
    "patients",
    "payroll",
    "salaries",
]
