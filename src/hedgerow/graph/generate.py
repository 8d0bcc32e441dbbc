"""Synthetic bipartite graphs of any size: authors and papers, households and what they buy.

Source     preferential attachment [Barabási 1999]; sizes of the author-paper defaults from [Zhang 2008], section 4.2
Cost       O(edges)

Authors and papers: papers appear one after the other. The first author of a paper is new, a recent one, or one drawn in
proportion to the papers written so far; the others are new, co-authors of the first one's latest paper, or drawn like
the first.

Purchases: households differ in how much they buy and products in how popular they are, both heavy-tailed. A household's
`segment` is correlated with how much it buys, and families buy children's products more often: columns depend on the
links, as real ones do.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.errors import ParameterError
from hedgerow.graph.bipartite import BipartiteGraph
from hedgerow.kernel import kernel
from hedgerow.randomness import generator

_REGIONS = ("US", "EU", "AS", "SA", "AF", "OC")
_REGION_SHARES = (0.36, 0.31, 0.24, 0.05, 0.02, 0.02)
_MOST_AUTHORS = 100
_MOST_PAPERS = 400


def author_paper_graph(
    authors: int = 402_023, papers: int = 543_065, edges: int = 1_401_349, *, seed: int = 0
) -> BipartiteGraph:
    """Generate a graph with exactly these numbers of nodes and edges; the defaults are those of DBLP in June 2007.

    Authors have a `location`, papers a `venue` and a `year`, and both a `draw` from 0 to 99 for predicates of a chosen
    selectivity. None of them depends on the graph. At most 100 authors share a paper; an author writes at most 400,
    in small graphs fewer.
    """
    if not (0 < authors <= edges and 0 < papers <= edges and edges <= 20 * papers and edges <= 50 * authors):
        raise ParameterError(
            "'edges' must be at least as many as the nodes of a side, and at most 20 a paper, 50 an author."
        )
    random = generator(seed)
    sizes = _paper_sizes(random, papers, edges, min(_MOST_AUTHORS, authors))
    is_new = np.zeros(edges, np.bool_)
    is_new[0] = True
    is_new[1 + random.choice(edges - 1, authors - 1, replace=False)] = True
    ends = np.empty(edges, np.int32)
    latest, written = np.zeros(authors, np.int32), np.zeros(authors, np.int32)
    # A small graph with an author of hundreds of papers would have no safe groups of any size.
    most = min(_MOST_PAPERS, max(papers // 40, 4 * edges // authors))
    if not _write_papers(sizes, is_new, random.random((edges, 2)), ends, latest, written, most):
        raise ParameterError(
            "'edges' is too large for so few authors: some paper would need more authors than are left."
        )
    left, right = _random_entities(random, authors, papers)
    shuffled = random.permutation(authors).astype(np.int32), random.permutation(papers).astype(np.int32)
    paper_ends = np.repeat(np.arange(papers, dtype=np.int32), sizes)
    return BipartiteGraph(left, right, "author", "paper", shuffled[0][ends], shuffled[1][paper_ends])


def _paper_sizes(random: np.random.Generator, papers: int, edges: int, most: int) -> Ints:
    """Draw authors per paper: mostly one to four, now and then dozens, `edges` in all."""
    tail = np.minimum(random.pareto(2.6, papers) * 1.4, most - 1).astype(np.int64)
    sizes = np.minimum(1 + random.poisson(max(0.0, edges / papers - 1.55), papers) + tail, most)
    while (gap := edges - int(sizes.sum())) != 0:
        chosen = random.integers(0, papers, size=abs(gap))
        chosen = np.unique(chosen[(sizes[chosen] > 1) if gap < 0 else (sizes[chosen] < most)])
        sizes[chosen] += 1 if gap > 0 else -1
    return np.asarray(sizes, np.int64)


def _random_entities(random: np.random.Generator, authors: int, papers: int) -> tuple[pa.Table, pa.Table]:
    venues = np.minimum(random.zipf(1.5, papers), 300)
    left = {
        "author": np.arange(authors),
        "location": np.array(_REGIONS)[random.choice(len(_REGIONS), authors, p=_REGION_SHARES)],
        "draw": random.integers(0, 100, authors),
    }
    right = {
        "paper": np.arange(papers),
        "venue": np.char.add("venue ", venues.astype(str)),
        "year": 2007 - random.geometric(0.12, papers).clip(1, 40),
        "draw": random.integers(0, 100, papers),
    }
    return pa.table(left), pa.table(right)


@kernel
def _write_papers(
    sizes: Ints,
    is_new: Bools,
    draws: Floats,
    ends: NDArray[np.int32],
    latest: NDArray[np.int32],
    written: NDArray[np.int32],
    most: int,
) -> bool:
    """Fill in the authors paper by paper; False where there are too few authors to fill the papers."""
    known = start = early = 0
    for paper in range(len(sizes)):
        for slot in range(start, start + sizes[paper]):
            author = -1
            if is_new[slot] and early:
                early -= 1
            elif is_new[slot]:
                author = known
            if author == -1:
                author = _suggest(draws[slot], ends, start, slot, latest, known)
                author = _another(author, ends, start, slot, written, known, most)
            if author == -1:
                # All known authors are on this paper already: take the next new author early.
                early += 1
                author = known
            if author == len(written):
                return False
            known = max(known, author + 1)
            ends[slot] = author
            written[author] += 1
        for slot in range(start, start + sizes[paper]):
            latest[ends[slot]] = start
        start += sizes[paper]
    return known == len(written)


@kernel
def _suggest(
    draw: Floats, ends: NDArray[np.int32], start: int, slot: int, latest: NDArray[np.int32], known: int
) -> int:
    """Draw an author: of the first author's latest paper, in proportion to papers written, or a recent one."""
    if slot > start and start and draw[0] < 0.5:
        return int(ends[min(latest[ends[start]] + int(draw[1] * 8), start - 1)])
    if draw[0] < 0.6:
        return int(ends[int(draw[1] * slot)])
    return known - 1 - int(draw[1] * draw[1] * known)


@kernel
def _another(
    author: int, ends: NDArray[np.int32], start: int, slot: int, written: NDArray[np.int32], known: int, most: int
) -> int:
    """Step to the next author who is not on this paper yet and has not written too much; -1 if there is none."""
    for _ in range(known):
        is_free = written[author] < most
        for place in range(start, slot):
            is_free = is_free and ends[place] != author
        if is_free:
            return author
        author = (author + 1) % known
    return -1


def purchase_graph(
    households: int = 2_000, products: int = 3_000, rows: int = 20_000, *, busiest: float = 0.02, seed: int = 0
) -> BipartiteGraph:
    """Generate purchases with a price, a quantity and a day; some households buy a product several times.

    No product makes up more than the share `busiest` of the purchases; a larger one makes hubs.
    """
    random = generator(seed)
    spending = random.lognormal(0.0, 0.9, households)
    is_family = random.random(households) < 0.3
    popularity = 1.0 / np.arange(1, products + 1) ** 0.7
    is_for_children = random.random(products) < 0.2
    ends = random.choice(households, rows, p=spending / spending.sum())
    shares = []
    for wanted in (np.where(is_for_children, 0.4, 1.0), np.where(is_for_children, 3.0, 1.0)):
        weights = popularity * wanted / (popularity * wanted).sum()
        shares.append(np.minimum(weights, busiest) / np.minimum(weights, busiest).sum())
    choices = [random.choice(products, rows, p=share) for share in shares]
    others = np.where(is_family[ends], choices[1], choices[0])
    bought = np.bincount(ends, minlength=households) * random.lognormal(0, 0.5, households)
    segment = np.array(["small", "middle", "large"])[np.digitize(bought, [5, 15])]
    left = {"household": np.arange(households), "segment": segment, "family": is_family}
    sorts = np.where(is_for_children, "children", random.choice(["food", "home", "garden"], products))
    right = {"product": np.arange(products), "sort": sorts}
    price = (random.lognormal(1.5, 0.8, products)[others] * random.uniform(0.8, 1.0, rows)).round(2)
    edges = {
        "household": ends,
        "product": others,
        "price": price,
        "quantity": random.geometric(0.6, rows),
        "day": np.datetime64("2024-01-01") + random.integers(0, 365, rows),
    }
    return BipartiteGraph.read(pa.table(left), pa.table(right), pa.table(edges), values=["price", "quantity", "day"])
