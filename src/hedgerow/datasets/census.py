"""Census-like microdata of any size: the shape of the literature's CENSUS tables, nobody's data.

Shape      age 78 values, gender 2, education 17, marital 6, race 9, workclass 10, country 83, occupation 50,
           salary_class 50, and the income in dollars that puts a person into the class
Skew       an age pyramid, countries by Zipf's law, lognormal incomes that heap at round numbers
Ties       education follows age; marital status age and gender; country race; work class education; occupation
           education and gender; income all of these. No salary class and no occupation holds more than a tenth of the
           people, so that 10-diversity is feasible, as in the tables of the literature
Cost       O(n log c) for tables of c cells; about a second and a half per million people
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from statistics import NormalDist

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.datasets import census_tables as tables
from hedgerow.errors import ParameterError
from hedgerow.randomness import Keys, seeded_keys

__all__ = ["CLASS_WIDTH", "NUM_CLASSES", "census"]

CLASS_WIDTH = 4000
"""Salary class c holds incomes from c * 4000 dollars on; the last class is open."""

NUM_CLASSES = 50

_TOP_INCOME = 400_000
_OLD_AGE = 70
_MIDDLE_RANK = 8.0  # "High school graduate" in tables.EDUCATIONS
_SPREAD_OF_RANKS = 2.4  # how far from its typical schooling an occupation still recruits
_LOG_BASE = 10.65
_LOG_NOISE = 0.55
_LOG_GENDER_GAP = 0.18
_LOG_MARRIED = 0.08
_NORMAL_STEPS = 8192

Codes = NDArray[np.int64]


def census(n: int, *, seed: int = 0) -> pa.Table:
    """Make `n` people; the same seed makes the same people."""
    if type(n) is not int or n < 0:
        raise ParameterError(f"'n' must be an integer of at least 0; got {n!r}.")
    if type(seed) is not int or seed < 0:
        raise ParameterError(f"'seed' must be an integer of at least 0; got {seed!r}.")
    keys = seeded_keys(seed)
    age = _draw(_age_shares()[None, :], np.zeros(n, dtype=np.int64), keys)
    gender = _draw(_gender_by_age(), age, keys)
    education = _draw(_education_by_age(), age, keys)
    marital = _draw(_marital_by_age_and_gender(), age * 2 + gender, keys)
    race = _draw(_race_shares()[None, :], np.zeros(n, dtype=np.int64), keys)
    country = _draw(_country_by_race(), race, keys)
    workclass = _draw(_workclass_by_education(), education, keys)
    occupation = _draw(_occupation_by_education_and_gender(), education * 2 + gender, keys)
    income = _income(age, gender, education, marital, workclass, occupation, keys)
    return pa.table(
        {
            "age": age + tables.AGES.start,
            "gender": _labelled(tables.GENDERS, gender),
            "education": _labelled([level.label for level in tables.EDUCATIONS], education),
            "marital": _labelled(tables.MARITALS, marital),
            "race": _labelled([race.label for race in tables.RACES], race),
            "workclass": _labelled([kind.label for kind in tables.WORKCLASSES], workclass),
            "country": _labelled(tables.COUNTRIES, country),
            "occupation": _labelled([job.label for job in tables.OCCUPATIONS], occupation),
            "salary_class": np.minimum(income // CLASS_WIDTH, NUM_CLASSES - 1),
            "income": income,
        }
    )


def _uniform(count: int, keys: Keys) -> Floats:
    """Uniform numbers in [0, 1) from the upper 53 bits of each key."""
    return (keys(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _draw(shares: Floats, given: Codes, keys: Keys) -> Codes:
    """Draw one column per row of `given` by inverting the cumulative shares of that row of the table."""
    upto = np.cumsum(shares, axis=1)
    upto /= upto[:, -1:]
    # Row r occupies (r, r + 1] of one long ascending line, so a single binary search serves every row.
    line = (upto + np.arange(len(shares))[:, None]).ravel()
    found = np.searchsorted(line, _uniform(len(given), keys) + given, side="right")
    # Adding the row number rounds: a draw just below 1 may land on the next row's first cell.
    return np.asarray(np.minimum(found - given * shares.shape[1], shares.shape[1] - 1), dtype=np.int64)


def _labelled(labels: Sequence[str], codes: Codes) -> pa.Array:
    return pa.array(labels, pa.string()).take(pa.array(codes))


def _ages() -> Floats:
    return np.array(tables.AGES, dtype=np.float64)


def _age_shares() -> Floats:
    """Full cohorts up to about fifty with a bulge around forty, then a logistic decline."""
    ages = _ages()
    bulge = 0.25 * np.exp(-(((ages - 40) / 12) ** 2))
    return np.asarray((1 + bulge) / (1 + np.exp((ages - 68) / 8)))


def _gender_by_age() -> Floats:
    """Slightly more young men, and women outliving them."""
    women = np.clip(0.49 + 0.004 * np.maximum(_ages() - 55, 0), 0.0, 0.7)
    return np.stack([1 - women, women], axis=1)


def _education_by_age() -> Floats:
    """Between the schooling of the young and of the old, and nothing that takes more years than lived."""
    ages = _ages()[:, None]
    old = np.clip((ages - 25) / (_OLD_AGE - 25), 0, 1)
    young_sizes = np.array([level.young for level in tables.EDUCATIONS])
    old_sizes = np.array([level.old for level in tables.EDUCATIONS])
    years_since = ages - np.array([level.from_age for level in tables.EDUCATIONS])
    reached = np.clip((years_since + 1) / 4, 0, 1)
    sizes: Floats = ((1 - old) * young_sizes + old * old_sizes) * reached
    return sizes


def _marital_by_age_and_gender() -> Floats:
    """The table's rows interpolated by age; women marry earlier and are widowed more often."""
    starts = [start for start, _ in tables.MARITAL_BY_AGE]
    sizes = np.array([row for _, row in tables.MARITAL_BY_AGE])
    by_age = np.stack([np.interp(_ages(), starts, column) for column in sizes.T], axis=1)
    men, women = np.array([1.1, 1.0, 1.0, 0.8, 0.9, 0.45]), np.array([0.9, 1.0, 1.0, 1.2, 1.1, 1.6])
    return np.stack([by_age * men, by_age * women], axis=1).reshape(-1, len(tables.MARITALS))


def _race_shares() -> Floats:
    return np.array([race.size for race in tables.RACES])


def _country_by_race() -> Floats:
    rows = []
    for race in tables.RACES:
        abroad = np.concatenate(
            [_zipf(len(names)) * pull for names, pull in zip(tables.REGIONS, race.pulls, strict=True)]
        )
        rows.append(np.concatenate([[race.at_home], (1 - race.at_home) * abroad / abroad.sum()]))
    return np.array(rows)


def _zipf(count: int) -> Floats:
    shares = 1.0 / np.arange(1, count + 1)
    return np.asarray(shares / shares.sum())


def _workclass_by_education() -> Floats:
    ranks = np.arange(len(tables.EDUCATIONS))[:, None] - _MIDDLE_RANK
    sizes = np.array([kind.size for kind in tables.WORKCLASSES])
    slopes = np.array([kind.schooling for kind in tables.WORKCLASSES])
    return np.asarray(sizes * np.exp(ranks * slopes))


def _occupation_by_education_and_gender() -> Floats:
    ranks = np.arange(len(tables.EDUCATIONS))[:, None]
    typical = np.array([job.education for job in tables.OCCUPATIONS])
    sizes = np.array([job.size for job in tables.OCCUPATIONS])
    women = np.array([job.women for job in tables.OCCUPATIONS])
    near = sizes * np.exp(-(((ranks - typical) / _SPREAD_OF_RANKS) ** 2) / 2)
    return np.stack([near * (1 - women), near * women], axis=1).reshape(-1, len(tables.OCCUPATIONS))


def _income(
    age: Codes, gender: Codes, education: Codes, marital: Codes, workclass: Codes, occupation: Codes, keys: Keys
) -> Codes:
    """Lognormal around what age, gender, schooling, marriage, employer and job pay, heaped at round amounts."""
    seniority = -0.0006 * (_ages() - 52) ** 2
    log_income = _LOG_BASE + seniority[age] - _LOG_GENDER_GAP * gender
    log_income += np.array([level.log_pay for level in tables.EDUCATIONS])[education]
    log_income += np.array([kind.log_pay for kind in tables.WORKCLASSES])[workclass]
    log_income += np.array([job.log_pay for job in tables.OCCUPATIONS])[occupation]
    log_income += _LOG_MARRIED * (marital == tables.MARITALS.index("Married"))
    log_income += _LOG_NOISE * _normal(len(age), keys)
    return _heaped(np.minimum(np.exp(log_income), _TOP_INCOME), keys)


def _normal(count: int, keys: Keys) -> Floats:
    """Standard normal numbers from a fine table of quantiles."""
    return _normal_quantiles()[(keys(count) % np.uint64(_NORMAL_STEPS)).astype(np.int64)]


@cache
def _normal_quantiles() -> Floats:
    normal = NormalDist()
    return np.array([normal.inv_cdf((step + 0.5) / _NORMAL_STEPS) for step in range(_NORMAL_STEPS)])


def _heaped(dollars: Floats, keys: Keys) -> Codes:
    """Round as people do when asked: mostly to hundreds, often to thousands, seldom not at all."""
    units = np.array([10, 100, 100, 100, 1000, 1000, 1000, 1000])[(keys(len(dollars)) % np.uint64(8)).astype(np.int64)]
    return np.asarray(np.rint(dollars / units) * units, dtype=np.int64)
