"""A certificate as data: what was promised, what was verified from the bytes, what is not promised, what it costs.

There are two versions. The publishable one holds nothing that its reader could not derive from the published bytes:
every number in it is copied from the manifest or computed from the published tables, and what the issuer adds (a title,
a name, a date) is marked as such. Measurements against the original table are statements about true values; a rate
over few people can reveal something about each of them. So all of them are internal.

Neither version holds a cell of a table, a group's number or a row: only names of columns, counts, shares and sentences.
The JSON has a checksum like a manifest, so that edits are detected. It is not a signature.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

import msgspec

from hedgerow._version import __version__
from hedgerow.errors import BundleError
from hedgerow.verify.values import FileEntry, Guarantee

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
    the probability for the person worst off, `promised` the most that the guarantee allows; None where there is none.
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


class EarlierRelease(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another release in the owner's ledger that holds some of the same rows: together they may reveal more."""

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
    ledger: tuple[EarlierRelease, ...] | None = None
    note: str = ""


class Certificate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page about one bundle. `checksum` covers the rest; `internal` is None in the publishable version.

    `checks` were derived from the bytes; `unseen` is what the bytes cannot show, which rests on the issuer's word.
    `promises_privacy` is false for methods that change values without a definition of privacy.
    """

    format: str = FORMAT
    version: Literal["publishable", "internal"]
    hedgerow: Annotated[str, msgspec.Meta(pattern=r"\A[0-9A-Za-z.+-]{1,40}\Z")] = __version__
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

    @property
    def is_labelled(self) -> bool:
        """Whether the version says rightly if there is an internal part, which nobody compares in a publishable one."""
        return (self.version == "internal") == (self.internal is not None)


def encode(certificate: Certificate) -> bytes:
    """Turn a certificate into JSON with its checksum."""
    sealed = msgspec.structs.replace(certificate, checksum=_checksum(certificate))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=2) + b"\n"


def decode(text: bytes, *, name: str = "certificate.json") -> Certificate:
    """Read a certificate; raise BundleError for anything but a whole, unedited one of this format."""
    try:
        certificate = msgspec.json.decode(text, type=Certificate)
        json.loads(text, object_pairs_hook=_once)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        kind = "a field is missing or wrong" if isinstance(error, msgspec.ValidationError) else "not valid JSON"
        raise BundleError(f"'{name}' is not a hedgerow certificate ({kind}); ask for it again.") from None
    if certificate.format != FORMAT:
        raise BundleError(f"'{name}' has a format that this version does not read; it reads {FORMAT!r}.")
    if certificate.checksum != _checksum(certificate):
        raise BundleError(f"'{name}' was edited or damaged: its checksum does not fit; ask for it again.")
    if not certificate.is_labelled:
        raise BundleError(
            f"'{name}' has an internal part where it says to be publishable, or none where it says internal."
        )
    return certificate


def _once(fields: list[tuple[str, object]]) -> None:
    """Readers do not agree which of two fields of one name counts; the checksum is that of the last."""
    if len(dict(fields)) < len(fields):
        raise ValueError("a field comes twice")


def _checksum(certificate: Certificate) -> str:
    bare = msgspec.structs.replace(certificate, checksum="")
    return hashlib.sha256(msgspec.json.encode(bare)).hexdigest()


def round_share(number: float | None) -> float | None:
    """Keep six significant digits: more would differ from machine to machine."""
    return None if number is None else float(f"{number:.6g}")
