"""Ask anonymeter how much releases turned into rows give away; runs in the judge's environment, without hedgerow.

Its three attacks, each against the people and against others of the same kind who were not published: the control.
Risk is what is left of the success beyond the control's. Our own figures stand beside it.
"""

import json
import sys
import warnings
from pathlib import Path

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

NEIGHBOURS = 10
CLOSE = 0.1
"""Two risks whose difference is no larger count as the same: 500 guesses have an interval of about as much."""

SAME_KIND = {"singling out": "limits"}
"""Where our adversary uses other descriptions: our count with descriptions of the judge's kind is what must agree."""


def main(folder: Path) -> int:
    """Print a line per release and attack; return 1 if a leak goes unseen or a verdict differs without a reason."""
    people, others = (pd.read_csv(folder / f"{name}.csv") for name in ("people", "others"))
    seen_leak, different = False, 0
    for file in sorted(folder.glob("rows-*.json")):
        facts = json.loads(file.read_text())
        rows = pd.read_csv(file.with_suffix(".csv"))
        for attack, (success, control, risk, interval) in judged(facts, people, rows, others).items():
            ours = facts["ours"].get(attack)
            word = "" if ours is None else verdict(risk, interval, ours, facts["ours"][SAME_KIND.get(attack, attack)])
            different += word.endswith("DIFFERS")
            seen_leak |= not facts["ours"] and risk > 0.5
            found = f"right {success:.3f}, control {control:.3f}, risk {risk:.3f}"
            print(f"{facts['name']:<44} {attack:<13} {found} {word}", flush=True)
    print("the table itself is", "seen through" if seen_leak else "NOT seen through")
    return 0 if seen_leak and not different else 1


def judged(facts, people, rows, others):
    """The three attacks: success, control, risk and its interval."""
    quasi, secret, attacks = facts["quasi"], facts["sensitive"], facts["targets"]
    half = (len(quasi) + 1) // 2
    common = {"ori": people, "syn": rows, "control": others, "n_attacks": attacks}
    evaluators = {
        "singling out": SinglingOutEvaluator(**common, n_cols=3, seed=1),
        "linkability": LinkabilityEvaluator(**common, aux_cols=(quasi[:half], quasi[half:]), n_neighbors=NEIGHBOURS),
        "inference": InferenceEvaluator(**common, aux_cols=quasi, secret=secret, regression=False),
    }
    return {name: outcome(name, evaluator) for name, evaluator in evaluators.items()}


def outcome(name, evaluator):
    """Run one attack; anonymeter warns where an attack is as good as guessing, which is what we want to hear."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator.evaluate(**({"mode": "multivariate"} if name == "singling out" else {"n_jobs": 1}))
        results, risk = evaluator.results(), evaluator.risk()
    return results.attack_rate.value, results.control_rate.value, max(0.0, risk.value), risk.ci


def verdict(risk, interval, ours, alike):
    """Compare risks: what counts is how much of a leak either sees by the same kind of guess."""
    mine = alike["risk"] or 0.0
    agrees = abs(mine - risk) <= CLOSE or interval[0] - CLOSE <= mine <= interval[1] + CLOSE
    same = "" if alike is ours else f"; the judge's kind: right {alike['rate']:.3f}, risk {mine:.3f}"
    found = f"right {ours['rate']:.3f}, control {ours['control']:.3f}, risk {ours['risk'] or 0.0:.3f}"
    return f"(ours: {found}{same}) {'agrees' if agrees else 'DIFFERS'}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
