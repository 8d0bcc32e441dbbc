"""Random questions over every form, data of every kind: the truth is inside, exact is equal, engines agree.

    python -m tools.questions 200000 [seed]

Each question is asked of the release and, in DuckDB, of the table behind it; every tenth also of the DuckDB engine.
"""

from __future__ import annotations

import random
import sys
import time

from hedgerow.query import connect
from tests.support.agreement import disagreement
from tests.support.every_form import EVERY_FORM, sample_of
from tests.support.random_sql import random_question
from tests.support.truth import contradiction

_PER_SAMPLE = 40


def run(number: int, seed: int) -> int:
    """Ask so many questions; print what contradicts the truth, and how many did."""
    rng, asked, wrong, started = random.Random(seed), 0, 0, time.monotonic()
    forms = list(EVERY_FORM)
    while asked < number:
        form = forms[rng.randrange(len(forms))]
        sample = sample_of(form, rng, rows=rng.randrange(4, 50))
        session, other = connect(sample.release), connect(sample.release, "duckdb")
        for place in range(_PER_SAMPLE):
            once = "once" in form or rng.random() < 0.5 or form.startswith("scattered")
            text = random_question(rng, sample.kind, once=once, boxed=form.startswith("generalized"))
            plain = text.partition(" HAVING")[0].partition(" ORDER")[0]
            problem = contradiction(session, sample.table, plain)
            if problem is None and place % 10 == 0:
                problem = disagreement(session, other, text)
            asked += 1
            if problem is not None:
                wrong += 1
                print(f"{form}: {text}\n    {problem}", flush=True)
    print(f"{asked:,} questions with seed {seed} in {time.monotonic() - started:.0f} s: {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)) else 0)
