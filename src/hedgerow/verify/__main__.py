"""`python -m hedgerow.verify out/`: is the promise kept? It needs numpy and pyarrow alone."""

from __future__ import annotations

import sys

from hedgerow.errors import BrokenPromise, BundleError, HedgerowError
from hedgerow.verify.graph import verify_graph_bundle
from hedgerow.verify.holding import read_manifest
from hedgerow.verify.manifest import GRAPH_FORMAT, format_of
from hedgerow.verify.promise import verify_bundle

_USAGE = "usage: python -m hedgerow.verify BUNDLE [--max-bytes N]"


def main(arguments: list[str]) -> int:
    """Print what was checked and return 0, or say what does not hold and return 1."""
    if arguments in (["--help"], ["-h"]):
        print(_USAGE)
        return 0
    if len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[1] != "--max-bytes"):
        print(_USAGE, file=sys.stderr)
        return 2
    if arguments[2:] and not (arguments[2].isdecimal() and len(arguments[2]) < 19):
        print(_USAGE, file=sys.stderr)
        return 2
    most = int(arguments[2]) if arguments[2:] else None
    try:
        is_graph = format_of(read_manifest(arguments[0])) == GRAPH_FORMAT
        print((verify_graph_bundle if is_graph else verify_bundle)(arguments[0], max_bytes=most))
    except (BrokenPromise, BundleError) as error:
        print(f"not verified: {error}", file=sys.stderr)
        return 1
    except HedgerowError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
