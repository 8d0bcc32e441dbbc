"""Tables to try things on: what the papers print, a census generator, and loaders of real data where it is present."""

from hedgerow.datasets.census import census
from hedgerow.datasets.printed import authors_and_papers, employees, patients, payroll, salaries
from hedgerow.datasets.real import acs, adult, adult_arx, adult_capital_loss, adult_hierarchies, coauthors, data_folder

__all__ = [
    "acs",
    "adult",
    "adult_arx",
    "adult_capital_loss",
    "adult_hierarchies",
    "authors_and_papers",
    "census",
    "coauthors",
    "data_folder",
    "employees",
    "patients",
    "payroll",
    "salaries",
]
