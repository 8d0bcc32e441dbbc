"""The SQL that is read: DuckDB's, in which most functions are names.

A parser that knows hundreds of functions turns each into a node of its own, and prints it in other words, which change
with its version. Here it knows the aggregates and a few functions; every other call stays what was written, a name and
arguments (`functions`).
"""

from __future__ import annotations

from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

__all__ = ["QuestionSQL", "to_postgres"]

_AGGREGATES_TEXT = """
ANY_VALUE APPROX_COUNT_DISTINCT APPROX_QUANTILE ARG_MAX ARG_MIN ARGMAX ARGMIN ARRAY_AGG ARRAYAGG AVG BOOL_AND BOOL_OR
CORR COUNT COUNT_IF COUNTIF COVAR_POP COVAR_SAMP CUME_DIST DENSE_RANK FIRST FIRST_VALUE GROUPING GROUPING_ID
GROUP_CONCAT KURTOSIS LAG LAST LAST_VALUE LEAD LIST MAX MAX_BY MEDIAN MIN MIN_BY MODE NTH_VALUE NTILE PERCENT_RANK
PERCENTILE_CONT PERCENTILE_DISC QUANTILE QUANTILE_CONT QUANTILE_DISC RANK REGR_AVGX REGR_AVGY REGR_COUNT
REGR_INTERCEPT REGR_R2 REGR_SLOPE REGR_SXX REGR_SXY REGR_SYY ROW_NUMBER SKEWNESS STDDEV STDDEV_POP STDDEV_SAMP
STRING_AGG SUM VARIANCE VAR_POP VAR_SAMP
"""
_AGGREGATES = _AGGREGATES_TEXT.split()
_CALLS_TEXT = """
ABS CEIL CEILING FLOOR ROUND LOWER LCASE UPPER UCASE LENGTH LEFT SUBSTRING SUBSTR MOD COALESCE IFNULL YEAR MONTH DAY
EXTRACT EXISTS UNNEST
"""
_CALLS = _CALLS_TEXT.split()
_SPECIAL_TEXT = """
ARG_MAX ARGMAX MAX_BY ARG_MIN ARGMIN MIN_BY CAST CEIL EXTRACT FLOOR POSITION STRING_AGG SUBSTRING TRIM TRY_CAST
GROUP_CONCAT LISTAGG APPROX_QUANTILE MAX MIN QUANTILE QUANTILE_CONT QUANTILE_DISC
"""
_SPECIAL = _SPECIAL_TEXT.split()


class QuestionSQL(DuckDB):
    """DuckDB's SQL, in which most functions are names."""

    class Parser(DuckDB.Parser):  # type: ignore[valid-type, misc]
        """Knows the functions that questions treat in their own way."""

        FUNCTIONS: ClassVar = {
            **{name: make for name, make in DuckDB.Parser.FUNCTIONS.items() if name in (*_AGGREGATES, *_CALLS)},
            "MEAN": exp.Avg.from_arg_list,
            "EVERY": exp.LogicalAnd.from_arg_list,
        }
        FUNCTION_PARSERS: ClassVar = {
            name: read for name, read in DuckDB.Parser.FUNCTION_PARSERS.items() if name in _SPECIAL
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: read
            for name, read in DuckDB.Parser.NO_PAREN_FUNCTION_PARSERS.items()
            if name in ("ANY", "CASE", "IF")
        }


def to_postgres(sql: str, *, pretty: bool = False) -> str:
    """Turn a printed statement into PostgreSQL's words."""
    quiet = sqlglot.ErrorLevel.IGNORE
    return sqlglot.transpile(sql, read="duckdb", write="postgres", unsupported_level=quiet, pretty=pretty)[0]
