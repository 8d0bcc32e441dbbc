"""Ask pycanon for k, l and t of released tables; runs in the judges' environment, without hedgerow."""

import json
import sys
from pathlib import Path

import pandas as pd
from pycanon import anonymity

CLOSE = 1e-9


def main(folder: Path) -> int:
    """Print a line per letter and table; return 1 where a verdict differs from ours or from the promise."""
    different = 0
    for file in sorted(folder.glob("*.json")):
        facts = json.loads(file.read_text())
        table = pd.read_csv(file.with_suffix(".csv"), dtype=dict.fromkeys(facts["quasi"], str))
        judged = {
            "k": anonymity.k_anonymity(table, facts["quasi"]),
            "l": anonymity.l_diversity(table, facts["quasi"], [facts["sensitive"]]),
            "t": anonymity.t_closeness(table, facts["quasi"], [facts["sensitive"]]),
        }
        for letter, verdict in judged.items():
            mine, promised = facts["ours"][letter], facts["promised"][letter]
            keeps = verdict <= promised + CLOSE if letter == "t" else verdict >= promised
            agrees = abs(float(verdict) - mine) <= CLOSE and keeps
            different += not agrees
            word = "agrees" if agrees else "DIFFERS"
            print(
                f"{facts['name']:<32} {letter}: promised {promised:g}, ours {mine:.6g}, pycanon {verdict:.6g}  {word}"
            )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
