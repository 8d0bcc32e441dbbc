"""Random questions over every form, data of every kind: the truth is inside, exact is equal, engines agree.

    python -m tools.questions 200000 [seed] [--postgresql | --names]

Each question is asked once of the release and, in DuckDB, of the table behind it; every tenth also of the DuckDB
engine, and with `--postgresql` every second one of that engine and of a server of its own. Half of them come from the
whole grammar (`tests.support.grammar`), half from a list that engines agree on; about floats on no decimal grid some
come from a list of sums that depend on the order of summation if they are done carelessly. With `--names` they are
about what names and places mean (`tests.support.name_questions`): whole tables of results must be DuckDB's.
"""

from __future__ import annotations

import collections
import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext

from hedgerow.query import Session, connect
from hedgerow.query.engines.postgres import export
from tests.support.agreement import answered, difference
from tests.support.every_form import EVERY_FORM, Sample, sample_of
from tests.support.float_questions import float_question
from tests.support.grammar import SAMPLE_COLUMNS, Columns, Grammar
from tests.support.name_questions import NAME_FORMS, NameQuestions, judge, name_sample
from tests.support.postgres import own_server
from tests.support.random_sql import random_question
from tests.support.truth import contradiction_of, original_of

_PER_SAMPLE = 200
_OPEN = Columns(("fee",), keys=("floor(fee / 30)", "round(fee, -1)"))
"""What generalized releases publish as it is."""


def run(number: int, seed: int, server: str | None = None) -> int:
    """Ask so many questions; print what contradicts the truth, and how many did."""
    rng, started = random.Random(seed), time.monotonic()
    counts: collections.Counter[str] = collections.Counter()
    forms, often = list(EVERY_FORM), 10 if server is None else 2
    while counts["asked"] < number:
        form = forms[rng.randrange(len(forms))]
        sample = sample_of(form, rng, rows=rng.randrange(4, 50))
        with _engines(sample, server) as engines, original_of(sample.table) as original:
            for place in range(min(_PER_SAMPLE, number - counts["asked"])):
                text = asked(rng, form, sample)
                found = answered(engines[0], text)
                counts.update(asked=1, refused=isinstance(found, str))
                problem = None if isinstance(found, str) else contradiction_of(found, original, text)
                if problem is not None and (
                    problem.startswith("answered, but DuckDB stops") or _is_rounded(sample, text)
                ):
                    counts["no truth"] += 1  # DuckDB computes rows that a condition leaves out, too
                    problem = None
                for other in engines[1:] if place % often == 0 else ():
                    counts["compared"] += 1
                    problem = problem or difference(found, answered(other, text))
                if problem is not None:
                    counts["wrong"] += 1
                    print(f"{form}: {text}\n    {problem}", flush=True)
                if counts["asked"] % 5_000 == 0:
                    print(f"{counts['asked']:,} asked, {counts['wrong']} wrong", flush=True)
    print(
        f"{counts['asked']:,} questions with seed {seed} in {time.monotonic() - started:.0f} s: {counts['wrong']} "
        f"wrong, {counts['refused']:,} refused, {counts['no truth']:,} that DuckDB cannot compute, "
        f"{counts['compared']:,} compared with another engine"
    )
    return counts["wrong"]


def run_names(number: int, seed: int) -> int:
    """Ask so many questions whose names could mean several things; print what differs, and how many did."""
    rng, counts = random.Random(seed), collections.Counter[str]()
    while counts["asked"] < number:
        form = rng.choice(list(NAME_FORMS))
        release, tables = name_sample(rng, form)
        with closing(connect(release, rng.choice(["arrays", "duckdb"]))) as session:
            for _ in range(min(_PER_SAMPLE, number - counts["asked"])):
                question = NameQuestions(rng, hides=rng.random() < 0.3).question()
                counts["asked"] += 1
                problem = judge(session, tables, question, counts)
                if problem is not None:
                    counts["wrong"] += 1
                    print(f"{form}: {question.text}\n    {problem}", flush=True)
    print(
        f"{counts['asked']:,} questions with seed {seed}: {counts['wrong']} wrong, {counts['refused']:,} refused, "
        f"{counts['no truth']:,} that DuckDB refuses, {counts['not judged']:,} whose rows are not sure"
    )
    return counts["wrong"]


def _is_rounded(sample: Sample, text: str) -> bool:
    """Whether DuckDB rounds: its variance of 2^53 + 1 and 2^53 + 2 is 2, and 1/4 is true."""
    return sample.kind == "edge" and any(name in text for name in ("var_", "variance", "stddev"))


@contextmanager
def _engines(sample: Sample, server: str | None) -> Iterator[list[Session]]:
    """The arrays, DuckDB and perhaps a server, asked about one release."""
    with ExitStack() as stack:
        engines = [connect(sample.release), stack.enter_context(closing(connect(sample.release, "duckdb")))]
        if server is not None:
            export(sample.release, server, overwrite=True)
            engines.append(stack.enter_context(closing(connect(sample.release, server))))
        yield engines


def asked(rng: random.Random, form: str, sample: Sample) -> str:
    """A random question that fits the form."""
    is_boxed, is_apart = form.startswith("generalized"), form.startswith("scattered")
    if sample.kind == "ragged" and rng.random() < 0.4:
        return float_question(rng)
    if rng.random() < 0.5:
        once = rng.random() < 0.5 or is_apart
        text = random_question(rng, sample.kind, once=once, boxed=is_boxed)
        return text.partition(" HAVING")[0].partition(" ORDER")[0]
    kind = sample.kind if sample.kind in ("text", "date") else "number"
    columns = _OPEN if is_boxed and rng.random() < 0.7 else SAMPLE_COLUMNS
    return Grammar(rng, columns, kind, mixes=not is_apart).question()


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    seed = numbers[1] if len(numbers) > 1 else random.randrange(2**32)
    if "--names" in sys.argv:
        sys.exit(1 if run_names(numbers[0], seed) else 0)
    with own_server() if "--postgresql" in sys.argv else nullcontext() as address:
        wrong = run(numbers[0], seed, address)
    sys.exit(1 if wrong else 0)
