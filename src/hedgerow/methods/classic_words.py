"""The promises of the classic criteria, each as a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hedgerow.release.forms import form_of

__all__ = ["promise_words"]

_DIVERSITY = {
    "frequency": "no value fills more than 1/{l} of a group",
    "distinct": "a group has at least {l} distinct values",
    "entropy": "a group's entropy is at least log {l}",
    "recursive": "the most frequent value of a group occurs less than {c} times as often as all values together from "
    "the {l}th most frequent on",
}
_OTHERS = {
    "t": "a group's distribution is within an earth mover's distance of {t} ({distance}) of the whole column's",
    "alpha": "no value fills more than {alpha} of a group",
    "delta": "every value is in every group, and the logarithm of its share over that in the whole column is below "
    "{delta} either way",
    "beta": "no value's share in a group exceeds that in the whole column by more than {beta} times{log}",
    "presence_low": "between {presence_low} and {presence_high} of a group are members",
}


def promise_words(letters: Mapping[str, int | str], columns: Iterable[str], form: str) -> str:
    """Say what each group satisfies."""
    alike = ", which their published quasi-identifiers do not tell apart" if form_of(form).has_boxes else ""
    rows = f"Each group has at least {letters['k']} rows{alike}."
    sentences = list(_on_values(letters))
    if not sentences:
        return rows
    names = ", ".join(f"'{name}'" for name in columns)
    return f"{rows} For {names}: {'; '.join(sentences)}."


def _on_values(letters: Mapping[str, int | str]) -> Iterator[str]:
    words = dict(letters) | {"log": ", nor by more than minus its logarithm" if letters.get("enhanced") else ""}
    if "l" in letters:
        yield _DIVERSITY[str(letters["diversity"])].format(**words)
    yield from (text.format(**words) for letter, text in _OTHERS.items() if letter in letters)
