"""Words that every certificate has: what is never promised, what no byte can show, and how to cite."""

from __future__ import annotations

from collections.abc import Mapping

from hedgerow.certificate.model import BundleMark, Citation, Issuer, Published

__all__ = ["cited", "listed", "never_promised", "promises_privacy", "unseen"]

_ALWAYS = {
    "Presence": "whether somebody is in the original data is not hidden.",
    "Composition": "what several releases about the same people tell together is not bounded.",
    "Correlation": "whoever knows how the hidden part depends on what is published guesses better than chance.",
}
_SAME = {"Composition": ("Composition", "Repetition"), "Presence": ("Presence", "Presence beyond chance")}
_SHUFFLED = "that values were shuffled fairly, group numbers and the order of rows included"
_FORMS = {
    "permuted": _SHUFFLED,
    "separated": _SHUFFLED,
    "scattered": _SHUFFLED,
    "padded": f"{_SHUFFLED}, and how many of the values are counterfeit",
    "disguised": f"{_SHUFFLED}, and that every true value lies in its subdomain",
    "generalized": f"{_SHUFFLED}, and that every true value lies in its interval or set",
    "grouped graph": "that entities were assigned to nodes at random, and that the links are the true ones",
}
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
_COUNTS = "how many rows came in and were held back; the bytes show only that the sum is right"
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


def unseen(form: str, criterion: str) -> tuple[str, ...]:
    """Say what has to be believed: no check of published bytes can show it."""
    found = (_CRITERIA.get(criterion), _FORMS.get(form), _COUNTS if form != "grouped graph" else None)
    return tuple(words for words in found if words is not None)


def listed(parameters: Mapping[str, int | str]) -> str:
    """Write parameters on one line."""
    return ", ".join(f"{name} = {value}" for name, value in parameters.items() if value != "")


def cited(issuer: Issuer, published: Published, promised: Mapping[str, int | str], mark: BundleMark) -> Citation:
    """Write a line and a BibTeX entry that name the release, the promise, and the hash that identifies the bytes."""
    title = issuer.title or f"Protected {published.what} of {_extent(published)}"
    how = f"{published.method} ({listed(promised)})"
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


def _extent(published: Published) -> str:
    name, noun = ("published", "rows") if published.what == "table" else ("edges", "links")
    return f"{published.counts[name]:,} {noun}"


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character if character.isprintable() else " ") for character in text)
