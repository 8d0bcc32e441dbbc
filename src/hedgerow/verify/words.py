"""What a release promises, against whom, and what it does not promise: words that follow from its parameters.

Methods print these, `verify` prints them again and compares: nobody reads a promise that a stranger wrote. One function
a criterion; it sees the release without its words, and what it says must follow from what it sees.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from hedgerow.errors import BrokenPromise, printable
from hedgerow.verify.made import TOGETHER
from hedgerow.verify.minimality import MEASURED, minimality
from hedgerow.verify.page import page
from hedgerow.verify.structure import layout_of
from hedgerow.verify.values import NOT_PROMISED, Guarantee, PublishedRelease

__all__ = [
    "BLIND",
    "LOOKING",
    "PRESENCE_APART",
    "Words",
    "check_pages",
    "check_words",
    "page_fault",
    "page_words",
    "word",
]

BLIND = (
    "Knows everybody's quasi-identifiers, that they are in the table, and this algorithm; knows nobody's sensitive "
    "value and no relation between sensitive values and quasi-identifiers."
)
LOOKING = (
    "Knows everybody's quasi-identifiers and that they are in the table; knows nobody's sensitive value and no "
    "relation between sensitive values and quasi-identifiers, and is assumed not to reason about why the algorithm "
    "chose these groups, which followed quasi-identifiers and tested sensitive values."
)
PRESENCE_APART = (
    "Presence beyond chance: a combination of quasi-identifiers may exist in a group if each of its values does; how "
    "likely that is follows from their counts."
)
_APART = (
    " No group holds two rows of one household or person, as far as the owner's numbers of them tell; these are not "
    "published."
)
_CLUSTERS = (
    "Clusters: up to {together} rows of one household or person share a group, so that fewer people than rows stand "
    "behind it; what is promised of rows is not promised of them."
)
_SHUFFLED = " Which row of a group has which of its values was decided by a fair shuffle."
_ESTIMATES = "Bounds: no bound comes with an answer over this release; estimates only."
_COMPOSITION = NOT_PROMISED[1]
_EXACT = (
    "Spelling: texts of {names} are published as they came in, so that values which differ in spaces, case or Unicode "
    "form alone, and which people read as one, count as different."
)

Words = tuple[str, str, tuple[str, ...]]
"""Promise, adversary, and what is not promised."""


def word(release: PublishedRelease) -> Guarantee:
    """The guarantee of a release with the words that follow from everything else."""
    promise, adversary, missing = _CRITERIA[release.guarantee.criterion](release)
    together = release.made.parameters.get(TOGETHER)
    if together == 1:
        promise += _APART
    elif together is not None:
        missing = (*missing, _CLUSTERS.format(together=together))
    if exact := [name for name in release.columns.sensitive if release.made.texts.get(name) == "exact"]:
        missing = (*missing, _EXACT.format(names=_quote(exact)))
    return replace(release.guarantee, promise=promise, adversary=adversary, not_promised=missing)


_FORMER = {
    "does not work back from the choice of the groups": "is assumed not to reason about why the algorithm chose these "
    "groups",
    "does not work back from how many values were generalized to which node": "is assumed not to reason about why the "
    "algorithm generalized so many values to each node",
    "odds of a protected value against all others": "probability of a protected value",
    "odds of all values": "probabilities of all values",
    "Sets together: odds of several sets of quasi-identifiers, put together, may say more than any": "Sets together: "
    "probabilities for several sets of quasi-identifiers, put together, may say more than those of any",
    "how often each value occurs; knows": "how often each value occurs, and looks at one published value, not at those "
    "of others; knows",
    "partition='one' was found to tell nothing beyond what is promised.": MEASURED["personal"].instead,
    "A hierarchy of one level with equal shares tells nothing beyond the target.": MEASURED["target"].instead,
}
"""What releases said before, and the same as it is said now: an older release keeps its promise and its words."""


def _said_now(text: str) -> str:
    for former, present in _FORMER.items():
        text = text.replace(former, present)
    return text


def _promised_now(said: Guarantee) -> str:
    """A former promise divided by r twice where r is a fraction: 1/3/2 for 2/3."""
    if said.criterion != "robust":
        return said.promise
    r = Fraction(said.parameters["r"])
    return said.promise.replace(f"row has it to at most 1/{r}.", f"row has it to at most {1 / r}.")


def check_words(release: PublishedRelease) -> str:
    """Raise BrokenPromise unless the words of a release are those that follow from its parameters."""
    said = release.guarantee
    missing = tuple(map(_said_now, said.not_promised))
    now = replace(said, promise=_promised_now(said), adversary=_said_now(said.adversary), not_promised=missing)
    wanted = word(release)
    missing = tuple(map(_said_now, wanted.not_promised))  # a column may be called what was said before
    if replace(wanted, adversary=_said_now(wanted.adversary), not_promised=missing) != now:
        raise BrokenPromise("The words of the guarantee are not those that follow from its parameters.")
    return "the guarantee says in words what its parameters say, and nothing else"


_PAGE = """\
**What is promised.** {promise}

**Against whom.** {adversary}

**What is not promised.**
{not_promised}

## """


def page_words(guarantee: Guarantee) -> str:
    """The part of a bundle's README.md that says what is promised, up to the next heading."""
    missing = "\n".join(f"- {_plain(sentence)}" for sentence in guarantee.not_promised)
    return _PAGE.format(promise=_plain(guarantee.promise), adversary=_plain(guarantee.adversary), not_promised=missing)


_LIVE = re.compile(r"<[!?/a-zA-Z]|!\[|\]\s*[(\[:]")
"""What begins a comment, an element, a picture or a link in Markdown."""
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Signs that steer a terminal, end a line, or turn the direction of what follows."""
_BLOCK = re.compile(r"\n(?![\w(])")
"""A line that may be more than the next line of a paragraph: empty, a fence, a table."""
_BOLD = re.compile(r"\*\*|__")
_BEGINNING = "**What is promised.**"


def _plain(sentence: str) -> str:
    """A sentence as a line of Markdown in which names are text; nearly always as it is."""
    if _BEGINNING not in sentence and not any(sign.search(sentence) for sign in (_LIVE, _STEERS, _BLOCK)):
        return sentence
    return re.sub(r"[!\[\]()<>`*_|\\]", r"\\\g<0>", printable(sentence))


_OPENING = re.compile(r"# A protected (table|graph)\n\n\*\*What was done\.\*\*( [^\n]+(\n[^\n]+)*)\n\n")
_FENCE, _FENCE_END = re.compile(r"```\w+"), re.compile(r" {0,3}```+[ \t]*")
_CODE = re.compile(r"\\.|(?<!`)`[^`\n]+`(?!`)")
_OPEN = re.compile(r"`|~~~")
"""What is left where code goes on to the next line, stands between other signs, or begins a block of another kind."""


def page_fault(text: str, guarantee: Guarantee) -> str:
    """What is wrong with README.md: it begins with what was done, then what is promised, once and for all to see.

    What stands before the promise could present it as an example or hide it, so that there is one paragraph, of text
    and names between backticks alone. Nowhere is there what a reader's program would fetch, run, or lay over the page.
    """
    words = page_words(guarantee)
    before, *rest = text.split(words)
    after = _CODE.sub("x", _without_fences(rest[0])) if len(rest) == 1 else _BEGINNING
    if _BEGINNING in _CODE.sub("x", before) + after:  # a column may be called so
        return "README.md does not promise what the manifest does, and nothing else."
    opening = _OPENING.fullmatch(before)
    if opening is None or any(sign.search(_CODE.sub("x", opening[2])) for sign in (_BLOCK, _BOLD)):
        return "README.md does not begin with a paragraph that says what was done, and then what is promised."
    shown = (_CODE.sub("x", opening[2]), after)
    if _STEERS.search(text) or any(sign.search(part) for part in shown for sign in (_LIVE, _OPEN)):
        return (
            "README.md has HTML, pictures, links, code that does not end on its line, or signs that steer a terminal, "
            "which could hide the promise."
        )
    return ""


def _without_fences(text: str) -> str:
    """A text without its blocks of code; one that does not end goes on to the end, as readers of Markdown have it."""
    found, is_inside = [], False
    for line in text.split("\n"):
        ends = bool((_FENCE_END if is_inside else _FENCE).fullmatch(line))
        if not is_inside and not ends:
            found.append(line)
        is_inside ^= ends
    return "\n".join(found)


def check_pages(pages: Mapping[str, str], guarantee: Guarantee) -> None:
    """Raise BrokenPromise unless README.md promises what the manifest does, once, and index.html says the same."""
    text = pages.get("README.md", "")
    if pages and (fault := page_fault(text, guarantee)):
        raise BrokenPromise(fault)
    if "index.html" in pages and pages["index.html"] != page(text):
        raise BrokenPromise("index.html is not README.md as a page for a browser.")


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _parameter_text(release: PublishedRelease, name: str) -> str:
    return str(release.made.parameters.get(name, ""))


def _missing(release: PublishedRelease, looking: str | None) -> tuple[str, ...]:
    """What no release of this form promises; `looking` names a grouping that tested sensitive values."""
    presence = PRESENCE_APART if layout_of(release).has_scattered_rows else NOT_PROMISED[0]
    sentences = (presence, *NOT_PROMISED[1:])
    return sentences if looking is None else (*sentences, minimality(looking))


def _unchanged_words(names: Iterable[str], why: str) -> tuple[str, ...]:
    """Say which columns came out as they were, if any did."""
    listed = _quote(names)
    return (f"Unchanged columns: every published value of {listed} is the true one; {why}.",) if listed else ()


def _listed_columns(release: PublishedRelease, name: str) -> list[str]:
    """A parameter that lists columns."""
    return [str(column) for column in json.loads(str(release.guarantee.parameters.get(name, "[]")))]


def _frequency(release: PublishedRelease) -> Words:
    grouping = _parameter_text(release, "grouping")
    promise = (
        f"In each group of published rows no value of {_quote(release.guarantee.columns)} fills more than "
        f"1/{release.guarantee.parameters['l']} of the rows.{_SHUFFLED}"
    )
    if grouping == "blind":
        return promise, BLIND, _missing(release, None)
    return promise, LOOKING, _missing(release, "ncp" if grouping == "ncp" else "near")


_HOMOGENEITY = (
    "Sensitive values: all rows of a group may have the same one, and then everybody in the group is known to have it."
)
_CHOICE = (
    "Choice of k: k has to be chosen without looking at the sensitive values; whoever tries several until one is "
    "published tells something by the one that was."
)
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


def _groupwise(release: PublishedRelease) -> Words:
    parameters = release.guarantee.parameters
    alike = ", which their published quasi-identifiers do not tell apart" if layout_of(release).has_boxes else ""
    promise = f"Each group has at least {parameters['k']} rows{alike}."
    sentences = list(_on_values(parameters))
    if sentences:
        promise += f" For {_quote(release.guarantee.columns)}: {'; '.join(sentences)}."
    search = "full-domain" if release.made.method == "FullDomain" else "mondrian"
    looks = bool(sentences) and _parameter_text(release, "blind") != "1"
    missing = _missing(release, search if looks else None)
    more = () if looks else (_CHOICE,) if sentences else (_HOMOGENEITY,)
    return promise, LOOKING if looks else BLIND, (*missing, *more)


def _on_values(parameters: Mapping[str, int | str]) -> Iterator[str]:
    words = dict(parameters) | {"log": ", nor by more than minus its logarithm" if parameters.get("enhanced") else ""}
    if "l" in parameters:
        yield _DIVERSITY[str(parameters["diversity"])].format(**words)
    yield from (text.format(**words) for letter, text in _OTHERS.items() if letter in parameters)


_UNEVEN = (
    "Frequency: the criterion bounds how many values a group has and how far they spread, not how often each occurs; "
    "the most frequent value of a group can be likely. 'l' bounds that."
)


def _ke(release: PublishedRelease) -> Words:
    k, e = (release.guarantee.parameters[name] for name in "ke")
    most = release.guarantee.parameters.get("l")
    cap = "" if most is None else f"; no value fills more than 1/{most} of a group"
    promise = (
        f"In each group of published rows the column {_quote(release.guarantee.columns)} has at least {k} distinct "
        f"values, and they span a range of at least {e}{cap}.{_SHUFFLED}"
    )
    looking = "ke-quasi" if _parameter_text(release, "refine") == "quasi" else None
    return promise, BLIND if looking is None else LOOKING, (*(() if most else (_UNEVEN,)), *_missing(release, looking))


_SERIES = (
    "Composition beyond the series: another release of the same rows, made without the owner's ledger, can narrow down "
    "what this one hides."
)
_UPDATES = (
    "Changes: a sensitive value that changes from one release to the next is protected in each, its change is not."
)
_GAPS = (
    "Minimality: newcomers filled the gaps that people left wherever they could, and near people were put together; "
    "whoever knows the algorithm can learn from where counterfeits were needed, in small tables up to certainty."
)


def _m_invariance(release: PublishedRelease) -> Words:
    m, fakes = (int(release.guarantee.parameters[name]) for name in ("m", "counterfeits"))
    promise = (
        f"Each group publishes at least {m} different values of {_quote(release.guarantee.columns)}, each once, "
        f"{fakes:,} of all {release.rows.published + fakes:,} values counterfeit. Whoever is in several releases of "
        "this series is in a group with exactly the same values in each, so that putting them together gives nobody's "
        f"value a probability above 1/{m}."
    )
    looks = _parameter_text(release, "grouping") != "blind"
    missing = (NOT_PROMISED[0], _SERIES, NOT_PROMISED[2], _UPDATES, *((_GAPS,) if looks else ()))
    return promise, (LOOKING if looks else BLIND) + " Has all releases of the series.", missing


def _microaggregation(release: PublishedRelease) -> Words:
    k, names = int(release.guarantee.parameters["k"]), release.guarantee.columns
    rest = [name for name in release.columns.quasi if name not in names]
    others = f", and in particular not {_quote(rest)}" if rest else ""
    nodes = _listed_columns(release, "nodes")
    means = [name for name in names if name not in nodes]
    held = [f"{_quote(means)} {_hold(means)} the means"] * bool(means)
    held += [f"{_quote(nodes)} {_hold(nodes)} the lowest common nodes in a hierarchy"] * bool(nodes)
    what = " or ".join(["means"] * bool(means) + ["nodes"] * bool(nodes))
    promise = (
        f"{' and '.join(held)} of groups of near rows, and every combination of them is shared by at least "
        f"{k} of the published rows."
    )
    adversary = (
        f"Knows nothing about a person but the columns that hold {what}{others}; of these nobody can tell a person's "
        f"row from {k - 1} others."
    )
    plain = _quote(name for name in release.columns.sensitive if name not in names)
    beside = f"Sensitive columns: every published value of {plain} is the true one, beside the {what} of its group."
    missing = (
        *((beside,) if plain else ()),
        *_unchanged_words(_listed_columns(release, "unchanged"), "it is the same in all rows of each group"),
        _ESTIMATES,
        "Sensitive values: the rows of a group may all have the same one, and a mean of near values tells roughly "
        "each.",
        "Other quasi-identifiers: columns that were not replaced are as they were.",
        _COMPOSITION,
    )
    return promise, adversary, missing


def _hold(names: Iterable[str]) -> str:
    return "holds" if len(list(names)) == 1 else "hold"


def _noise(release: PublishedRelease) -> Words:
    scale, kind = (release.guarantee.parameters[name] for name in ("scale", "kind"))
    promise = (
        f"Random numbers ({kind}) were added to {_quote(release.guarantee.columns)}, whose standard deviation is "
        f"{scale} times that of the column. The numbers published are not the true ones; no definition of privacy "
        "comes with it."
    )
    adversary = (
        "Nobody is held off for sure: every published number tells roughly where the true one lies, and rare numbers "
        "stay rare."
    )
    missing = (
        *_unchanged_words(
            _listed_columns(release, "unchanged"), "it is one and the same in all rows, so the noise has no width"
        ),
        *_unchanged_words(
            _listed_columns(release, "rounded away"),
            "the noise is so narrow that rounding takes it back in nearly every row",
        ),
        _ESTIMATES,
        "Privacy in a defined sense: outliers stay outliers, and a large part of the noise can be filtered out where "
        "columns depend on each other.",
        "Repetition: the mean over several releases of the same rows comes ever closer to the true numbers.",
    )
    return promise, adversary, missing


def _rank_swap(release: PublishedRelease) -> Words:
    names, parameters = release.guarantee.columns, release.guarantee.parameters
    windows = " and ".join(f"{int(parameters[_window(name)]):,}" for name in names)
    promise = (
        f"The values of {_quote(names)} changed places in pairs whose ranks lie at most {windows} apart. Every true "
        "value is published once, in another row or its own. No definition of privacy comes with it."
    )
    adversary = (
        "Nobody is held off for sure: a published value tells within which ranks the true one lies, and where values "
        "are equal or near, that is the true value."
    )
    missing = (
        *_unchanged_words(
            _listed_columns(release, "unchanged"), "it is one and the same in all rows, so a swap changes nothing"
        ),
        _ESTIMATES,
        "Privacy in a defined sense: ranks at most so far apart may all have nearly the same value.",
        "Repetition: several releases of the same rows narrow down the true ranks.",
    )
    return promise, adversary, missing


def _window(name: str) -> str:
    return f"window of '{name}'"


def _retention(release: PublishedRelease) -> Words:
    parameters, columns = release.guarantee.parameters, release.guarantee.columns
    p, values = Fraction(parameters["p"]), release.tables["domain"].num_rows
    promise = (
        f"Each value of {_quote(columns)} was published as it is with probability p = {float(p):.6g}, and otherwise "
        f"replaced by one drawn uniformly from the {values:,} values of the table `domain`."
    )
    if "m" in parameters:
        away = "times its size away" if parameters.get("relative") else "away"
        promise += (
            f" Whoever sees a published value believes with a probability of at most 1/{parameters['m']} that the true "
            f"one lies in its neighbourhood (at most {parameters['eps']} {away})."
        )
    adversary = (
        "Knows everybody's quasi-identifiers, that they are in the table, this algorithm, and how often each value "
        "occurs, and looks at one published value, not at those of others; knows nobody's sensitive value and no "
        "relation between sensitive values and quasi-identifiers."
    )
    same = columns if p == 1 or values == 1 else ()
    missing = (
        *_unchanged_words(same, "none was replaced" if p == 1 else "the domain has no other to replace it by"),
        _ESTIMATES,
        "Proof: how often values were kept cannot be seen in the published rows; that p keeps the risk is computed "
        "from the true ones, which are not published.",
        "Other rows: whoever knows how often each value occurs learns from what the other rows publish, too; where "
        "each value occurs once, a risk of 1/2 was found to be 5/8 with three rows and 0.74 with six.",
        "Repetition: a second release of the same rows shows which values were kept twice.",
        NOT_PROMISED[2],
    )
    return promise, adversary, missing


def _proximity(release: PublishedRelease) -> Words:
    parameters = release.guarantee.parameters
    below, above, share = (str(parameters[name]) for name in ("below", "above", "relative"))
    if share != "0":
        near = f"{share} of the value to either side"
    elif below == above:
        near = f"{below} to either side"
    else:
        near = f"{below} below and {above} above"
    promise = (
        f"In each group of published rows at most 1/{parameters['m']} lie in the neighbourhood of any value of "
        f"{_quote(release.guarantee.columns)}: {near}.{_SHUFFLED}"
    )
    if _parameter_text(release, "grouping") == "blind":
        return promise, BLIND, _missing(release, None)
    return promise, LOOKING, _missing(release, "near")


_PROBABILITIES = {"binary": "probability of a protected value", "full": "probabilities of all values"}


def _robust(release: PublishedRelease) -> Words:
    parameters = release.guarantee.parameters
    promise = (
        f"Whoever knows, for any one of {parameters['sets']} sets of quasi-identifiers, how likely each of their "
        f"combinations has a protected value of {_quote(release.guarantee.columns)} can raise the probability that a "
        f"published row has it to at most {1 / Fraction(parameters['r'])}."
    )
    adversary = (
        "Knows everybody's quasi-identifiers and that they are in the table, and for each set of quasi-identifiers the "
        f"{_PROBABILITIES[str(parameters['model'])]}, exactly, one set at a time"
    )
    is_blind = _parameter_text(release, "k") != ""
    adversary += (
        ", and this algorithm."
        if is_blind
        else "; is assumed not to reason about why the algorithm chose these groups, which followed quasi-identifiers "
        "and tested sensitive values."
    )
    suppressed = (
        f"Suppressed rows: {parameters['suppressed']} of the {parameters['protected']} rows with a protected value are "
        "suppressed because they stand out, and no others, so whoever knows that a person is in the table and finds no "
        "row for them may suspect one."
    )
    together = (
        "Sets together: probabilities for several sets of quasi-identifiers, put together, may say more than those of "
        "any one of them."
    )
    others = "Other values: values that are not protected may be published beside the row that has them."
    is_whole = parameters["protect"] == "null" or not parameters["unprotected"]
    looking = (*_missing(release, None), _CHOICE) if is_blind else (*_missing(release, "robust"), suppressed)
    missing = (*looking, together, *(() if is_whole else (others,)))
    return promise, adversary, missing


def _target(release: PublishedRelease) -> Words:
    shift = str(release.guarantee.parameters["shift"])
    what = "exactly that target distribution"
    if shift != "0":
        what = f"a distribution in which every branch's share among its siblings is within {shift} of the target's"
    promise = (
        f"In each group of published rows, whoever draws one of the subdomains of {_quote(release.guarantee.columns)} "
        f"at random, and then a value from it by the target distribution in the table 'target', gets {what}. Which row "
        "of a group has which of its subdomains was decided by a fair shuffle."
    )
    adversary = (
        "Knows everybody's quasi-identifiers, that they are in the table, and the target distribution; knows nobody's "
        "sensitive value and no relation between sensitive values and quasi-identifiers; is assumed not to reason "
        "about why the algorithm generalized so many values to each node, which followed the true counts."
    )
    imbalance = (
        "Imbalance: the number of values published at the root tells how many are too many on some side of the tree "
        "for the target, not on which side."
    )
    followed = minimality("fakes" if _parameter_text(release, "fakes") != "0" else "target")
    return promise, adversary, (*NOT_PROMISED, imbalance, followed)


def _personal(release: PublishedRelease) -> Words:
    exact = int(release.guarantee.parameters["exact"])
    promise = (
        f"Everybody named a part of the domain of {_quote(release.guarantee.columns)}. Inside it, the published "
        "subdomains of the person's group tell no more than the target distribution in the table 'target' does: any "
        f"two values are as likely, one against the other, as in the target. {exact:,} people consented to be "
        "published exactly."
    )
    adversary = (
        "Knows everybody's quasi-identifiers, that they are in the table, and the target distribution; knows nobody's "
        "sensitive value, nobody's named part, and no relation between sensitive values and quasi-identifiers. Groups "
        "were chosen by looking at sensitive values and named parts: whoever reasons about why the algorithm chose "
        "these groups may learn more, and nothing is promised against that."
    )
    place = "Place: the node that covers a person's group, which may be as narrow as the part that the person named."
    # One group leaves nothing to choose, but its counts are generalized by the rule of target distributions.
    choice = minimality("target" if _parameter_text(release, "asked") == "one" else "personal")
    return promise, adversary, (*NOT_PROMISED, place, choice)


_RATES = ("identity", "rank", "known sample of ")


def _properties(release: PublishedRelease) -> Words:
    parameters = release.guarantee.parameters
    inside = "" if _parameter_text(release, "layout") == "runs" else " inside a segment of rows"
    promise = (
        f"The numbers of {_quote(release.guarantee.columns)} were replaced. The new ones were drawn at random among "
        f"all that keep the {int(parameters['properties']):,} linear properties listed in the table `properties` and "
        f"leave equal numbers equal{inside}; every property holds exactly. This method is driven by utility: no "
        "definition of privacy comes with it."
    )
    rates = "; ".join(f"{name} {rate}" for name, rate in parameters.items() if name.startswith(_RATES))
    adversary = (
        f"Nobody is excluded and nobody is held off for sure; adversaries were measured on this release: {rates}. One "
        "who knows all quasi-identifiers of a person, true numbers (identity) or ranks (rank) included, looks for the "
        "nearest row; one who knows up to 50 people (known sample) reads off the others to a twentieth of a standard "
        "deviation. "
        f"{parameters['unchanged']} of the replaced cells have the value that they had."
    )
    missing = (
        "Privacy in a defined sense: the published numbers tell roughly where the true ones lie, and the listed "
        "properties hold for the true numbers, too.",
        "The ends of columns and the middles between neighbours: the listed bounds tell the least and the greatest "
        "true number of a column without a declared domain, and half-way points between true numbers of different "
        "segments.",
        "Columns that were not replaced: they are as they were, sensitive ones included.",
        _COMPOSITION,
    )
    return promise, adversary, missing


_CRITERIA: dict[str, Callable[[PublishedRelease], Words]] = {
    "frequency": _frequency,
    "groupwise": _groupwise,
    "ke": _ke,
    "m_invariance": _m_invariance,
    "microaggregation": _microaggregation,
    "noise": _noise,
    "personal": _personal,
    "properties": _properties,
    "proximity": _proximity,
    "rank-swap": _rank_swap,
    "retention": _retention,
    "robust": _robust,
    "target": _target,
}
