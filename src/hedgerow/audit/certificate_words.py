"""Words that every certificate has: what is never promised, and how to cite."""

from __future__ import annotations

from collections.abc import Mapping

from hedgerow.audit.certificate import BundleMark, Citation, Issuer, Published

__all__ = ["cited", "listed", "never_promised"]

_ALWAYS = {
    "Presence": "whether somebody is in the original data is not hidden.",
    "Composition": "what several releases about the same people tell together is not bounded.",
    "Correlation": "whoever knows how the hidden part depends on what is published guesses better than chance.",
}
_SAME = {"Composition": ("Composition", "Repetition"), "Presence": ("Presence", "Presence beyond chance")}
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
