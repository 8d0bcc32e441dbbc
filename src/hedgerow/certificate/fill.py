"""Fill in a certificate of a table or of a graph: from the manifest, from derived facts, and with fixed texts.

The texts say what is never promised, what published bytes cannot show, and how to cite.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.certificate.model import (
    Answers,
    BundleMark,
    Certificate,
    Citation,
    GroupSizes,
    Internal,
    Issuer,
    Measure,
    PublishedFacts,
    Risk,
)
from hedgerow.verify.made import TOGETHER

if TYPE_CHECKING:
    from hedgerow.verify.manifest import GraphManifest, Manifest

Progress = Callable[[str, float], None]

_ALWAYS = {
    "Presence": "whether somebody is in the original data is not hidden.",
    "Composition": "what several releases about the same people tell together is not bounded.",
    "Correlation": "whoever knows how the hidden part depends on what is published guesses better than chance.",
}
_SAME = {"Composition": ("Composition", "Repetition"), "Presence": ("Presence", "Presence beyond chance")}
_CRITERIA = {
    "retention": "how many values were kept, and the probabilities that follow from the true values",
    "noise": "how much noise was added",
    "rank-swap": "which values changed places, and how far",
    "microaggregation": "that the means are those of the true rows",
    "properties": "that numbers were drawn at random, and the rates that the adversary's description states",
    "robust": "the odds that the adversary is assumed to know; the owner checked the promise under them",
    "m_invariance": "that people had the same values in earlier releases of the series",
    "personal": "which part of the domain each person named; the owner checked that it covers their group's",
}
_NO_PRIVACY = frozenset({"noise", "rank-swap", "properties"})
_COUNTS = "how many rows came in and were suppressed; the bytes show only that the sum is right"
_CLUSTERS = "how many rows of one household or person share a group; their numbers are not published"
_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def never_promised(said: tuple[str, ...], parameters: Mapping[str, int | str]) -> tuple[str, ...]:
    """Complete what a guarantee says with presence, composition and correlation where it does not mention them."""
    heads = {sentence.partition(":")[0] for sentence in said}
    silent = [name for name in _ALWAYS if not heads & set(_SAME.get(name, (name,)))]
    if "presence_low" in parameters:  # δ-presence: the one criterion that does promise something about it
        silent = [name for name in silent if name != "Presence"]
    return (*said, *(f"{name}: {_ALWAYS[name]}" for name in silent))


def promises_privacy(criterion: str) -> bool:
    """Return whether a criterion is a definition of privacy: some methods change values and promise none."""
    return criterion not in _NO_PRIVACY


def unverifiable(what: str, of_form: str | None, criterion: str) -> tuple[str, ...]:
    """Say what has to be trusted because no check of published bytes can show it; `of_form` is what the form adds."""
    found = (_CRITERIA.get(criterion), of_form, _COUNTS if what == "table" else None)
    return tuple(words for words in found if words is not None)


def _unseen_clusters(manifest: Manifest | GraphManifest) -> tuple[str, ...]:
    return (_CLUSTERS,) if TOGETHER in manifest.parameters else ()


def list_parameters(parameters: Mapping[str, int | str]) -> str:
    """Write parameters on one line."""
    return ", ".join(f"{name} = {value}" for name, value in parameters.items() if value != "")


def cite(issuer: Issuer, published: PublishedFacts, promised: Mapping[str, int | str], mark: BundleMark) -> Citation:
    """Write a line and a BibTeX entry that name the release, the promise, and the hash that identifies the bytes."""
    title = issuer.title or f"Protected {published.what} of {_extent(published)}"
    how = f"{published.method} ({list_parameters(promised)})"
    seal = f"SHA-256 of manifest.json: {mark.manifest_sha256}"
    by = f"{issuer.publisher}. " if issuer.publisher else ""
    text = f"{by}{title}. Published under {how} with hedgerow {published.made_with}; certified {issuer.issued}. {seal}."
    fields = {
        "title": title,
        "author": issuer.publisher,
        "year": issuer.issued[:4],
        "note": f"Published under {how} with hedgerow {published.made_with}; certified {issuer.issued}; {seal}",
    }
    lines = [f"  {name} = {{{{{_tex(value)}}}}}," for name, value in fields.items() if value]
    bibtex = "\n".join((f"@misc{{hedgerow-{mark.manifest_sha256[:12]},", *lines, "}"))
    return Citation(text=text, bibtex=bibtex)


def _extent(published: PublishedFacts) -> str:
    name, noun = ("published", "rows") if published.what == "table" else ("edges", "links")
    return f"{published.counts[name]:,} {noun}"


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character if character.isprintable() else " ") for character in text)


@dataclass(frozen=True)
class DerivedFacts:
    """What is derived from a verified bundle in one way for tables and in another for graphs."""

    what: Literal["table", "graph"]
    done: str
    counts: dict[str, int]
    sizes: tuple[GroupSizes, ...]
    columns: dict[str, tuple[str, ...]]
    checks: tuple[str, ...]
    risks: tuple[Risk, ...]
    answers: Answers
    internal: Internal | None
    missing: dict[str, str]
    unverifiable: str | None
    measures: tuple[Measure, ...] = ()


def fill(issuer: Issuer, text: bytes, manifest: Manifest | GraphManifest, derived: DerivedFacts) -> Certificate:
    """Fill a certificate: of the manifest's bytes `text`, of what it says, and of what was derived."""
    promise = manifest.guarantee
    mark = BundleMark(
        format=manifest.format,
        manifest_sha256=hashlib.sha256(text).hexdigest(),
        checksum=manifest.checksum,
        files=dict(manifest.files),
    )
    published = PublishedFacts(
        what=derived.what,
        done=derived.done,
        form=manifest.form,
        method=manifest.method,
        parameters=dict(manifest.parameters),
        counts=derived.counts,
        sizes=derived.sizes,
        columns=derived.columns,
        missing=derived.missing,
        reproducible_insecure=manifest.reproducible_insecure,
        made_with=manifest.hedgerow,
    )
    return Certificate(
        version="publishable" if derived.internal is None else "internal",
        issuer=issuer,
        promise=promise,
        promises_privacy=promises_privacy(promise.criterion),
        not_promised=never_promised(promise.not_promised, promise.parameters),
        checks=derived.checks,
        unseen=unverifiable(derived.what, derived.unverifiable, promise.criterion) + _unseen_clusters(manifest),
        published=published,
        risks=derived.risks,
        answers=derived.answers,
        bundle=mark,
        citation=cite(issuer, published, promise.parameters, mark),
        measures=derived.measures,
        internal=derived.internal,
    )


def group_sizes(of: str, sizes: Ints) -> GroupSizes:
    """Sum up how large groups are."""
    return GroupSizes(
        of=of, groups=len(sizes), least=int(sizes.min()), median=int(np.median(sizes)), most=int(sizes.max())
    )
