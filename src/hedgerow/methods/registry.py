"""Methods by the short name that recipes and the command line use, and what their parameters mean."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError
from hedgerow.methods import METHODS

if TYPE_CHECKING:
    from hedgerow.methods.method import Method

__all__ = ["HELP", "METHODS", "SWITCHES", "Parameter", "help_text", "method", "method_class"]
__all__ += ["parameters_of", "read_parameters"]

HELP: dict[str, str | dict[str, str]] = {
    "k": {
        "ke": "minimum number of distinct sensitive values in every group",
        "mondrian, full-domain": "minimum number of rows in every group",
        "microaggregation": "minimum number of rows that share their means",
        "rank-swap": "minimum number of distinct values among which a value is swapped",
        "robust": "minimum number of rows in every group, cut by quasi-identifiers alone (in Python, with "
        "probabilities from elsewhere)",
    },
    "e": {
        "ke": "minimum range of the sensitive values in every group",
        "rank-swap": "minimum range of the values among which a value is swapped",
    },
    "objective": "best partition: sum (least total range), max or max_overlap (least largest range), count (most "
    "groups), random",
    "refine": "quasi divides groups further by quasi-identifiers, which gives tighter answers; or none",
    "l": {
        "anatomy, permutation": "no value makes up more than 1/l of a group",
        "ke": "no value makes up more than 1/l of a group; without it one value may fill most of a group",
        "mondrian, full-domain": "l-diversity of the sensitive values in every group, in the sense of 'diversity'",
    },
    "diversity": "which l-diversity: frequency (no value above 1/l of a group), distinct, entropy or recursive",
    "c": "factor c of recursive (c,l)-diversity",
    "t": "t-closeness: maximum distance between the distribution in a group and in the table",
    "distance": "distance of t-closeness: equal, ordered or hierarchical",
    "eps": {
        "proximity": "half width of the interval around a value that m refers to (the part below, if e2 is given)",
        "retention": "half width of the interval around a value that counts as a right guess",
    },
    "m": {
        "proximity": "at most 1/m of a group lies within eps of any value",
        "retention": "probability at most 1/m to be right about a value, to within eps",
        "m-invariant": "minimum number of distinct values in every group",
    },
    "e2": "the part of the interval above the value, if it differs from eps",
    "relative": "true: eps is a share of the value instead of an amount",
    "grouping": {
        "anatomy, permutation": "how groups are formed: blind (by sensitive values alone), near (quasi-identifiers "
        "close together) or ncp (small boxes)",
        "m-invariant, proximity": "how groups are formed: blind (by sensitive values alone) or near (quasi-identifiers "
        "close together)",
        "target": "all: one group per part; quasi: rows with equal quasi-identifiers",
    },
    "alpha": "maximum share of one value in a group",
    "delta": "largest absolute log ratio of a value's share in a group to its share in the table",
    "beta": "largest relative increase of a value's share in a group over its share in the table",
    "enhanced": "true: beta is also capped by the logarithm of the share in the table",
    "presence_low": "minimum share of members in every group",
    "presence_high": "maximum share of members in every group",
    "relaxed": "true: rows at a median may go to either side, which makes groups smaller",
    "blind": "true: split by quasi-identifiers alone, so that knowing the algorithm helps no attacker",
    "suppression": "maximum share of rows to suppress",
    "form": "how groups are published: generalized, permuted, separated or scattered, as far as the method supports it",
    "together": "true: the sensitive values of a person stay in one row",
    "p": "probability that a value is published unchanged",
    "scale": "standard deviation of the noise, as a share of the column's",
    "kind": "distribution of the noise: normal, laplace or uniform",
    "share": {
        "walk": "share of localities to keep",
        "rank-swap": "width of the rank window, as a share of the rows",
    },
    "segment": "maximum number of values that move together",
    "steps": 'steps of the walk per segment, or "auto": until it has mixed',
    "keep": "further properties to keep, separated by ';': \"age >= 18; age[60] - age[30] >= 20\"",
    "whole": "true: whole numbers stay whole",
    "layout": "which values move together: runs of neighbouring values, or rows scattered over segments",
    "r": "probability at most 1/r, even for an attacker who already knows how values are distributed",
    "knowledge": "what such an attacker knows (Python only)",
    "model": "what such an attacker reasons about: binary (the protected values) or full (every value)",
    "protect": "the values to protect, separated by commas; by default every value",
    "max_suppressed": "maximum share of rows to suppress",
    "target": {
        "target": "distribution to publish instead: uniform, normal, zipf or source",
        "personal": "distribution that the published values follow: uniform, normal, zipf or source",
    },
    "parts": "column whose values divide the table into parts with groups of their own",
    "fakes": "maximum share of fake values to add",
    "shift": "how far published shares may deviate from the target, 0 to 1",
    "quantize": "replace the ratios of the target by whole numbers with at most this sum",
    "node_column": "column with the node of the hierarchy that each person names, or its level",
    "partition": "how groups are searched: cheapest, one, quasi, top_down or bottom_up",
    "consent": "true, or the column that says who agrees to be published exactly",
    "columns": "columns to replace, separated by commas",
}
"""What each parameter means; by methods where they differ."""

SWITCHES = ("blind", "enhanced", "relative", "relaxed", "together", "whole")
"""Parameters that are true or false."""
LISTS = {"columns": ",", "keep": "; ", "protect": ","}
"""Parameters that are lists, each with what parts its entries in one text."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method: its name, its type as annotated, its default (None if it is required) and its help."""

    name: str
    type: str
    required: bool
    default: object
    help: str


def parameters_of(name: str) -> tuple[Parameter, ...]:
    """Return the parameters of a method in their order."""
    return tuple(
        Parameter(
            field.name,
            str(field.type),
            _is_required(field),
            None if field.default is MISSING else field.default,
            help_text(field.name, name),
        )
        for field in fields(method_class(name))  # type: ignore[arg-type]
    )


def help_text(parameter: str, method: str | None = None) -> str:
    """Say what a parameter means for a method; without one, for every method that has it."""
    text = HELP[parameter]
    if isinstance(text, str):
        return text
    if method is None:
        return "; ".join(f"{names}: {meaning}" for names, meaning in text.items())
    return next(meaning for names, meaning in text.items() if method in names.split(", "))


def method(name: str, parameters: Mapping[str, object]) -> Method:
    """Build a method from its short name and parameters, which may be text."""
    built: Method = method_class(name)(**read_parameters(name, parameters))
    return built


def read_parameters(name: str, parameters: Mapping[str, object]) -> dict[str, Any]:
    """Read parameters, which may be text, as the method takes them; refuse unknown ones and name a missing one."""
    kind = method_class(name)
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := [key for key in parameters if key not in known]:
        raise ParameterError(f"Method '{name}' has no parameter '{unknown[0]}'; it has {', '.join(known)}.")
    if missing := [key for key, field in known.items() if _is_required(field) and key not in parameters]:
        raise ParameterError(f"Method '{name}' needs '{missing[0]}'.")
    return {key: _read(known[key], value) for key, value in parameters.items()}


def method_class(name: str) -> type[Method]:
    """Return the class behind a short name."""
    if name not in METHODS:
        close = difflib.get_close_matches(name, METHODS, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise ParameterError(f"There is no method of that name; there are {', '.join(METHODS)}.{hint}")
    module, _, attribute = METHODS[name].rpartition(".")
    found: type[Method] = getattr(importlib.import_module(f"hedgerow.methods.{module}"), attribute)
    return found


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _read(field: Field[Any], value: object) -> object:
    """Turn text into what the parameter's annotation names; numbers stay text, which methods read exactly."""
    if not isinstance(value, str):
        return value
    alternatives = [part.strip() for part in str(field.type).split("|")]
    if "bool" in alternatives and value.lower() in ("true", "false"):
        return value.lower() == "true"
    wanted = alternatives[0]
    try:
        return int(value) if wanted == "int" else value
    except ValueError:
        return value
