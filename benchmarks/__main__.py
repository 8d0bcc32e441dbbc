"""Run every benchmark, or those that are named: python -m benchmarks ke query."""

import argparse
import importlib
import pkgutil

import benchmarks


def main() -> None:
    """Run the benchmarks one after another."""
    own = {"measure", "__main__"}
    known = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in own)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="measure ratios of docs/benchmarks.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all by default: {', '.join(known)}")
    names = parser.parse_args().names or known
    if unknown := sorted(set(names) - set(known)):
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
