"""Methods by the short name that recipes and the command line use."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from hedgerow.methods.method import Method

__all__ = ["METHODS", "method", "method_class", "parameter_names"]

METHODS: dict[str, str] = {
    "anatomy": "anatomy.Anatomy",
    "full-domain": "full_domain.FullDomain",
    "ke": "ke_anonymity.KEAnonymity",
    "m-invariant": "m_invariant.MInvariant",
    "mondrian": "mondrian.Mondrian",
    "microaggregation": "microaggregation.Microaggregation",
    "noise": "noise.Noise",
    "permutation": "permutation_anonymization.PermutationAnonymization",
    "personal": "personal.Personal",
    "proximity": "proximity.Proximity",
    "robust": "robust.Robust",
    "rank-swap": "rank_swap.RankSwap",
    "retention": "retention.Retention",
    "target": "target_distribution.TargetDistribution",
    "walk": "property_walk.PropertyWalk",
}
"""Short name to module and class below `hedgerow.methods`; imported only when asked for."""


def method(name: str, parameters: Mapping[str, object]) -> Method:
    """Build a method from its short name and parameters, which may be text."""
    kind = method_class(name)
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := [key for key in parameters if key not in known]:
        raise ParameterError(f"Method '{name}' has no parameter '{unknown[0]}'; it has {', '.join(known)}.")
    if missing := [key for key, field in known.items() if _is_required(field) and key not in parameters]:
        raise ParameterError(f"Method '{name}' needs '{missing[0]}'.")
    built: Method = kind(**{key: _read(known[key], value) for key, value in parameters.items()})
    return built


def method_class(name: str) -> type[Method]:
    """Return the class behind a short name."""
    if name not in METHODS:
        close = difflib.get_close_matches(name, METHODS, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise ParameterError(f"There is no method of that name; there are {', '.join(METHODS)}.{hint}")
    module, _, attribute = METHODS[name].rpartition(".")
    found: type[Method] = getattr(importlib.import_module(f"hedgerow.methods.{module}"), attribute)
    return found


def parameter_names(name: str) -> tuple[str, ...]:
    """Return the parameters of a method in their order."""
    return tuple(field.name for field in fields(method_class(name)))  # type: ignore[arg-type]


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
