"""Why bounds are wide, checked by asking."""

import pyarrow as pa
import pytest

from hedgerow.errors import QueryError
from hedgerow.query import ask, connect
from hedgerow.release.forms import SEPARATED
from hedgerow.report.answer_text import best_moves, causes, relative_width
from tests.support.assignments import release_of
from tests.support.form_worlds import as_generalized


@pytest.fixture(scope="module")
def release():
    """Groups of people of similar age; those of the fifties differ most in pay."""
    ages = [20 + row // 4 for row in range(160)]
    pays = [1000 + row + (row % 4) * (200 if 120 <= row < 160 else 1) for row in range(160)]
    return release_of(
        {"age": ages, "sex": list("FM") * 80, "pay": pays}, [row // 8 for row in range(160)], sensitive="pay"
    )


def test_shares_add_up_to_the_width_of_a_sum(release):
    """Each group's share times the whole width is the width of the same question in that group alone."""
    question = "SELECT sum(pay) FROM release WHERE sex = 'F'"
    found = causes(release, question, most=1000)
    whole = ask(release, question)
    assert sum(cause.share for cause in found.worst) == pytest.approx(1)
    ages = {group: 20 + 2 * group for group in range(20)}
    for cause in found.worst:
        first = ages[cause.group]
        alone = ask(release, f"{question} AND age BETWEEN {first} AND {first + 1}")
        assert cause.share * (whole.upper - whole.lower) == pytest.approx(alone.upper - alone.lower)
        assert (cause.hits, cause.rows) == (4, 8)


def test_the_worst_groups_come_first(release):
    """An average has the shares of its sum; groups 15 to 19 hold the fifties."""
    found = causes(release, "SELECT avg(pay) FROM release WHERE sex = 'F'", most=5)
    assert {cause.group for cause in found.worst} == {15, 16, 17, 18, 19}
    assert [cause.share for cause in found.worst] == sorted((cause.share for cause in found.worst), reverse=True)
    assert (found.hit, found.open) == (20, 20)


def test_groups_that_are_hit_whole_leave_nothing_open(release):
    """Ages 20 to 24 take two groups whole and half of a third."""
    found = causes(release, "SELECT sum(pay) FROM release WHERE age <= 24")
    assert (found.hit, found.open) == (3, 1)
    assert [(cause.group, cause.hits, cause.share) for cause in found.worst] == [(2, 4.0, 1.0)]


def test_keys_do_not_split_a_group(release):
    """A group's share counts all cells of a GROUP BY."""
    found = causes(release, "SELECT sex, sum(pay) FROM release GROUP BY sex", most=100)
    assert len(found.worst) == 20
    assert all(cause.hits == cause.rows == 8 for cause in found.worst)


@pytest.mark.parametrize("keys", ["1", "ALL", "band"])
def test_places_and_names_of_results_are_what_is_grouped_by(release, keys):
    """GROUP BY 1 was read as the number of the group, so that nothing seemed to be open."""
    plain = "SELECT {key} AS band, avg(pay) AS m FROM release WHERE age < 50 GROUP BY {group}"
    for key in ("sex", "age % 3"):
        expected = causes(release, plain.format(key=key, group=key))
        assert expected.open
        assert causes(release, plain.format(key=key, group=keys)) == expected


def test_questions_with_others_inside_are_not_explained(release):
    """The reason is said."""
    with pytest.raises(QueryError, match="with another one inside"):
        causes(release, "SELECT avg(pay) AS m FROM (SELECT pay FROM release WHERE age < 50)")


def test_exact_answers_have_no_causes(release):
    """COUNT(*) leaves nothing open."""
    assert causes(release, "SELECT count(*) FROM release WHERE sex = 'F'").worst == ()


def test_relative_width_is_the_median_of_the_widest_aggregate():
    """Zeros and NULLs have no relative width."""
    columns = {"x": [10.0, -10.0, 0.0, None], "x_lower": [9.0, -12.0, 0.0, None], "x_upper": [10.0, -9.0, 1.0, None]}
    exact = {"n": [3] * 4, "n_lower": [3] * 4, "n_upper": [3] * 4}
    assert relative_width(pa.table(columns | exact)) == pytest.approx(0.2)
    assert relative_width(pa.table({"x": [0], "x_lower": [0], "x_upper": [0]})) is None


def test_the_best_part_of_a_range_keeps_its_promise(release):
    """Asking what is advised gives the width that was told, and no half or tenth is better."""
    question = "SELECT avg(pay) FROM release WHERE age BETWEEN 40 AND 59 AND sex = 'F'"
    narrower, wider = best_moves(release, connect(release), question)
    assert (narrower.column, wider.column) == ("age", "age")
    for move in (narrower, wider):
        again = question.replace("40 AND 59", f"{move.low} AND {move.high}")
        answer, before = ask(release, again), ask(release, question)
        assert move.after == pytest.approx((answer.upper - answer.lower) / answer.expected)
        assert move.before == pytest.approx((before.upper - before.lower) / before.expected)
        assert 0 < move.saved_share <= 1
    assert 40 <= narrower.low <= narrower.high < 50
    assert (wider.low, wider.high) == (20, 59)


def test_there_is_no_advice_without_a_range_or_for_exact_answers(release):
    """And a range of the sensitive column is not moved: it is what is asked about."""
    session = connect(release)
    assert best_moves(release, session, "SELECT avg(pay) FROM release WHERE sex = 'F'") == (None, None)
    assert best_moves(release, session, "SELECT count(*) FROM release WHERE age > 30") == (None, None)
    assert best_moves(release, session, "SELECT count(*) FROM release WHERE pay > 1100 AND sex = 'F'") == (None, None)


def test_a_separated_release_has_causes_too(release):
    """Two tables that share group numbers are asked as one."""
    from dataclasses import replace

    table = release.tables["release"]
    halves = {"quasi": table.drop_columns(["pay"]), "sensitive": table.select(["pay", "group"])}
    apart = replace(release, form=SEPARATED, tables=halves)
    question = "SELECT avg(pay) FROM release WHERE sex = 'F'"
    assert causes(apart, question) == causes(release, question)


def test_ranges_that_are_no_better_are_not_advised():
    """Where every group holds people of all ages, a part of them leaves more open than all."""
    ages, pays = [20 + row // 4 for row in range(160)], [1000 + row * 7 % 160 for row in range(160)]
    mixed = release_of({"age": ages, "pay": pays}, [row % 20 for row in range(160)], sensitive="pay")
    session = connect(mixed)
    narrower, wider = best_moves(mixed, session, "SELECT avg(pay) FROM release WHERE age BETWEEN 20 AND 58")
    assert narrower is None
    assert (wider.low, wider.high, wider.after) == (20, 59, 0)


def test_ranges_of_whole_boxes_are_tried():
    """Boxes of five years: a range that begins and ends with them answers a count exactly."""
    columns = {"age": list(range(20, 60)), "pay": list(range(40))}
    release = as_generalized(release_of(columns, [row // 5 for row in range(40)], sensitive="pay"))
    question = "SELECT count(*) FROM release WHERE age BETWEEN 23 AND 46"
    narrower, wider = best_moves(release, connect(release), question)
    assert (narrower.low, narrower.high, narrower.after) == (25, 44, 0)
    assert (wider.low, wider.high, wider.after) == (20, 49, 0)
    one_sided, around = best_moves(release, connect(release), "SELECT sum(pay) FROM release WHERE age > 51")
    assert (one_sided.low, one_sided.high) == (55, 59)
    assert (around.low, around.high) == (50, 59)
