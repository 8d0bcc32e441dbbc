"""Promises by their plain definitions, from the raw tables of a bundle, one value after the other in fractions."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import groupby
from typing import Any

import pyarrow as pa

from tests.support.forger import Forgery

__all__ = ["keeps_promise", "says_what_is_there"]


def keeps_promise(forgery: Forgery) -> bool:
    """Tell whether a bundle keeps what its manifest says, by definition; True where no definition is written down."""
    said = forgery.manifest["guarantee"]
    if said["criterion"] == "safe_grouping":
        return _safe_grouping(forgery, said["parameters"])
    if not said["columns"] or (forgery.manifest["groups"] and not forgery.manifest["columns"]["sensitive"]):
        return False
    check = _CRITERIA.get(said["criterion"])
    return check is None or check(forgery, said["parameters"])


def _groups(forgery: Forgery, column: str, *, days: bool = True) -> list[list[Any]]:
    """The values of each group, texts as people read them, dates by their distance in days."""
    group = forgery.manifest["group_column"]
    table = next(t for t in forgery.tables.values() if {group, column} <= set(t.column_names))
    found = defaultdict(list)
    policy = forgery.manifest.get("texts", {}).get(column, "trimmed")
    for number, value in zip(table.column(group).to_pylist(), table.column(column).to_pylist(), strict=True):
        found[number].append(_read(value, policy) if days or type(value) is not date else value)
    return list(found.values())


def _read(value: Any, policy: str) -> Any:
    if isinstance(value, str) and policy != "exact":
        seen = "".join(sign for sign in value if sign.isspace() or unicodedata.category(sign) not in ("Cc", "Cf"))
        read = " ".join(unicodedata.normalize("NFC", seen).split())
        return read.casefold() if policy == "folded" else read
    if isinstance(value, float):
        return "no number" if value != value else Fraction(repr(value))  # a float stands for the decimal that it prints
    return (value - date(1970, 1, 1)).days if type(value) is date else value


def _columns(forgery: Forgery) -> list[str]:
    return list(forgery.manifest["columns"]["sensitive"])


def _frequency(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    l = parameters["l"]  # noqa: E741
    return l >= 2 and all(
        max(Counter(group).values()) * l <= len(group)
        for column in _columns(forgery)
        for group in _groups(forgery, column)
    )


def _ke(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    k, e, most = parameters["k"], Fraction(parameters["e"]), parameters.get("l", 1)
    groups = [group for column in _columns(forgery) for group in _groups(forgery, column)]
    if any(max(Counter(group).values()) * most > len(group) for group in groups):
        return False
    return k >= 2 and all(len(set(group)) >= k and max(group) - min(group) >= e for group in groups)


def _groupwise(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    if parameters["k"] < 2:
        return False
    for column in _columns(forgery):
        groups = _groups(forgery, column, days=False)  # trees list dates as they are
        overall = Counter(value for group in groups for value in group)
        for group in groups:
            if len(group) < parameters["k"] or not _is_diverse(Counter(group), len(group), parameters):
                return False
            if not _is_near(Counter(group), overall, parameters, column):
                return False
    return _look_alike(forgery) if forgery.manifest["form"] == "generalized" else True


def _is_diverse(counts: Counter[Any], size: int, parameters: dict[str, Any]) -> bool:
    """l-diversity in its four senses."""
    sense, highest = parameters.get("diversity"), max(counts.values())
    if "l" not in parameters:
        return True
    if sense == "frequency":
        return highest * Fraction(parameters["l"]) <= size
    if sense == "distinct":
        return len(counts) >= Fraction(parameters["l"])
    if sense == "recursive":
        tail = sorted(counts.values(), reverse=True)[int(parameters["l"]) - 1 :]
        return highest < Fraction(parameters["c"]) * sum(tail)
    wanted = Fraction(parameters["l"])
    with localcontext() as context:
        context.prec = 50
        shares = [Decimal(count) / size for count in counts.values()]
        entropy = -sum(share * share.ln() for share in shares)
        return entropy >= (Decimal(wanted.numerator) / wanted.denominator).ln() - Decimal(10) ** -40


def _is_near(counts: Counter[Any], overall: Counter[Any], parameters: dict[str, Any], column: str) -> bool:
    """Shares in a group against those in the whole column: alpha, beta, delta, t and presence."""
    size, rows = sum(counts.values()), sum(overall.values())
    shares = {value: (Fraction(counts[value], size), Fraction(overall[value], rows)) for value in overall}
    if "alpha" in parameters and max(share for share, _ in shares.values()) > Fraction(parameters["alpha"]):
        return False
    gains = [((share - base) / base, base) for share, base in shares.values()]
    if "beta" in parameters and max(gain for gain, _ in gains) > Fraction(parameters["beta"]):
        return False
    with localcontext() as context:
        context.prec = 50
        logs = [-(Decimal(base.numerator) / base.denominator).ln() for _, base in gains]
        if parameters.get("enhanced") and any(
            Decimal(gain.numerator) / gain.denominator > log for (gain, _), log in zip(gains, logs, strict=True)
        ):
            return False
        for share, base in shares.values() if "delta" in parameters else ():
            ratio = share / base
            if not ratio or abs((Decimal(ratio.numerator) / ratio.denominator).ln()) >= _decimal(parameters["delta"]):
                return False
    if "presence_low" in parameters:
        inside = shares[max(overall)][0] if len(overall) == 2 or True in overall else Fraction(0)
        if not Fraction(parameters["presence_low"]) <= inside <= Fraction(parameters["presence_high"]):
            return False
    return "t" not in parameters or _moved(shares, parameters, column) <= Fraction(parameters["t"])


def _decimal(text: str) -> Decimal:
    exact = Fraction(text)
    return Decimal(exact.numerator) / exact.denominator


def _moved(shares: dict[Any, tuple[Fraction, Fraction]], parameters: dict[str, Any], column: str) -> Fraction:
    """The earth mover's distance of a group from the whole column."""
    if parameters["distance"] == "equal":
        return sum((abs(share - base) for share, base in shares.values()), Fraction(0)) / 2
    if parameters["distance"] == "ordered":
        total, over = Fraction(0), Fraction(0)
        for value in sorted(shares):
            over += shares[value][0] - shares[value][1]
            total += abs(over)
        return total / max(len(shares) - 1, 1)
    lines = {line[0]: line for line in json.loads(parameters[f"hierarchy of {column}"])}
    height = max(len(next(iter(lines.values()))) - 1, 1)
    total = Fraction(0)
    for level in range(height):
        gaps: dict[object, Fraction] = Counter()
        for value, (share, base) in shares.items():
            text = None if value is None else pa.scalar(_plain(value)).cast(pa.string()).as_py()
            gaps["missing" if text is None else tuple(lines[text][level:])] += share - base  # a node of its own
        total += sum((abs(gap) for gap in gaps.values()), Fraction(0)) / 2
    return total / height


def _look_alike(forgery: Forgery) -> bool:
    """All columns that belong to quasi-identifiers are the same in a group."""
    table, group = forgery.tables["release"], forgery.manifest["group_column"]
    others = {*forgery.manifest["columns"]["sensitive"], *forgery.manifest["columns"]["plain"], group}
    shown = [name for name in table.column_names if name not in others]
    seen = defaultdict(set)
    for row in table.to_pylist():
        seen[row[group]].add(tuple(str(row[name]) for name in shown))
    return all(len(kinds) == 1 for kinds in seen.values())


def _m_invariance(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    groups = _groups(forgery, _columns(forgery)[0])
    fakes = sum(map(len, groups)) - forgery.tables["quasi"].num_rows
    if fakes != parameters["counterfeits"] or (fakes and forgery.manifest["form"] != "padded"):
        return False
    return parameters["m"] >= 2 and all(len(set(group)) == len(group) >= parameters["m"] for group in groups)


def _proximity(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    below, above, share = (Fraction(parameters[name]) for name in ("below", "above", "relative"))
    for values in _groups(forgery, _columns(forgery)[0]):
        group = [Fraction(value) for value in values]  # decimals, too
        for value in group:
            low, high = value - below - abs(value) * share, value + above + abs(value) * share
            if sum(low <= other <= high for other in group) * parameters["m"] > len(group):
                return False
    return bool(parameters["m"] >= 2)


def _robust(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    r, sets = Fraction(parameters["r"]), json.loads(parameters["protect"])
    groups = _groups(forgery, _columns(forgery)[0], days=False)
    if sets is None:
        sets = [[str(_plain(value))] for value in {value for group in groups for value in group}]
    if not sets or r <= 1:
        return False
    everything = {str(_plain(value)) for group in groups for value in group}
    if not all(set(named) & everything for named in sets):
        return False
    protected = {value for named in sets for value in named}
    rows = sum(str(_plain(value)) in protected for group in groups for value in group)
    if rows + parameters["suppressed"] != parameters["protected"]:
        return False
    return all(
        sum(str(_plain(value)) in named for value in group) * r <= len(group) for named in sets for group in groups
    )


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _microaggregation(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    rows = forgery.tables["release"].select(list(forgery.manifest["guarantee"]["columns"])).to_pylist()
    counts = Counter(tuple(row.values()) for row in rows)
    return parameters["k"] >= 2 and min(counts.values()) >= parameters["k"]


def _retention(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    (column,) = forgery.manifest["guarantee"]["columns"]
    domain = forgery.tables["domain"].column(column).to_pylist()
    values = forgery.tables["release"].column(column).to_pylist()
    return 0 <= Fraction(parameters["p"]) <= 1 and set(values) <= set(domain) and None not in domain


def _target(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    """Mixing a group's subdomains, each spread over its values by the target, gives the target."""
    if Fraction(parameters["shift"]) != 0:
        return _within_shift(forgery, Fraction(parameters["shift"]))
    return _mixes_to(forgery, whole=True)


def _mixes_to(forgery: Forgery, *, whole: bool) -> bool:
    """Below the root, or below the lowest node that covers a group, its subdomains mix to the target."""
    nodes = forgery.tables["target"].to_pylist()
    weights: dict[int, int] = Counter()
    for node in nodes:
        weights[node["parent"]] += node["weight"] if node["parent"] is not None else 0

    def spread(number: int) -> dict[int, Fraction]:
        children = [node for node in nodes if node["parent"] == number]
        if not children:
            return {number: Fraction(1)}
        found: dict[int, Fraction] = Counter()
        if not weights[number]:
            return found  # the target has nothing there, so no published value may be
        for child in children:
            for leaf, share in spread(child["node"]).items():
                found[leaf] += share * Fraction(child["weight"], weights[number])
        return found

    def root(number: int) -> int:
        parent = nodes[number]["parent"]
        return number if parent is None else root(parent)

    spreads = {node["node"]: spread(node["node"]) for node in nodes}
    column = f"{_columns(forgery)[0]}_node"
    for group in _groups(forgery, column):
        mixed: dict[int, Fraction] = Counter()
        for node in group:
            for leaf, share in spreads[node].items():
                mixed[leaf] += share / len(group)
        wanted = spreads[root(group[0]) if whole else _covering(nodes, set(group))]
        if {leaf: share for leaf, share in mixed.items() if share} != {leaf: s for leaf, s in wanted.items() if s}:
            return False
    return True


def _path(nodes: list[dict[str, Any]], number: int) -> list[int]:
    """A node and all above it."""
    found = [number]
    while (parent := nodes[found[-1]]["parent"]) is not None:
        found.append(parent)
    return found


def _covering(nodes: list[dict[str, Any]], group: set[int]) -> int:
    paths = [_path(nodes, number) for number in group]
    return next(node for node in paths[0] if all(node in path for path in paths))


def _personal(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    return _mixes_to(forgery, whole=False)


def _within_shift(forgery: Forgery, shift: Fraction) -> bool:
    """Below each node that a group divides, the share of every child is within the shift of the target's."""
    nodes = forgery.tables["target"].to_pylist()
    for group in _groups(forgery, f"{_columns(forgery)[0]}_node"):
        below = Counter(node for number in group for node in _path(nodes, number))
        if len({_path(nodes, number)[-1] for number in group}) > 1:
            return False
        stops = Counter(group)
        for parent in below:
            children = [node for node in nodes if node["parent"] == parent]
            inside, total = below[parent] - stops[parent], sum(child["weight"] for child in children)
            for child in children if inside else ():
                share, wanted = Fraction(below[child["node"]], inside), Fraction(child["weight"], total)
                if abs(share - wanted) > shift or (below[child["node"]] and not child["weight"]):
                    return False
    return True


def _properties(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    rows, terms = forgery.tables["release"], forgery.tables["properties"].to_pylist()
    columns = {
        name: [_read(value, "exact") for value in rows.column(name).to_pylist()]
        for name in forgery.manifest["guarantee"]["columns"]
    }
    for _, parts in groupby(terms, key=lambda term: term["property"]):
        listed = list(parts)
        total = sum(
            (term["coefficient"] * Fraction(columns[term["column"]][term["row"]]) for term in listed), Fraction(0)
        )
        if total > Fraction(listed[0]["at_most"]):
            return False
    return True


_TABLES = {"release", "quasi", "sensitive", "sets", "target", "implied", "properties", "domain", "help"}
_TABLES |= {"left", "right", "left_nodes", "right_nodes", "edges"}


def says_what_is_there(forgery: Forgery, honest: Forgery) -> str:
    """What a bundle that was called good holds and does not declare, or declares and does not hold; empty if nothing.

    `honest` is the bundle that it was made from.
    """
    manifest = forgery.manifest
    for part in ("", "guarantee", "rows", "columns", "counts"):
        if (inside := manifest.get(part) if part else manifest) and "degree" in inside and isinstance(inside, dict):
            return f"a field more in {part or 'the manifest'}"
    if strange := (set(forgery.tables) - _TABLES) | set(forgery.raw) - {f"{name}.parquet" for name in forgery.tables}:
        return f"a file more: {sorted(strange)}" if set(honest.texts) == set(forgery.texts) else "texts"
    page = forgery.texts.get("README.md")
    promised = f"**What is promised.** {manifest['guarantee']['promise']}\n"
    if page is not None and (page.count(promised) != 1 or page.count("**What is promised.**") != 1):
        return "the page promises something else"
    if "<script" in forgery.texts.get("index.html", ""):
        return "a script"
    if manifest["format"].startswith("hedgerow-graph"):
        sides = [forgery.tables[side].column_names for side in ("left", "right")]
        return "" if [list(names) for names in manifest["columns"]] == sides else "entities have other columns"
    return _undeclared(forgery) or _other_words(forgery, honest) or _wrong_help(forgery)


def _undeclared(forgery: Forgery) -> str:
    """Columns that no role has, and roles that no column has."""
    roles = forgery.manifest["columns"]
    names = [*roles["quasi"], *roles["sensitive"], *roles["plain"]]
    shown = [name for table in ("release", "quasi", "sensitive") if table in forgery.tables
             for name in forgery.tables[table].column_names]  # fmt: skip
    is_derived = forgery.manifest["form"] in ("generalized", "disguised")
    known = {*names, forgery.manifest["group_column"]}
    strange = [name for name in shown if name not in known]
    if is_derived:
        ends = ("_low", "_high", "_set", "_missing", "_node")
        strange = [name for name in strange if not any(name in {f"{known}{end}" for end in ends} for known in names)]
    absent = [name for name in names if not any(name == other or other.startswith(f"{name}_") for other in shown)]
    return f"undeclared {strange}, absent {absent}" if strange or absent else ""


def _other_words(forgery: Forgery, honest: Forgery) -> str:
    """The same claims have the same words."""
    mine, theirs = forgery.manifest, honest.manifest
    parts = ("form", "method", "parameters", "columns", "rows", "group_column")
    same = all(mine[part] == theirs[part] for part in parts)
    claims = ("criterion", "parameters", "columns")
    same = same and all(mine["guarantee"][part] == theirs["guarantee"][part] for part in claims)
    is_counted = mine["guarantee"]["criterion"] == "retention"  # these words tell the number of values, too
    return "other words" if same and not is_counted and mine["guarantee"] != theirs["guarantee"] else ""


def _wrong_help(forgery: Forgery) -> str:
    """Bounds of the help table that do not follow from the published rows: h hits take the least or greatest values."""
    if not forgery.manifest["groups"]:
        return ""
    group, (name, *others) = forgery.manifest["group_column"], _columns(forgery)
    which = forgery.manifest.get("help", "all")
    if which == "none":
        return "a help table" if "help" in forgery.tables else ""
    helper = forgery.tables["help"].to_pydict()
    if (which == "sums") == ("min_lower" in helper) and "sum_lower" in helper:
        return "help: more or less than the manifest says"
    if "sum_lower" not in helper or others:
        return ""
    people = forgery.tables["quasi" if "quasi" in forgery.tables else "release"].column(group).to_pylist()
    table = forgery.tables["sensitive" if "sensitive" in forgery.tables else "release"]
    has_nodes = name not in table.column_names
    ends = [table.column(f"{name}_{end}" if has_nodes else name).to_pylist() for end in ("low", "high")]
    lows, highs = defaultdict(list), defaultdict(list)
    for number, low, high in zip(table.column(group).to_pylist(), *ends, strict=True):
        lows[number].append(low if isinstance(low, int) else Fraction(low))
        highs[number].append(high if isinstance(high, int) else Fraction(high))
    if Counter(people) != Counter(helper["group"]):
        return "help: rows"
    is_exact = not any(isinstance(value, float) for value in (*ends[0], *ends[1]))
    ordered = {number: (sorted(lows[number]), sorted(highs[number])) for number in lows}
    for place, (number, hits, size) in enumerate(zip(helper["group"], helper["hits"], helper["size"], strict=True)):
        low, high = ordered[number]
        wanted = {
            "sum_lower": sum(low[:hits]), "sum_upper": sum(high[-hits:]),
            "min_lower": low[0], "min_upper": high[-hits], "max_lower": low[hits - 1], "max_upper": high[-1],
        }  # fmt: skip
        for column, truth in wanted.items():
            if which == "sums" and not column.startswith("sum"):
                continue
            found = helper[column][place]
            found = found if isinstance(found, int) else Fraction(found)
            inside = found <= truth if column.endswith("lower") else found >= truth
            if not inside or (is_exact and found != truth):
                return f"help: {column}"
        mean = helper["sum_expected"][place]
        near = 1e-6 * max(1.0, abs(float(low[0])), abs(float(high[-1]))) * hits
        if size != len(low) or not float(wanted["sum_lower"]) - near <= mean <= float(wanted["sum_upper"]) + near:
            return "help: size or expectation"
        if not has_nodes and abs(mean - float(Fraction(sum(low) * hits) / len(low))) > near:
            return "help: expectation"
    return ""


def _shared_values(rows: list[dict[str, Any]], least: int) -> bool:
    """Each combination of values of edges is shared by edges of enough nodes of both sides."""
    ends = defaultdict(lambda: (set(), set()))
    for row in rows:
        values = tuple(value for name, value in row.items() if not name.endswith("_node"))
        ends[values][0].add(row["left_node"])
        ends[values][1].add(row["right_node"])
    return least <= 1 or all(len(left) >= least <= len(right) for left, right in ends.values())


def _safe_grouping(forgery: Forgery, parameters: dict[str, Any]) -> bool:
    """Groups of at least k (l) nodes with as many entities, no two nodes of which share a neighbour."""
    rows = forgery.tables["edges"].to_pylist()
    if max(parameters["k"], parameters["l"]) < 2 or not _shared_values(rows, parameters.get("edge_k", 1)):
        return False
    pairs = {(row["left_node"], row["right_node"]) for row in rows}
    if len(pairs) < len(rows) and "edge_k" not in parameters:
        return False
    edges = [{"left_node": left, "right_node": right} for left, right in pairs]
    full = {}
    for side, other, least, column in zip(
        ("left", "right"), ("right", "left"), (parameters["k"], parameters["l"]), forgery.manifest["group_columns"],
        strict=True,
    ):  # fmt: skip
        groups = {row["node"]: row["group"] for row in forgery.tables[f"{side}_nodes"].to_pylist()}
        sizes = Counter(groups.values())
        seen = Counter((row[f"{other}_node"], groups[row[f"{side}_node"]]) for row in edges)
        slack = parameters.get(f"{side}_slack", 0)
        links = Counter(row[f"{other}_node"] for row in edges)
        busiest = {node: max((links[e[f"{other}_node"]] for e in edges if e[f"{side}_node"] == node), default=0)
                   for node in groups}  # fmt: skip
        scaled = {node: slack * most for node, most in busiest.items()}
        allowed = {n: max(1, min(least, len(groups) // d)) if d else least for n, d in scaled.items()}
        full[side] = {node: sizes[groups[node]] for node in groups}
        if any(full[side][node] < allowed[node] for node in groups):
            return False
        if "left_slack" in parameters and parameters[f"{side}_lowered"] != sum(
            size < least for size in full[side].values()
        ):
            return False
        if sizes != Counter(forgery.tables[side].column(column).to_pylist()):
            return False
        key = forgery.manifest["keys"][side == "right"]
        names = [
            row[key]
            for name in (side, f"{side}_hubs")
            if name in forgery.tables
            for row in forgery.tables[name].to_pylist()
        ]
        if None in names or len(set(names)) < len(names):
            return False
        if max(seen.values(), default=1) > 1:
            return False
    smallest = (min if "left_slack" in parameters else max)(parameters["k"], parameters["l"])
    return all(max(full["left"][e["left_node"]], full["right"][e["right_node"]]) >= smallest for e in edges)


_CRITERIA = {
    "frequency": _frequency,
    "groupwise": _groupwise,
    "ke": _ke,
    "m_invariance": _m_invariance,
    "microaggregation": _microaggregation,
    "personal": _personal,
    "properties": _properties,
    "proximity": _proximity,
    "retention": _retention,
    "robust": _robust,
    "target": _target,
}
