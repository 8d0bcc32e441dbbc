"""Random questions over every form, data of every kind: the truth is inside, exact is equal, engines agree.

    python -m tools.questions 200000 [seed]

Each question is asked of the release and, in DuckDB, of the table behind it; every tenth also of the DuckDB engine.
Half of them come from the whole grammar (`tests.support.grammar`), half from a list that engines agree on.
"""

from __future__ import annotations

import collections
import random
import sys
import time

from hedgerow.errors import QueryError
from hedgerow.query import connect
from tests.support.agreement import disagreement
from tests.support.every_form import EVERY_FORM, Sample, sample_of
from tests.support.grammar import SAMPLE_COLUMNS, Columns, Grammar
from tests.support.random_sql import random_question
from tests.support.truth import contradiction

_PER_SAMPLE = 40
_OPEN = Columns(("fee",), keys=("floor(fee / 30)", "round(fee, -1)"))
"""What generalized releases publish as it is."""


def run(number: int, seed: int) -> int:
    """Ask so many questions; print what contradicts the truth, and how many did."""
    rng, wrong, started = random.Random(seed), 0, time.monotonic()
    counts: collections.Counter[str] = collections.Counter()
    forms = list(EVERY_FORM)
    while counts["asked"] < number:
        form = forms[rng.randrange(len(forms))]
        sample = sample_of(form, rng, rows=rng.randrange(4, 50))
        session, other = connect(sample.release), connect(sample.release, "duckdb")
        for place in range(_PER_SAMPLE):
            text = asked(rng, form, sample)
            counts["asked"] += 1
            try:
                session.answers(text)
            except QueryError:
                counts["refused"] += 1
            problem = contradiction(session, sample.table, text)
            if problem is not None and problem.startswith("answered, but no SQL"):
                counts["no truth"] += 1  # DuckDB stops where a value cannot be computed; here it is NULL
                problem = None
            if problem is None and place % 10 == 0:
                problem = disagreement(session, other, text)
            if problem is not None:
                wrong += 1
                print(f"{form}: {text}\n    {problem}", flush=True)
    seconds = time.monotonic() - started
    print(
        f"{counts['asked']:,} questions with seed {seed} in {seconds:.0f} s: {wrong} wrong, "
        f"{counts['refused']:,} refused, {counts['no truth']:,} that DuckDB cannot compute"
    )
    return wrong


def asked(rng: random.Random, form: str, sample: Sample) -> str:
    """A random question that fits the form."""
    is_boxed, is_apart = form.startswith("generalized"), form.startswith("scattered")
    if rng.random() < 0.5:
        once = rng.random() < 0.5 or is_apart
        text = random_question(rng, sample.kind, once=once, boxed=is_boxed)
        return text.partition(" HAVING")[0].partition(" ORDER")[0]
    kind = sample.kind if sample.kind in ("text", "date") else "number"
    columns = _OPEN if is_boxed and rng.random() < 0.7 else SAMPLE_COLUMNS
    return Grammar(rng, columns, kind, mixes=not is_apart).question()


if __name__ == "__main__":
    sys.exit(1 if run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)) else 0)
