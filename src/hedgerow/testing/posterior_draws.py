"""Every outcome of a method's random draws, with its exact probability.

A method takes all its randomness from a source of 64-bit keys. The source here hands out keys whose value is open until
somebody asks: which of m places a key picks, which of two keys is smaller, whether a key is below a number. Each such
question is a branch, and the tree of all answers is walked leaf by leaf. What a method does not ask is not enumerated.

Draws that decide nothing but the order of published rows and the numbers of groups ask `randomness.order_keys` for
their source and are made as usual: a view of a release (`posterior_worlds`) does not show either, and enumerating them
would cost n! leaves. The tests of `release` check by chi-square that these
shuffles are fair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import total_ordering
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.randomness import Keys

V = TypeVar("V")

_FULL = 2**64


class Uncountable(Exception):
    """A method uses a key in a way that cannot be enumerated, or has too many outcomes."""


def outcomes(run: Callable[[Keys], V], *, order: Keys, most: int) -> Iterator[tuple[V, Fraction]]:
    """Run with every outcome of the random draws; yields what each run returned and how likely it was.

    `order` draws the random draws that decide order alone. More than `most` outcomes raise Uncountable.
    """
    path: list[_Branch] = []
    for _ in range(most):
        draws = _Draws(path, order)
        try:
            found = run(draws)
        except (TypeError, AttributeError) as error:
            # A key that is asked for its bits, as by arithmetic on floats, has none yet.
            raise Uncountable("the random draws of this method cannot be enumerated") from error
        yield found, draws.probability
        while path and path[-1].is_last:
            path.pop()
        if not path:
            return
        path[-1] = path[-1].next
    raise Uncountable(f"the random draws of this method have more than {most:,} outcomes")


def sum_chances(chances: Iterable[tuple[V, Fraction]]) -> dict[V, Fraction]:
    """Add up the probabilities of equal outcomes."""
    sums: dict[V, Fraction] = {}
    for outcome, chance in chances:
        sums[outcome] = sums.get(outcome, Fraction(0)) + chance
    return sums


@dataclass(frozen=True)
class _Branch:
    """One question that was asked, its possible answers' probabilities, and the answer that is being tried."""

    shares: tuple[Fraction, ...]
    answer: int = 0

    @property
    def is_last(self) -> bool:
        return self.answer + 1 == len(self.shares)

    @property
    def next(self) -> _Branch:
        return _Branch(self.shares, self.answer + 1)


@dataclass
class _Draws:
    """A source of open keys that gives the answers of `path` and extends it by first answers."""

    path: list[_Branch]
    order: Keys
    asked: int = 0
    probability: Fraction = Fraction(1)

    def __call__(self, count: int, /) -> NDArray[Any]:
        ranking: list[_Key] = []
        keys = np.empty(count, dtype=object)
        for place in range(count):
            keys[place] = _Key(self, ranking)
        return keys

    def answer(self, shares: tuple[Fraction, ...]) -> int:
        if self.asked == len(self.path):
            self.path.append(_Branch(shares))
        branch = self.path[self.asked]
        self.asked += 1
        self.probability *= branch.shares[branch.answer]
        return branch.answer


@total_ordering
@dataclass(eq=False)
class _Key:
    """A uniform 64-bit number that is decided as far as it was asked about.

    A key answers one kind of question: a place among m, by a product's high bits or by a remainder; or its rank among
    the keys that were drawn with it. Mixing them would need the answers' joint distribution, which nobody asks for.
    """

    draws: _Draws
    ranking: list[_Key]
    answers: dict[int, int] = field(default_factory=dict)

    def place(self, places: int) -> int:
        if self in self.ranking or self.answers.keys() - {places}:
            raise Uncountable("a key was asked two different questions")
        if places not in self.answers:
            shares = (Fraction(1, places),) * places
            self.answers[places] = self.draws.answer(shares) if places > 1 else 0
        return self.answers[places]

    def __rshift__(self, bits: Any) -> _Product:
        return _Product(self, 1, 64 - int(bits))

    def __and__(self, mask: Any) -> _Low:
        return _Low()

    def __mul__(self, places: Any) -> _Product:
        return _Product(self, int(places), 64)

    def __mod__(self, places: Any) -> int:
        return self.place(int(places))

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, _Key):
            return self._rank() < other._rank()
        below = Fraction(int(other), _FULL)
        return self.draws.answer((below, 1 - below)) == 0 if 0 < below < 1 else below == 1

    def _rank(self) -> int:
        """Where the key stands among those of its draw that were compared so far; any place is equally likely."""
        if self.answers:
            raise Uncountable("a key was asked two different questions")
        if not any(key is self for key in self.ranking):
            places = len(self.ranking) + 1
            shares = (Fraction(1, places),) * places
            self.ranking.insert(self.draws.answer(shares) if places > 1 else 0, self)
        return next(place for place, key in enumerate(self.ranking) if key is self)


@dataclass(frozen=True)
class _Low:
    """The low bits of a key: they make a product exact, and do not change which place it picks."""

    def __mul__(self, places: Any) -> _Low:
        return self

    def __rshift__(self, bits: Any) -> _Low:
        return self


@dataclass(frozen=True)
class _Product:
    """The high `bits` bits of a key, times a number of places; shifted by as many bits it is the place."""

    key: _Key
    places: int
    bits: int

    def __mul__(self, places: Any) -> _Product:
        return _Product(self.key, self.places * int(places), self.bits)

    def __add__(self, low: Any) -> _Product:
        if not isinstance(low, _Low):
            return NotImplemented
        return self

    def __rshift__(self, bits: Any) -> int:
        if int(bits) != self.bits:
            raise Uncountable("a key was cut to some of its bits")
        return self.key.place(self.places)
