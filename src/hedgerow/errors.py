"""Everything that hedgerow raises on purpose.

HedgerowError
├── InputError        what came in cannot be read as a table
├── SchemaError       columns, roles, domains or hierarchies do not fit the table
├── ParameterError    a parameter is not what it must be
├── Infeasible        a promise that this table cannot keep
├── BrokenPromise     a release does not keep what it promises; it is not returned, not written, not read
├── BundleError       a folder is not a whole, unedited release
└── QueryError        a question that cannot be answered with a bound, with the reason

A message is one or two sentences: what must hold, what came, what to do. It names columns, counts and parameters,
never a cell of the table. Signs that steer a terminal or end a line, which a hostile name can hold, are spelled out.
"""

__all__ = [
    "BrokenPromise",
    "BundleError",
    "HedgerowError",
    "Infeasible",
    "InputError",
    "ParameterError",
    "QueryError",
    "SchemaError",
]


class HedgerowError(Exception):
    """The root: catching this catches every deliberate refusal."""

    def __str__(self) -> str:
        text = super().__str__()
        return text if text.isprintable() else "".join(map(_shown, text))


def _shown(sign: str) -> str:
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode()


class InputError(HedgerowError):
    """What came in cannot be read as a table."""


class SchemaError(HedgerowError):
    """Columns, roles, domains or hierarchies do not fit the table.

    `values` holds cells that do not fit, for the owner alone: they are no part of the message.
    """

    def __init__(self, message: str = "", *, values: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.values = values


class ParameterError(HedgerowError, ValueError):
    """A parameter is not what it must be."""


class Infeasible(HedgerowError):
    """A promise that this table cannot keep; the message names the nearest one that it can.

    `values` holds the cells that stand in the way, for the owner alone: they are no part of the message.
    """

    def __init__(self, message: str = "", *, values: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.values = values


class BrokenPromise(HedgerowError):
    """A release that does not keep what it promises."""


class BundleError(HedgerowError):
    """A folder that is not a whole, unedited release."""


class QueryError(HedgerowError):
    """A question that cannot be answered with a bound."""
