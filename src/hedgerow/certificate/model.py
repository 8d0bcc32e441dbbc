"""A certificate as data: what was promised, what was verified from the bytes, what is not promised, what it costs.

There are two versions. The publishable one holds nothing that its reader could not derive from the published bytes:
every number in it is copied from the manifest or computed from the published tables, and what the issuer adds (a title,
a name, a date) is marked as such. Measurements against the original table are statements about true values; a rate
over few people can tell about each of them. They are internal, all of them, whatever they say.

Neither version holds a cell of a table, a group's number or a row: only names of columns, counts, shares and sentences.
The JSON is sealed like a manifest: an edit shows. It is no signature.

Fill a certificate, of a table and of a graph alike: from the manifest, from what was derived, and words for all.

The words are what is never promised, what no byte can show, and how to cite.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
import numpy as np

from hedgerow._version import __version__
from hedgerow.arrays import Ints
from hedgerow.errors import BundleError
from hedgerow.release.folder import FileEntry
from hedgerow.verify.made import TOGETHER
from hedgerow.verify.values import Guarantee

if TYPE_CHECKING:
    from hedgerow.verify.manifest import GraphManifest, Manifest

FORMAT = "hedgerow-certificate/1"


class Issuer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the issuer says, which no byte of the release can confirm."""

    title: str = ""
    publisher: str = ""
    issued: str = ""


class GroupSizes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many groups there are, and how many rows (or nodes) the smallest, the middle and the largest have."""

    of: str
    groups: int
    least: int
    median: int
    most: int


class PublishedFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was published and how: from the manifest, group sizes from the rows."""

    what: Literal["table", "graph"]
    done: str
    form: str
    method: str
    parameters: dict[str, int | str]
    counts: dict[str, int]
    sizes: tuple[GroupSizes, ...]
    columns: dict[str, tuple[str, ...]]
    missing: dict[str, str]
    reproducible_insecure: bool
    made_with: str


class Risk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often an adversary is right.

    `basis` says where the numbers come from: the published bytes, the promise, or guesses checked against the original.
    Where `exact` is false, `low` and `high` are a 95 % interval. `baseline` is guessing without the release, `worst`
    the chance for the person worst off, `promised` the most that the guarantee allows; None where there is none.
    """

    adversary: str
    column: str
    knows: str
    guesses: str
    basis: Literal["release", "promise", "original"]
    rate: float
    low: float
    high: float
    exact: bool
    baseline: float | None = None
    worst: float | None = None
    promised: float | None = None
    next_step: str = ""


class Width(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of question: how many were asked and answered, how many exactly, and half the width of the bounds.

    Widths are relative to the expected answer: 0.02 reads as plus or minus 2 %. They are the quartiles over the answers
    whose expectation is not zero; None where there is none.
    """

    question: str
    selectivity: float
    asked: int
    answered: int
    exact: int
    lower_quartile: float | None
    median: float | None
    upper_quartile: float | None


class Answers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an answer costs, over random questions that anyone can draw again."""

    note: str
    widths: tuple[Width, ...] = ()


class BundleMark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ties a certificate to a bundle. `manifest_sha256` is that of the file, `checksum` the one inside it."""

    format: str
    manifest_sha256: str
    checksum: str
    files: dict[str, FileEntry]


class Citation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to cite the release: a line, and an entry for BibTeX."""

    text: str
    bibtex: str


class TrueAnswers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The random questions once more, with the truth beside them.

    `inside` of `checked` true answers lie within their bounds. `error` is the median distance of expected answers from
    the truth, relative to it; `near` the share of answers, exact ones aside, with the truth within two deviations.
    """

    question: str
    selectivity: float
    checked: int
    inside: int
    error: float | None
    near: float | None = None


class Earlier(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another release in the owner's ledger that holds some of the same rows: together they may tell more."""

    id: str
    date: str
    method: str
    rows: int


class Measure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Risk or loss by one of the field's names, in the release and, in the internal version, in the original table.

    `unit` says how to write it: a share from 0 to 1, or a number.
    """

    name: str
    after: float
    before: float | None = None
    unit: Literal["share", "number"] = "share"


class Internal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must not be published: it was learnt from the original table, or from the owner's ledger if it was given."""

    suppressed: dict[str, int]
    left_out: tuple[str, ...] = ()
    risks: tuple[Risk, ...] = ()
    skipped: dict[str, str] = {}
    answers: tuple[TrueAnswers, ...] = ()
    measures: tuple[Measure, ...] = ()
    ledger: tuple[Earlier, ...] | None = None
    note: str = ""


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page about one bundle. `checksum` covers the rest; `internal` is None in the publishable version.

    `checks` were derived from the bytes; `unseen` is what no byte can show, so that it rests on the issuer's word.
    `promises_privacy` is false for methods that change values without a definition of privacy.
    """

    format: str = FORMAT
    version: Literal["publishable", "internal"]
    hedgerow: str = __version__
    issuer: Issuer
    promise: Guarantee
    promises_privacy: bool
    not_promised: tuple[str, ...]
    checks: tuple[str, ...]
    unseen: tuple[str, ...]
    published: PublishedFacts
    risks: tuple[Risk, ...]
    answers: Answers
    bundle: BundleMark
    citation: Citation
    measures: tuple[Measure, ...] = ()
    internal: Internal | None = None
    checksum: str = ""


def encode(certificate: Certificate) -> bytes:
    """Turn a certificate into JSON with its checksum."""
    return seal(certificate)


def decode(text: bytes) -> Certificate:
    """Read a certificate; raise BundleError for anything but a whole, unedited one of this format."""
    return unseal(text, Certificate, FORMAT, name="certificate")


def round_share(number: float | None) -> float | None:
    """Keep six significant digits: more would differ from machine to machine."""
    return None if number is None else float(f"{number:.6g}")


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
    """Complete what a guarantee says with presence, composition and correlation where it is silent about them."""
    heads = {sentence.partition(":")[0] for sentence in said}
    silent = [name for name in _ALWAYS if not heads & set(_SAME.get(name, (name,)))]
    if "presence_low" in parameters:  # δ-presence: the one criterion that does promise something about it
        silent = [name for name in silent if name != "Presence"]
    return (*said, *(f"{name}: {_ALWAYS[name]}" for name in silent))


def promises_privacy(criterion: str) -> bool:
    """Tell whether a definition of privacy comes with a criterion: some methods change values and promise none."""
    return criterion not in _NO_PRIVACY


def unverifiable(what: str, of_form: str | None, criterion: str) -> tuple[str, ...]:
    """Say what has to be believed, of the form `of_form`: no check of published bytes can show it."""
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
class Derived:
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


def fill(issuer: Issuer, text: bytes, manifest: Manifest | GraphManifest, derived: Derived) -> Certificate:
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


Sealed = TypeVar("Sealed", bound=msgspec.Struct)


def seal(manifest: msgspec.Struct) -> bytes:
    """Turn a manifest with the fields `format` and `checksum` into JSON with its checksum."""
    sealed = msgspec.structs.replace(manifest, checksum=_checksum(manifest))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=2) + b"\n"


def unseal(text: bytes, kind: type[Sealed], format: str, *, name: str = "manifest") -> Sealed:
    """Read a manifest, or what `name` says; raise BundleError for anything but a whole, unedited one of this format."""
    ask = f"ask for {'the bundle' if name == 'manifest' else 'it'} again"
    try:
        manifest = msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"{name}.json is not a hedgerow {name} ({_kind_of(error)}); {ask}.") from None
    fields: Any = manifest
    if fields.format != format:
        raise BundleError(f"{name}.json has a format that this version does not read; it reads {format!r}.")
    if fields.checksum != _checksum(manifest):
        raise BundleError(f"{name}.json was edited or damaged: its checksum does not fit; {ask}.")
    return manifest


def _checksum(manifest: msgspec.Struct) -> str:
    bare = msgspec.structs.replace(manifest, checksum="")
    return hashlib.sha256(msgspec.json.encode(bare)).hexdigest()


def _kind_of(error: Exception) -> str:
    return "a field is missing or wrong" if isinstance(error, msgspec.ValidationError) else "not valid JSON"
