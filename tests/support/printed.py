"""What the papers print of published tables, for tests to compare with."""

from __future__ import annotations

import pyarrow as pa

from hedgerow.datasets.printed import EMPLOYEE_GROUPS, PATIENT_GROUPS, SALARY_GROUPS, employees, patients


def salaries_generalized() -> pa.Table:
    """The salaries with ages to tens, zip codes to three digits and no gender: dissertation, table 2.2."""
    return pa.table(
        {
            "age": ["[31, 40]"] * 3 + ["[41, 50]"] * 3 + ["[51, 60]"] * 3,
            "zipcode": ["271*"] * 3 + ["272*"] * 3 + ["276*"] * 3,
            "gender": ["*"] * 9,
            "salary": [56_000, 54_000, 55_000, 65_000, 75_000, 70_000, 80_000, 75_000, 85_000],
            "group": list(SALARY_GROUPS),
        }
    )


def salaries_permuted() -> pa.Table:
    """The salaries shuffled inside their groups: dissertation, table 2.3."""
    return pa.table(
        {
            "age": [40, 38, 35, 41, 43, 47, 52, 53, 58],
            "zipcode": ["27130", "27120", "27101", "27229", "27269", "27243", "27656", "27686", "27635"],
            "gender": list("MMMFFMMFM"),
            "salary": [54_000, 55_000, 56_000, 65_000, 70_000, 75_000, 75_000, 80_000, 85_000],
            "group": list(SALARY_GROUPS),
        }
    )


def salaries_help() -> pa.Table:
    """Bounds of SUM and MIN per group and number of hits: dissertation, table 2.4 (group numbers from 0)."""
    return pa.table(
        {
            "group": list(SALARY_GROUPS),
            "hits": [1, 2, 3] * 3,
            "sum_lower": [54_000, 109_000, 165_000, 65_000, 135_000, 210_000, 75_000, 155_000, 240_000],
            "sum_upper": [56_000, 111_000, 165_000, 75_000, 145_000, 210_000, 85_000, 165_000, 240_000],
            "min_lower": [54_000, 54_000, 54_000, 65_000, 65_000, 65_000, 75_000, 75_000, 75_000],
            "min_upper": [56_000, 55_000, 54_000, 75_000, 70_000, 65_000, 85_000, 80_000, 75_000],
        }
    )


def patients_generalized() -> pa.Table:
    """The patients in two generalized groups, NCP 13.5: permutation anonymization, table 2."""
    return pa.table(
        {
            "age_low": [50] * 5 + [10] * 4,
            "age_high": [90] * 5 + [50] * 4,
            "sex": ["F/M"] * 9,
            "disease": patients()["disease"],
            "group": list(PATIENT_GROUPS),
        }
    )


def patients_separated() -> tuple[pa.Table, pa.Table]:
    """The patients' quasi-identifiers and diseases in two tables: permutation anonymization, table 3 (Anatomy)."""
    quasi = patients().select(["age", "sex"]).append_column("group", pa.array(PATIENT_GROUPS))
    return quasi, _printed_diseases()


def patients_scattered() -> tuple[pa.Table, pa.Table]:
    """The patients with every column shuffled apart inside its group: permutation anonymization, table 4."""
    quasi = pa.table(
        {
            "age": [50, 90, 70, 65, 55, 50, 10, 45, 40],
            "sex": list("FMFFMMFMF"),
            "group": list(PATIENT_GROUPS),
        }
    )
    return quasi, _printed_diseases()


def _printed_diseases() -> pa.Table:
    first = ["Emphysema", "Flu", "Cancer", "Dyspepsia", "Gastritis"]
    second = ["Flu", "Bronchitis", "Gastritis", "Pneumonia"]
    return pa.table({"group": list(PATIENT_GROUPS), "disease": first + second})


def employees_disguised() -> pa.Table:
    """The employees' salaries generalized just enough to look uniform, and shuffled: dissertation, table 3.2.

    A published set such as {30K, 40K} is the pair `salary_low`, `salary_high`.
    """
    low, high = (40, 50, 30, 60, 30, 30, 50, 30, 30, 30, 50), (40, 50, 30, 60, 60, 40, 60, 60, 40, 60, 60)
    return _disguised(low, high)


def employees_coarse() -> pa.Table:
    """The same promise kept with more generalization than needed: dissertation, table 3.3.

    The print numbers the last four rows one too high; they are the same four people.
    """
    low, high = (30, 50, 30, 60, 50, 30, 30, 30, 30, 30, 30), (40, 50, 40, 60, 60, 40, 60, 60, 60, 60, 60)
    return _disguised(low, high)


def _disguised(low: tuple[int, ...], high: tuple[int, ...]) -> pa.Table:
    published = employees().select(["zipcode", "gender"])
    published = published.append_column("salary_low", pa.array([1000 * k for k in low]))
    published = published.append_column("salary_high", pa.array([1000 * k for k in high]))
    return published.append_column("group", pa.array(EMPLOYEE_GROUPS))


def employees_with_fake() -> tuple[pa.Table, pa.Table]:
    """The middle group with the fake salary 60K, three people and four values: dissertation, table 3.4.

    The print repeats the zip code 91220 in the third row; table 3.1 has 91240 for that person, and so has this one.
    """
    quasi = employees().select(["zipcode", "gender"]).slice(4, 3).append_column("group", pa.array([1] * 3))
    return quasi, pa.table({"group": [1] * 4, "salary": [30_000, 40_000, 50_000, 60_000]})
