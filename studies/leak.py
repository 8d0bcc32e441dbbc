"""How much the choice of groups tells at a thousand rows: `python -m studies.leak [ROWS [GROUPS [DEALS]]]`.

For Mondrian and FullDomain, whose groups follow from the table without coins. The adversary knows the algorithm,
everybody's quasi-identifiers, and every sensitive value outside one group, which is more than anybody does; inside the
group the values are dealt again at random, the method runs again, and only deals that give the same groups stay
possible. Shares of the deals that stay, and how likely a person's true value is, beside its share in the group. Where
fewer than a third of the deals stay they are too few to tell a posterior by, and the group is counted as narrowed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hedgerow as hr
from hedgerow.criteria.groupwise import All, KAnonymity
from hedgerow.criteria.l_diversity import FrequencyDiversity
from hedgerow.partition.full_domain import Ladder, full_domain, ladder_of
from hedgerow.partition.mondrian.split import mondrian
from hedgerow.table import read_table
from studies.real import acs, adult_arx, adult_hierarchies

__all__ = ["Leak", "leak_of", "partitions"]

Codes = NDArray[np.int32]
Partition = Callable[[Codes], Codes]


@dataclass(frozen=True)
class Leak:
    """Over people of the groups that were tried: deals that stay possible, the true value's share and its posterior.

    `narrowed` groups, of which fewer than a third of the deals stay, count for the first alone.
    """

    groups: int
    narrowed: int
    possible: float
    shown: float
    posterior: float
    worst: float


def leak_of(partition: Partition, values: Codes, *, groups: int, deals: int, seed: int = 1) -> Leak:
    """Deal the values of some groups again, many times each, and see which deals give the same groups."""
    rng = np.random.default_rng(seed)
    labels = partition(values)
    chosen = rng.permutation(int(labels.max()) + 1)[:groups]
    kept: list[float] = []
    shown: list[float] = []
    posterior: list[float] = []
    worst = 0.0
    for group in chosen.tolist():
        rows = np.flatnonzero(labels == group)
        truth = values[rows]
        stay = []
        for _ in range(deals):
            dealt = values.copy()
            dealt[rows] = rng.permutation(truth)
            if np.array_equal(partition(dealt), labels):
                stay.append(dealt[rows])
        kept.append(len(stay) / deals)
        if 3 * len(stay) < deals:
            continue
        share = (truth[:, None] == truth[None, :]).mean(axis=1)
        likely = (np.array(stay) == truth).mean(axis=0)
        shown += share.tolist()
        posterior += likely.tolist()
        worst = max(worst, float((likely - share).mean()))
    narrowed = sum(3 * share < 1 for share in kept)
    likely, share = (float(np.mean(column)) if column else float("nan") for column in (posterior, shown))
    return Leak(len(chosen), narrowed, float(np.mean(kept)), share, likely, worst)


def partitions(table: pa.Table, quasi: list[str], sensitive: str, l: int) -> Iterator[tuple[str, Partition, Codes]]:  # noqa: E741
    """Mondrian and, where there are hierarchies, FullDomain on one table as functions of the sensitive values."""
    source = read_table(table.select([*quasi, sensitive]))
    encoded = {name: source.encode(name) for name in quasi}
    codes = np.stack([column.codes for column in encoded.values()]).astype(np.int32)
    values = source.encode(sensitive).codes.astype(np.int32)
    scales = [len(column.domain) for column in encoded.values()]
    for k in (5, 20):
        criterion = All(KAnonymity(k), FrequencyDiversity(l))

        def boxes(dealt: Codes, kept: All = criterion) -> Codes:
            return mondrian(codes, scales, dealt, kept)

        yield f"Mondrian(k={k}, l={l})", boxes, values
        if set(quasi) <= set(adult_hierarchies()):
            trees = {name: hr.Hierarchy.from_arx(adult_hierarchies()[name]) for name in quasi}
            ladders = [ladder_of(tree, tree.leaf_codes(name, encoded[name].domain)) for name, tree in trees.items()]

            def levels(dealt: Codes, kept: All = criterion, ladders: list[Ladder] = ladders) -> Codes:
                return full_domain(codes, ladders, [dealt], [kept], suppression=0, names=[sensitive]).labels

            yield f"FullDomain(k={k}, l={l})", levels, values


def main() -> None:
    """Print a table as Markdown."""
    rows, groups, deals = (int(text) for text in (sys.argv[1:] + ["1000", "40", "60"][len(sys.argv) - 1 :])[:3])
    rng = np.random.default_rng(7)
    measured = "narrowed | deals that stay | share of the true value | its posterior | worst"
    print(f"| table | method | groups tried | {measured} |")
    print("|---|---|---|---|---|---|---|---|")
    for name, table, quasi, sensitive in (
        ("Adult, occupation", adult_arx(), ["age", "sex", "education"], "occupation"),
        ("ACS, education", acs(), ["Age", "Gender", "Race"], "Education"),
    ):
        whole = table.select([*quasi, sensitive]).drop_null()
        drawn = whole.take(rng.permutation(whole.num_rows)[:rows])
        for l in (2, 4):  # noqa: E741
            for method, partition, values in partitions(drawn, quasi, sensitive, l):
                try:
                    found = leak_of(partition, values, groups=groups, deals=deals)
                except hr.Infeasible as refusal:
                    print(f"{name}: {method}: {refusal}", file=sys.stderr)
                    continue
                shares = f"{found.possible:.1%} | {found.shown:.2%} | {found.posterior:.2%} | +{found.worst:.1%}"
                print(f"| {name} | {method} | {found.groups} | {found.narrowed} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
