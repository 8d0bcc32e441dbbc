"""Methods by their usual names: each combines a criterion, a partition and a form, and audits its release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy

if TYPE_CHECKING:
    from hedgerow.methods.anatomy import Anatomy, PermutationAnonymization
    from hedgerow.methods.full_domain import FullDomain
    from hedgerow.methods.ke_anonymity import KEAnonymity
    from hedgerow.methods.m_invariant import MInvariant
    from hedgerow.methods.method import Method
    from hedgerow.methods.microaggregation import Microaggregation
    from hedgerow.methods.mondrian import Mondrian
    from hedgerow.methods.noise import Noise
    from hedgerow.methods.personal import Personal
    from hedgerow.methods.property_walk import PropertyWalk
    from hedgerow.methods.proximity import Proximity
    from hedgerow.methods.rank_swap import RankSwap
    from hedgerow.methods.retention import Retention
    from hedgerow.methods.robust import Robust
    from hedgerow.methods.target_distribution import TargetDistribution

__all__ = [
    "METHODS",
    "Anatomy",
    "FullDomain",
    "KEAnonymity",
    "MInvariant",
    "Method",
    "Microaggregation",
    "Mondrian",
    "Noise",
    "PermutationAnonymization",
    "Personal",
    "PropertyWalk",
    "Proximity",
    "RankSwap",
    "Retention",
    "Robust",
    "TargetDistribution",
]

METHODS: dict[str, str] = {
    "anatomy": "anatomy.Anatomy",
    "full-domain": "full_domain.FullDomain",
    "ke": "ke_anonymity.KEAnonymity",
    "m-invariant": "m_invariant.MInvariant",
    "mondrian": "mondrian.Mondrian",
    "microaggregation": "microaggregation.Microaggregation",
    "noise": "noise.Noise",
    "permutation": "anatomy.PermutationAnonymization",
    "personal": "personal.Personal",
    "proximity": "proximity.Proximity",
    "robust": "robust.Robust",
    "rank-swap": "rank_swap.RankSwap",
    "retention": "retention.Retention",
    "target": "target_distribution.TargetDistribution",
    "walk": "property_walk.PropertyWalk",
}
"""Short name to module and class below `hedgerow.methods`; imported only when asked for."""

__getattr__ = lazy(__name__, {"Method": "method.Method"} | {home.rpartition(".")[2]: home for home in METHODS.values()})
