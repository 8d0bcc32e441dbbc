"""Random hostile tables through publish, save, open, verify, export and questions on two engines.

python tools/tables.py --number 10000 --start 0 --seconds 600

Trial n is drawn from seed n, so `--start n --number 1` brings it back. Findings are appended to .trials/findings.txt,
and the counts are written beside it every 1,000 trials.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WARM = 200
"""Tables after which nearly everything has been imported."""

sys.path.insert(0, str(ROOT))
for library in (
    "OMP",
    "OPENBLAS",
    "NUMBA",
):  # a second thread waits longer than tables of some rows take; set before the import
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from tests.support.random_tables import random_trial  # noqa: E402
from tests.support.table_trials import Tally, run_graph_trial, run_trial  # noqa: E402


def main() -> int:
    """Run the trials, print the counts, and fail if anything was found."""
    parser = argparse.ArgumentParser(description="random tables through the whole path")
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="start no trial after this time")
    parser.add_argument("--show", action="store_true", help="print each table that a finding is about")
    options = parser.parse_args()
    tally, end = Tally(), time.monotonic() + options.seconds
    log = ROOT / ".trials" / "findings.txt"
    log.parent.mkdir(exist_ok=True)
    room = "/dev/shm" if Path("/dev/shm").is_dir() else None  # in memory nothing waits for a disk
    with tempfile.TemporaryDirectory(prefix="hedgerow-tables-", dir=room) as folder, log.open("a") as kept:
        for number in range(options.start, options.start + options.number):
            if time.monotonic() > end:
                break
            told = len(tally.findings)
            if (
                number == options.start + WARM
            ):  # what was imported and compiled stays; looking through it again costs a tenth
                gc.freeze()
            run_trial(number, Path(folder), tally)
            if number % 20 == 0:
                run_graph_trial(number, Path(folder), tally)
            if number % 1000 == 999:
                (log.parent / f"counts-{options.start}.json").write_text(json.dumps(tally.counts, indent=1))
            for finding in tally.findings[told:]:
                print(*finding, file=kept, flush=True)
                print(*finding, flush=True)
                if options.show:
                    import random

                    print(random_trial(random.Random(number)))
    for name, count in sorted(tally.counts.items()):
        print(f"{count:>9,} {name}")
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
