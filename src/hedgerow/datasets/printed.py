"""The worked tables that the papers print, row by row: the standard data of the tests, the docs and the demo.

Constants named `..._GROUPS` give the printed group of each row, counted from 0. Money is in whole dollars.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

SALARY_GROUPS = (0, 0, 0, 1, 1, 1, 2, 2, 2)
"""The groups of `salaries`."""

PATIENT_GROUPS = (0, 0, 0, 0, 0, 1, 1, 1, 1)
"""The groups of `patients`."""

EMPLOYEE_GROUPS = (0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2)
"""The groups of `employees`: the first three digits of the zip code."""

EMPLOYEE_TREE = ((30_000, 40_000), (50_000, 60_000))
"""The hierarchy over the salaries of `employees`, equal weights everywhere: rebuilt from tables 3.2 and 3.3."""

PAYROLL_GROUPS = (0, 0, 0, 0, 1, 1, 2, 2)
"""The groups of `payroll`."""

AUTHOR_GROUPS = (0, 0, 1, 0, 1, 1)
"""The printed safe grouping of the authors a1..a6, three in a group."""

PAPER_GROUPS = (1, 0, 0, 1, 0, 1)
"""The printed safe grouping of the papers p1..p6, three in a group."""


class GraphTables(NamedTuple):
    """A bipartite graph as three tables: two kinds of nodes, keyed by their first column, and their edges."""

    left: pa.Table
    right: pa.Table
    edges: pa.Table


def salaries() -> pa.Table:
    """Nine people with their salaries: dissertation, table 2.1."""
    return pa.table(
        {
            "name": ["Alex", "Bob", "Carol", "Debra", "Evan", "Frank", "Gary", "Henry", "Ina"],
            "age": [35, 38, 40, 41, 43, 47, 52, 53, 58],
            "zipcode": ["27101", "27120", "27130", "27229", "27269", "27243", "27656", "27686", "27635"],
            "gender": list("MMMFFMMFM"),
            "salary": [54_000, 55_000, 56_000, 65_000, 75_000, 70_000, 80_000, 75_000, 85_000],
        }
    )


def patients() -> pa.Table:
    """Nine patients with their diseases: permutation anonymization, table 1.

    The print spells one disease "Gastritic" and "Gastritis"; here it is Gastritis everywhere.
    """
    return pa.table(
        {
            "name": ["Bob", "Alex", "Jane", "Lily", "Andy", "Mary", "Linda", "Lucy", "Sarah"],
            "age": [65, 50, 70, 55, 90, 45, 50, 40, 10],
            "sex": list("MMFFFMFFM"),
            "disease": [
                *("Emphysema", "Cancer", "Flu", "Gastritis", "Dyspepsia"),
                *("Flu", "Pneumonia", "Gastritis", "Bronchitis"),
            ],
        }
    )


def employees() -> pa.Table:
    """Eleven employees of three areas, salaries on the domain 30K, 40K, 50K, 60K: dissertation, table 3.1."""
    return pa.table(
        {
            "name": ["Alice", "Bob", "Carol", "Debra", "Elaine", "Grace", "Helen", "Jason", "Kyle", "Leo", "Nancy"],
            "zipcode": [
                *("91110", "91110", "91110", "91130", "91210", "91220"),
                *("91240", "91310", "91320", "91330", "91340"),
            ],
            "gender": list("FMMFFFFMMMF"),
            "salary": [1000 * k for k in (30, 40, 50, 60, 40, 30, 50, 40, 60, 60, 60)],
        }
    )


def payroll() -> pa.Table:
    """Eight employees whose salaries cluster: [Li 2008], table 1. Only the first one's name, Andy, is printed."""
    return pa.table(
        {
            "age": [17, 19, 20, 24, 29, 34, 39, 45],
            "zipcode": [1000 * k for k in (12, 13, 14, 16, 21, 24, 36, 39)],
            "salary": [1_000, 1_010, 1_020, 50_000, 16_000, 24_000, 33_000, 31_000],
        }
    )


def authors_and_papers() -> GraphTables:
    """Six authors, six papers, who wrote what: dissertation, table 4.1."""
    written = [(1, 2), (1, 6), (2, 3), (2, 4), (3, 2), (3, 4), (4, 5), (5, 1), (5, 5), (6, 3), (6, 6)]
    authors = pa.table({"author": [f"a{i}" for i in range(1, 7)], "location": ["US", "EU", "AS"] * 2})
    venues = ["SIGMOD", "VLDB", "VLDB", "VLDB", "SIGMOD", "VLDB"]
    papers = pa.table({"paper": [f"p{i}" for i in range(1, 7)], "venue": venues})
    edges = pa.table({"author": [f"a{a}" for a, _ in written], "paper": [f"p{p}" for _, p in written]})
    return GraphTables(authors, papers, edges)
