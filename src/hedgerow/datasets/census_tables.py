"""The small tables behind the census generator: labels, sizes and tendencies.

The numbers are plausible, not estimated from anybody's data. A size is relative; shares are between 0 and 1.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "AGES",
    "COUNTRIES",
    "EDUCATIONS",
    "GENDERS",
    "HOME_COUNTRY",
    "MARITALS",
    "MARITAL_BY_AGE",
    "OCCUPATIONS",
    "RACES",
    "REGIONS",
    "WORKCLASSES",
    "Education",
    "Occupation",
    "Race",
    "Workclass",
]

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
