"""Run every benchmark, or those that are named: python -m benchmarks ke query."""

import importlib
import pkgutil
import sys

import benchmarks


def main() -> None:
    """Run the benchmarks one after another."""
    own = {"measure", "__main__"}
    names = sys.argv[1:] or sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in own)
    for name in names:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
