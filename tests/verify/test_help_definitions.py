"""Help tables by their definition, in fractions: what follows passes, and what is one unit beside it does not."""

import itertools
import random
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.verify.help import check_help
from hedgerow.verify.values import PublishedColumns

BOUNDS = ("sum_lower", "sum_upper", "min_lower", "min_upper", "max_lower", "max_upper")
MEANS = ("sum_expected", "sum_variance")
KINDS = {
    "whole": (pa.int64(), 1, [-7, 0, 3, 12]),
    "large": (pa.int64(), 1, [-(2**61), 2**61, 2**60, 5]),
    "tenths": (pa.float64(), 10, [-0.5, 0.1, 2.5, 3.0]),
    "decimals": (pa.decimal128(10, 2), 100, [Decimal("-1.25"), Decimal("0.10"), Decimal("9.99")]),
}


def of_groups(groups, people, unit):
    """By group and number of hits: the bounds, in units, and what to expect."""
    rows = []
    for number, (values, size) in enumerate(zip(groups, people, strict=True)):
        ascending = sorted(Fraction(str(value)) for value in values)
        mean = sum(ascending) / len(ascending)
        variance = sum((value - mean) ** 2 for value in ascending) / len(ascending)
        for hits in range(1, size + 1):
            least, most = ascending[:hits], ascending[-hits:]
            left = Fraction(len(ascending) - hits, max(len(ascending) - 1, 1))
            bounds = (sum(least), sum(most), least[0], most[0], least[-1], most[-1])
            rows.append((number, hits, len(ascending), *bounds, hits * mean, hits * left * variance))
    return rows


def helper_of(tables, unit):
    """The help table of sensitive columns, by the prefix of each."""
    rows = next(iter(tables.values()))
    columns = {
        "group": pa.array([row[0] for row in rows], pa.int32()),
        "hits": pa.array([row[1] for row in rows], pa.int64()),
        "size": pa.array([row[2] for row in rows], pa.int64()),
    }
    for prefix, found in tables.items():
        for place, name in enumerate(BOUNDS):
            numbers = [row[3 + place] for row in found]
            if unit == 1 and max(map(abs, numbers)) < 2**63:
                columns[prefix + name] = pa.array([int(number) for number in numbers], pa.int64())
            else:
                scale = len(str(unit)) - 1
                exact = [Decimal(int(number * unit)).scaleb(-scale) for number in numbers]
                columns[prefix + name] = pa.array(exact, pa.decimal128(38, scale))
        for place, name in enumerate(MEANS):
            columns[prefix + name] = pa.array([float(row[9 + place]) for row in found])
    return pa.table(columns)


def draw(source, kind, columns, *, fakes):
    """Groups of values of each sensitive column, and how many people each group has."""
    values = KINDS[kind][2]
    sizes = [source.randrange(1, 5) for _ in range(source.randrange(1, 4))]
    people = [source.randrange(1, size + 1) if fakes else size for size in sizes]
    return {name: [source.choices(values, k=size) for size in sizes] for name in columns}, people


def release_of(groups, people, kind, *, fakes):
    """The release of these groups; with fakes in two tables."""
    sizes = [len(group) for group in next(iter(groups.values()))]
    numbers = pa.array([n for n, size in enumerate(sizes) for _ in range(size)], pa.int32())
    hidden = {name: pa.array(list(itertools.chain(*each)), KINDS[kind][0]) for name, each in groups.items()}
    tables = {"release": pa.table({"group": numbers, **hidden})}
    if fakes:
        persons = pa.array([n for n, size in enumerate(people) for _ in range(size)], pa.int32())
        tables = {"quasi": pa.table({"group": persons}), "sensitive": tables["release"]}
    columns = PublishedColumns(("age",), tuple(groups))
    form = "padded" if fakes else "permuted"
    return SimpleNamespace(
        tables=tables, columns=columns, group_column="group", groups=len(sizes), form=form, whole=None
    )


def changed(helper, name, row, value):
    """The table with one cell replaced."""
    column = helper.column(name).to_pylist()
    column[row] = value
    return helper.set_column(helper.column_names.index(name), name, pa.array(column, helper.schema.field(name).type))


@pytest.mark.parametrize("fakes", [False, True])
@pytest.mark.parametrize("columns", [("s",), ("s", "t")])
@pytest.mark.parametrize("kind", KINDS)
def test_help_tables_are_judged_by_definition(kind, columns, fakes):
    """Every bound, number of hits and size; expectations to nine digits of the largest value."""
    source, unit = random.Random(f"{kind}{columns}{fakes}"), KINDS[kind][1]
    for _ in range(12):
        groups, people = draw(source, kind, columns, fakes=fakes)
        if kind == "tenths" and all(float(v).is_integer() for each in groups.values() for g in each for v in g):
            continue  # its unit is one
        if kind == "tenths" and any(
            all(float(v).is_integer() for group in each for v in group) for each in groups.values()
        ):
            continue
        release = release_of(groups, people, kind, fakes=fakes)
        prefixes = {"" if len(columns) == 1 else f"{name}_": name for name in columns}
        tables = {prefix: of_groups(groups[name], people, unit) for prefix, name in prefixes.items()}
        helper = helper_of(tables, unit)
        assert f"{8 * len(columns)} columns" in check_help(release, helper)
        step = {pa.int64(): 1}.get(KINDS[kind][0], Decimal(1) / unit)
        row = source.randrange(helper.num_rows)
        for name in ("group", "hits", "size", *(prefix + bound for prefix in prefixes for bound in BOUNDS)):
            cell = helper.column(name)[row].as_py()
            for new in (cell + (step if "_" in name else 1), cell - (step if "_" in name else 1), None):
                with pytest.raises(hr.BrokenPromise, match=r"help\.parquet"):
                    check_help(release, changed(helper, name, row, new))
        for prefix, column in prefixes.items():
            group = groups[column][helper.column("group")[row].as_py()]
            widest, hits = max(abs(float(value)) for value in group), helper.column("hits")[row].as_py()
            for name, slack in zip(MEANS, (hits * widest, hits * widest**2), strict=True):
                cell = helper.column(prefix + name)[row].as_py()
                for way in (-1, 1):
                    check_help(release, changed(helper, prefix + name, row, cell + way * 0.9e-9 * slack))
                    with pytest.raises(hr.BrokenPromise, match=f"{prefix}{name}"):
                        check_help(release, changed(helper, prefix + name, row, cell + way * (1.5e-9 * slack + 1e-12)))


@pytest.mark.parametrize("which", ["all", "sums"])
def test_help_tables_of_sums_have_no_other_bounds(which):
    """And no column is too many or of another kind."""
    groups, people = {"s": [[1, 2], [3, 4, 5]]}, [2, 3]
    release = release_of(groups, people, "whole", fakes=False)
    helper = helper_of({"": of_groups(groups["s"], people, 1)}, 1)
    helper = helper if which == "all" else helper.drop_columns(list(BOUNDS[2:]))
    assert f"{8 if which == 'all' else 4} columns follow" in check_help(release, helper, which)
    with pytest.raises(hr.BrokenPromise, match="are not those that follow"):
        check_help(release, helper, "sums" if which == "all" else "all")
    for name in (*BOUNDS[:2], *MEANS):
        other = pa.float64() if name in BOUNDS else pa.int64()
        cast = helper.set_column(helper.column_names.index(name), name, helper.column(name).cast(other, safe=False))
        with pytest.raises(hr.BrokenPromise, match=f"'{name}' is of a type that it cannot have"):
            check_help(release, cast, which)


@pytest.mark.parametrize(("kind", "values", "helped"), [
    (pa.string(), ["a", "b"], False), (pa.bool_(), [True, False], False), (pa.date32(), [1, 2], False),
    (pa.int64(), [1, None], False), (pa.int64(), [1, 2**62], False), (pa.int64(), [1, 2**62 - 1], True),
    (pa.float64(), [1e300, 1.5], False), (pa.float64(), [1.5, 2.0], True), (pa.decimal128(38, 0), [1, 2**63], False),
])  # fmt: skip
def test_columns_without_bounds(kind, values, helped):
    """Texts, gaps, and numbers that leave 64 bits have none."""
    release = SimpleNamespace(
        tables={"release": pa.table({"group": pa.array([0, 0], pa.int32()), "s": pa.array(values, kind)})},
        columns=PublishedColumns(("age",), ("s",)), group_column="group", groups=1, form="permuted", whole=None,
    )  # fmt: skip
    bare = pa.table({"group": pa.array([0, 0], pa.int32()), "hits": [1, 2], "size": [2, 2]})
    if helped:
        with pytest.raises(hr.BrokenPromise, match="are not those that follow"):
            check_help(release, bare)
    else:
        assert check_help(release, bare).startswith("help.parquet: 0 columns")
