"""Codes of texts by a compiled loop, beside Arrow's dictionaries."""

import numpy as np
import pyarrow as pa
import pytest

import hedgerow.table.texts as module
from hedgerow.kernel import SMALL
from hedgerow.table.texts import code_texts

pytest.importorskip("numba")  # which makes the loop available

ROWS = 3 * SMALL
LIKE = "0123456789abcdef"
LONG = LIKE * 3
CASES = {
    "short": ["a", "b", "ab", "ba", "", "aa"],
    "signs of several bytes": ["Å", "A\u030a", "ß", "日本", "日本語", "\U0001f600", "a\x00", "a", "\x00"],
    "about eight bytes": [LIKE[:size] for size in range(1, 17)],
    "one byte apart, anywhere": [LONG, LONG + "x", *(LONG[:n] + "#" + LONG[n + 1 :] for n in range(48))],
    "same head, tail and length": ["12345678" + middle + "12345678" for middle in ("", "a", "b", "aa" * 9, "ab" * 9)],
    "one": ["all equal"],
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("offset", [0, 5])
def test_codes_are_those_of_a_dictionary(name, offset):
    """Equal texts share a code, others do not, wherever the array begins in its bytes."""
    drawn = np.random.default_rng(7).choice(CASES[name], ROWS).tolist()
    texts = pa.array(drawn, pa.string()).slice(offset)
    found = code_texts(texts)
    assert found is not None
    expected = texts.dictionary_encode()
    assert texts.take(pa.array(found[1])).to_pylist() == expected.dictionary.to_pylist()
    assert found[0].tolist() == expected.indices.to_pylist()


def test_texts_that_first_appear_in_the_last_bytes_have_codes_of_their_own():
    """Loads reach beyond a text, so that the last texts are looked at otherwise."""
    texts = pa.array(["abc"] * ROWS + ["d", "", "abc", "d"])
    codes, firsts = code_texts(texts)
    assert codes[-4:].tolist() == [1, 2, 0, 1]
    assert firsts.tolist() == [0, ROWS, ROWS + 1]


def test_it_leaves_other_columns_to_arrow():
    """Missing texts, too many different ones, many texts without bytes at the end, and short columns."""
    assert code_texts(pa.array(["a", None] * ROWS)) is None
    assert code_texts(pa.array([str(n) for n in range(ROWS)])) is None
    assert code_texts(pa.array(["a"] * ROWS + [""] * (module._LAST + 100))) is None
    assert code_texts(pa.array([""] * ROWS)) is None
    assert code_texts(pa.array(["a"] * SMALL)) is None


def test_the_plain_loop_gives_the_same_codes():
    """What is compiled and what Python runs agree."""
    texts = pa.array(np.random.default_rng(3).choice(CASES["one byte apart, anywhere"], ROWS).tolist())
    plain = pytest.MonkeyPatch()
    with plain.context() as patched, np.errstate(over="ignore"):
        patched.setattr(module, "_code", module._code.plain)
        expected = code_texts(texts)
    found = code_texts(texts)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tolist() == expected[1].tolist()
