"""Bounds and expectation of each aggregate: one file per aggregate, and one line here."""

from __future__ import annotations

from hedgerow.query.aggregates.aggregator import Aggregator, Gives
from hedgerow.query.aggregates.average import AVG
from hedgerow.query.aggregates.count import COUNT
from hedgerow.query.aggregates.distinct import AVG_DISTINCT, DISTINCT, SUM_DISTINCT
from hedgerow.query.aggregates.extremes import MAX, MIN
from hedgerow.query.aggregates.quantiles import QUANTILE_CONT, QUANTILE_DISC
from hedgerow.query.aggregates.total import SUM
from hedgerow.query.aggregates.variance import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP

__all__ = ["AGGREGATES", "Aggregator", "Gives"]

_VARIANCES = (VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP)
_EVERY = (COUNT, SUM, AVG, MIN, MAX, *_VARIANCES, QUANTILE_CONT, QUANTILE_DISC, DISTINCT, SUM_DISTINCT, AVG_DISTINCT)

AGGREGATES = {aggregator.name: aggregator for aggregator in _EVERY}
"""Every aggregate of one column by the name that bound questions use."""
