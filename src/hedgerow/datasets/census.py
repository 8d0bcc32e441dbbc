"""Census-like microdata of any size: the shape of the literature's CENSUS tables, nobody's data.

Shape      age 78 values, gender 2, education 17, marital 6, race 9, workclass 10, country 83, occupation 50,
           salary_class 50, and the income in dollars that puts a person into the class
Skew       an age pyramid, countries by Zipf's law, lognormal incomes that heap at round numbers
Ties       education follows age; marital status age and gender; country race; work class education; occupation
           education and gender; income all of these. No salary class and no occupation holds more than a tenth of the
           people, so that 10-diversity is feasible, as in the tables of the literature
Cost       O(n log c) for tables of c cells; about a second and a half per million people

The small tables behind the census generator: labels, sizes and tendencies.

The numbers are plausible, not estimated from anybody's data. A size is relative; shares are between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Floats
from hedgerow.errors import ParameterError
from hedgerow.randomness import Keys, seeded_keys

CLASS_WIDTH = 4000
"""Salary class c holds incomes from c * 4000 dollars on; the last class is open."""

NUM_CLASSES = 50

_TOP_INCOME = 400_000
_OLD_AGE = 70
_MIDDLE_RANK = 8.0  # "High school graduate" in EDUCATIONS
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
            "age": age + AGES.start,
            "gender": _label(GENDERS, gender),
            "education": _label([level.label for level in EDUCATIONS], education),
            "marital": _label(MARITALS, marital),
            "race": _label([race.label for race in RACES], race),
            "workclass": _label([kind.label for kind in WORKCLASSES], workclass),
            "country": _label(COUNTRIES, country),
            "occupation": _label([job.label for job in OCCUPATIONS], occupation),
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


def _label(labels: Sequence[str], codes: Codes) -> pa.Array:
    return pa.array(labels, pa.string()).take(pa.array(codes))


def _ages() -> Floats:
    return np.array(AGES, dtype=np.float64)


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
    young_sizes = np.array([level.young for level in EDUCATIONS])
    old_sizes = np.array([level.old for level in EDUCATIONS])
    years_since = ages - np.array([level.from_age for level in EDUCATIONS])
    reached = np.clip((years_since + 1) / 4, 0, 1)
    sizes: Floats = ((1 - old) * young_sizes + old * old_sizes) * reached
    return sizes


def _marital_by_age_and_gender() -> Floats:
    """The table's rows interpolated by age; women marry earlier and are widowed more often."""
    starts = [start for start, _ in MARITAL_BY_AGE]
    sizes = np.array([row for _, row in MARITAL_BY_AGE])
    by_age = np.stack([np.interp(_ages(), starts, column) for column in sizes.T], axis=1)
    men, women = np.array([1.1, 1.0, 1.0, 0.8, 0.9, 0.45]), np.array([0.9, 1.0, 1.0, 1.2, 1.1, 1.6])
    return np.stack([by_age * men, by_age * women], axis=1).reshape(-1, len(MARITALS))


def _race_shares() -> Floats:
    return np.array([race.size for race in RACES])


def _country_by_race() -> Floats:
    rows = []
    for race in RACES:
        abroad = np.concatenate([_zipf(len(names)) * pull for names, pull in zip(REGIONS, race.pulls, strict=True)])
        rows.append(np.concatenate([[race.at_home], (1 - race.at_home) * abroad / abroad.sum()]))
    return np.array(rows)


def _zipf(count: int) -> Floats:
    shares = 1.0 / np.arange(1, count + 1)
    return np.asarray(shares / shares.sum())


def _workclass_by_education() -> Floats:
    ranks = np.arange(len(EDUCATIONS))[:, None] - _MIDDLE_RANK
    sizes = np.array([kind.size for kind in WORKCLASSES])
    slopes = np.array([kind.schooling for kind in WORKCLASSES])
    return np.asarray(sizes * np.exp(ranks * slopes))


def _occupation_by_education_and_gender() -> Floats:
    ranks = np.arange(len(EDUCATIONS))[:, None]
    typical = np.array([job.education for job in OCCUPATIONS])
    sizes = np.array([job.size for job in OCCUPATIONS])
    women = np.array([job.women for job in OCCUPATIONS])
    near = sizes * np.exp(-(((ranks - typical) / _SPREAD_OF_RANKS) ** 2) / 2)
    return np.stack([near * (1 - women), near * women], axis=1).reshape(-1, len(OCCUPATIONS))


def _income(
    age: Codes, gender: Codes, education: Codes, marital: Codes, workclass: Codes, occupation: Codes, keys: Keys
) -> Codes:
    """Lognormal around what age, gender, schooling, marriage, employer and job pay, heaped at round amounts."""
    seniority = -0.0006 * (_ages() - 52) ** 2
    log_income = _LOG_BASE + seniority[age] - _LOG_GENDER_GAP * gender
    log_income += np.array([level.log_pay for level in EDUCATIONS])[education]
    log_income += np.array([kind.log_pay for kind in WORKCLASSES])[workclass]
    log_income += np.array([job.log_pay for job in OCCUPATIONS])[occupation]
    log_income += _LOG_MARRIED * (marital == MARITALS.index("Married"))
    log_income += _LOG_NOISE * _normal(len(age), keys)
    return _heap(np.minimum(np.exp(log_income), _TOP_INCOME), keys)


def _normal(count: int, keys: Keys) -> Floats:
    """Standard normal numbers from a fine table of quantiles."""
    return _normal_quantiles()[(keys(count) % np.uint64(_NORMAL_STEPS)).astype(np.int64)]


@cache
def _normal_quantiles() -> Floats:
    normal = NormalDist()
    return np.array([normal.inv_cdf((step + 0.5) / _NORMAL_STEPS) for step in range(_NORMAL_STEPS)])


def _heap(dollars: Floats, keys: Keys) -> Codes:
    """Round as people do when asked: mostly to hundreds, often to thousands, seldom not at all."""
    units = np.array([10, 100, 100, 100, 1000, 1000, 1000, 1000])[(keys(len(dollars)) % np.uint64(8)).astype(np.int64)]
    return np.asarray(np.rint(dollars / units) * units, dtype=np.int64)


AGES = range(17, 95)
GENDERS = ("Male", "Female")


class Education(NamedTuple):
    """A level of schooling: its size among the young and the old, the youngest age that has it, and what it pays."""

    label: str
    young: float
    old: float
    from_age: int
    log_pay: float


EDUCATIONS = (
    Education("No schooling", 0.4, 1.6, 17, -0.60),
    Education("Nursery to 4th grade", 0.3, 1.5, 17, -0.55),
    Education("5th or 6th grade", 0.8, 2.5, 17, -0.50),
    Education("7th or 8th grade", 0.9, 6.0, 17, -0.42),
    Education("9th grade", 1.3, 3.0, 17, -0.38),
    Education("10th grade", 1.8, 3.8, 17, -0.34),
    Education("11th grade", 3.0, 3.4, 17, -0.30),
    Education("12th grade, no diploma", 3.2, 2.4, 17, -0.22),
    Education("High school graduate", 26.0, 33.0, 18, 0.00),
    Education("Some college, less than a year", 8.5, 6.0, 18, 0.06),
    Education("Some college, a year or more", 17.0, 11.0, 19, 0.12),
    Education("Associate degree, vocational", 5.0, 3.0, 20, 0.18),
    Education("Associate degree, academic", 4.5, 2.2, 20, 0.20),
    Education("Bachelor's degree", 19.0, 11.5, 21, 0.46),
    Education("Master's degree", 6.5, 6.0, 23, 0.64),
    Education("Professional degree", 1.9, 1.8, 25, 0.95),
    Education("Doctorate", 1.1, 1.1, 26, 0.86),
)

MARITALS = ("Never married", "Married", "Married, spouse absent", "Separated", "Divorced", "Widowed")
MARITAL_BY_AGE = (
    (17, (95.0, 4.0, 0.5, 0.3, 0.2, 0.01)),
    (22, (74.0, 22.0, 1.2, 1.2, 1.5, 0.1)),
    (27, (42.0, 49.0, 1.5, 2.2, 5.0, 0.3)),
    (35, (22.0, 61.0, 1.5, 3.0, 12.0, 0.6)),
    (45, (13.0, 64.0, 1.4, 2.8, 17.0, 1.8)),
    (55, (8.0, 66.0, 1.2, 2.2, 17.0, 5.6)),
    (65, (5.0, 63.0, 1.2, 1.4, 12.0, 17.0)),
    (75, (4.0, 52.0, 1.4, 0.8, 7.0, 35.0)),
    (85, (4.0, 32.0, 1.6, 0.5, 4.0, 58.0)),
)


class Workclass(NamedTuple):
    """A kind of employer: its size, how its share grows with a year of schooling, and what it pays."""

    label: str
    size: float
    schooling: float
    log_pay: float


WORKCLASSES = (
    Workclass("Private, for profit", 63.0, -0.02, 0.00),
    Workclass("Private, not for profit", 6.5, 0.14, -0.06),
    Workclass("Local government", 6.8, 0.12, -0.02),
    Workclass("State government", 4.2, 0.14, -0.03),
    Workclass("Federal government", 3.4, 0.08, 0.16),
    Workclass("Self-employed, not incorporated", 6.6, 0.00, -0.18),
    Workclass("Self-employed, incorporated", 3.2, 0.08, 0.24),
    Workclass("Family business, without pay", 0.4, -0.06, -1.60),
    Workclass("Unemployed", 4.9, -0.10, -1.10),
    Workclass("Never worked", 1.0, -0.18, -1.90),
)


class Race(NamedTuple):
    """A census race group: its size, the share born at home, and the pull of each region of `REGIONS` for the rest."""

    label: str
    size: float
    at_home: float
    pulls: tuple[float, float, float, float]


RACES = (
    Race("White", 74.0, 0.93, (5.0, 1.0, 4.5, 0.3)),
    Race("Black or African American", 11.5, 0.91, (4.0, 0.2, 0.4, 5.0)),
    Race("American Indian", 0.7, 0.97, (8.0, 0.2, 0.2, 0.1)),
    Race("Alaska Native", 0.1, 0.99, (1.0, 0.5, 0.5, 0.1)),
    Race("American Indian or Alaska Native, other", 0.2, 0.97, (8.0, 0.2, 0.2, 0.1)),
    Race("Asian", 4.6, 0.24, (0.2, 9.5, 0.2, 0.1)),
    Race("Native Hawaiian or Pacific Islander", 0.2, 0.78, (0.3, 9.0, 0.3, 0.1)),
    Race("Some other race", 6.6, 0.52, (9.3, 0.3, 0.3, 0.1)),
    Race("Two or more races", 2.1, 0.84, (5.0, 2.5, 1.5, 1.0)),
)

HOME_COUNTRY = "United States"
# Inside a region the first country is the most frequent, the others follow Zipf's law.
REGIONS = (
    (
        *("Mexico", "Puerto Rico", "Cuba", "El Salvador", "Dominican Republic", "Jamaica", "Colombia", "Guatemala"),
        *("Haiti", "Canada", "Ecuador", "Peru", "Honduras", "Guyana", "Brazil", "Nicaragua", "Trinidad and Tobago"),
        *("Argentina", "Venezuela", "Panama", "Chile", "Costa Rica", "Bolivia", "Barbados", "Bahamas", "Belize"),
    ),
    (
        *("Philippines", "India", "China", "Vietnam", "Korea", "Japan", "Taiwan", "Iran", "Pakistan", "Laos"),
        *("Hong Kong", "Thailand", "Cambodia", "Bangladesh", "Lebanon", "Israel", "Iraq", "Turkey", "Indonesia"),
        *("Syria", "Afghanistan", "Jordan", "Malaysia", "Burma", "Guam", "Samoa"),
    ),
    (
        *("Germany", "England", "Italy", "Poland", "Russia", "Ukraine", "Portugal", "Ireland", "Greece", "France"),
        *("Romania", "Scotland", "Spain", "Hungary", "Netherlands", "Yugoslavia", "Austria", "Sweden", "Australia"),
        *("Belgium", "Norway"),
    ),
    ("Nigeria", "Egypt", "Ethiopia", "Ghana", "South Africa", "Liberia", "Kenya", "Morocco", "Somalia"),
)
COUNTRIES = (HOME_COUNTRY, *(country for region in REGIONS for country in region))


class Occupation(NamedTuple):
    """A job: its size, the typical rank in `EDUCATIONS`, the share of women, and what it pays."""

    label: str
    size: float
    education: float
    women: float
    log_pay: float


OCCUPATIONS = (
    Occupation("Chief executive", 1.1, 13.0, 0.22, 0.85),
    Occupation("Financial manager", 1.0, 13.0, 0.50, 0.50),
    Occupation("Sales manager", 1.3, 12.5, 0.37, 0.45),
    Occupation("Construction manager", 0.9, 10.5, 0.07, 0.35),
    Occupation("Food service manager", 1.1, 10.0, 0.44, -0.05),
    Occupation("Manager, other", 3.6, 12.0, 0.38, 0.40),
    Occupation("Accountant", 1.8, 13.0, 0.60, 0.22),
    Occupation("Business analyst", 1.5, 13.2, 0.45, 0.32),
    Occupation("Software developer", 2.0, 13.4, 0.24, 0.52),
    Occupation("Computer support specialist", 1.1, 12.0, 0.28, 0.20),
    Occupation("Civil engineer", 0.6, 13.6, 0.12, 0.42),
    Occupation("Mechanical or electrical engineer", 1.4, 13.5, 0.10, 0.45),
    Occupation("Natural scientist", 0.7, 15.2, 0.42, 0.25),
    Occupation("Social worker", 1.1, 13.2, 0.80, -0.10),
    Occupation("Lawyer", 0.9, 15.0, 0.32, 0.60),
    Occupation("University teacher", 1.0, 15.5, 0.46, 0.12),
    Occupation("School teacher", 4.6, 13.8, 0.75, -0.02),
    Occupation("Teaching assistant", 1.2, 10.0, 0.90, -0.50),
    Occupation("Artist or designer", 1.3, 12.8, 0.48, 0.00),
    Occupation("Physician", 0.7, 15.2, 0.32, 0.90),
    Occupation("Registered nurse", 2.2, 12.8, 0.91, 0.30),
    Occupation("Health technician", 1.7, 11.4, 0.74, 0.02),
    Occupation("Nursing aide", 1.8, 8.4, 0.88, -0.35),
    Occupation("Police officer", 1.0, 10.8, 0.15, 0.30),
    Occupation("Fire fighter", 0.4, 10.6, 0.05, 0.30),
    Occupation("Security guard", 0.9, 8.8, 0.24, -0.30),
    Occupation("Cook", 2.2, 6.8, 0.42, -0.50),
    Occupation("Waiter", 1.9, 8.8, 0.72, -0.60),
    Occupation("Kitchen helper", 1.3, 6.6, 0.52, -0.65),
    Occupation("Janitor", 2.2, 6.4, 0.32, -0.38),
    Occupation("Maid", 1.4, 5.6, 0.89, -0.58),
    Occupation("Gardener", 1.2, 5.8, 0.07, -0.40),
    Occupation("Hairdresser", 0.9, 9.0, 0.85, -0.35),
    Occupation("Child care worker", 1.5, 8.8, 0.95, -0.62),
    Occupation("Cashier", 2.9, 8.0, 0.76, -0.58),
    Occupation("Retail salesperson", 3.8, 9.4, 0.52, -0.25),
    Occupation("Sales representative", 2.2, 11.8, 0.32, 0.25),
    Occupation("Insurance or real estate agent", 1.4, 11.6, 0.52, 0.22),
    Occupation("Secretary", 3.9, 9.6, 0.97, -0.10),
    Occupation("Bookkeeper", 1.8, 9.8, 0.90, -0.08),
    Occupation("Customer service clerk", 2.6, 9.6, 0.72, -0.15),
    Occupation("Stock clerk", 1.9, 8.2, 0.34, -0.25),
    Occupation("Farm worker", 1.4, 4.4, 0.20, -0.55),
    Occupation("Carpenter", 1.6, 7.8, 0.02, 0.02),
    Occupation("Construction labourer", 2.0, 6.8, 0.03, -0.12),
    Occupation("Electrician or plumber", 1.6, 8.8, 0.02, 0.20),
    Occupation("Mechanic", 2.5, 8.4, 0.03, 0.08),
    Occupation("Assembler or machine operator", 4.0, 7.2, 0.34, -0.10),
    Occupation("Truck driver", 3.0, 7.8, 0.05, 0.00),
    Occupation("Freight handler", 2.4, 7.0, 0.18, -0.30),
)
