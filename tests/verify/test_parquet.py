"""Files that a stranger wrote: every field of footers and page headers, at its borders, by an encoder of our own."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import BundleError
from hedgerow.verify import parquet
from hedgerow.verify.parquet import read_parquet, read_struct

# A structure is a list of fields (number, kind, value), as Thrift's compact protocol writes them.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, TEXT, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12


def varint(number):
    """Seven bits at a time, the lowest first."""
    head = b""
    while number > 127:
        head, number = head + bytes([number & 127 | 128]), number >> 7
    return head + bytes([number])


def zigzag(number):
    """Whole numbers with a sign."""
    return varint(2 * number if number >= 0 else -2 * number - 1)


def encode(fields, *, long=False):
    """A structure as bytes; `long` writes every field's number in full."""
    text, last = b"", 0
    for number, kind, value in fields:
        step = number - last
        text += bytes([kind]) + zigzag(number) if long or not 0 < step < 16 else bytes([step << 4 | kind])
        text += b"" if kind in (TRUE, FALSE) else encode_value(kind, value)
        last = number
    return text + b"\0"


def encode_value(kind, value):
    """One value."""
    if kind in (I16, I32, I64):
        return zigzag(value)
    if kind == STRUCT:
        return encode(value)
    if kind == TEXT:
        return varint(len(value)) + value
    if kind == LIST:
        inner, items = value
        head = bytes([len(items) << 4 | inner]) if len(items) < 15 else bytes([15 << 4 | inner]) + varint(len(items))
        single = {TRUE: lambda item: bytes([1 if item else 2]), FALSE: lambda item: bytes([1 if item else 2])}
        return head + b"".join(single.get(inner, lambda item: encode_value(inner, item))(item) for item in items)
    return bytes([value]) if kind == BYTE else value


def plain(fields):
    """What reading must give."""
    return {number: plain_value(kind, value) for number, kind, value in fields}


def plain_value(kind, value):
    """One value as reading gives it."""
    if kind in (TRUE, FALSE):
        return kind == TRUE
    if kind == LIST:
        return [item if value[0] in (TRUE, FALSE) else plain_value(value[0], item) for item in value[1]]
    return plain(value) if kind == STRUCT else value


SINGLE = {
    BYTE: st.integers(0, 255),
    I32: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.binary(min_size=8, max_size=8),
    TEXT: st.binary(max_size=20),
}


def fields_of(values):
    """Structures whose fields hold these kinds and values, under growing numbers."""
    steps = st.tuples(st.integers(1, 20), values)
    return st.lists(steps, max_size=5).map(
        lambda found: [(sum(s for s, _ in found[: n + 1]), *value) for n, (_, value) in enumerate(found)]
    )


one = st.one_of(
    st.sampled_from([(TRUE, True), (FALSE, False)]),
    *(values.map(lambda value, kind=kind: (kind, value)) for kind, values in SINGLE.items()),
    *(
        st.lists(values, max_size=17).map(lambda items, kind=kind: (LIST, (kind, items)))
        for kind, values in SINGLE.items()
    ),
    st.lists(st.booleans(), max_size=16).map(lambda items: (LIST, (TRUE, items))),
)
structs = st.recursive(
    fields_of(one), lambda inner: fields_of(st.one_of(one, inner.map(lambda fields: (STRUCT, fields)))), max_leaves=6
)


@given(structs, st.booleans(), st.binary(max_size=3), st.binary(max_size=3))
def test_structures_are_read_as_they_were_written(fields, long, before, behind):
    """Every kind, in short and in long form, wherever it begins; the place behind it is returned."""
    text = encode(fields, long=long)
    assert read_struct(before + text + behind, len(before)) == (plain(fields), len(before) + len(text))


@given(structs)
def test_structures_that_end_too_early(fields):
    """No beginning of a structure is one."""
    text = encode(fields)
    for end in range(len(text)):
        with pytest.raises(ValueError, match=r"too early|longer than the file"):
            read_struct(text[:end], 0)


def nested(depth, kind):
    """Structures inside each other, or inside lists."""
    text = b"\0"
    for _ in range(depth):
        text = bytes([1 << 4 | STRUCT]) + text + b"\0" if kind == STRUCT else b"\x19\x1c" + text + b"\0"
    return text


def test_depth():
    """Sixteen structures inside one, of which a list counts as one more; none deeper."""
    read_struct(nested(16, STRUCT), 0)
    with pytest.raises(ValueError, match="nested too deep"):
        read_struct(nested(17, STRUCT), 0)
    read_struct(nested(8, LIST), 0)
    with pytest.raises(ValueError, match="nested too deep"):
        read_struct(nested(9, LIST), 0)
    read_struct(b"\x19" * 17 + b"\x0c\0", 0)
    for lists in (18, 100, 50_000):  # the last once ended in a RecursionError
        with pytest.raises(ValueError, match="nested too deep"):
            read_struct(b"\x19" * lists + b"\x0c\0", 0)


def test_the_number_of_values(monkeypatch):
    """Five million structures in fifteen megabytes took more than a gigabyte."""
    size, entry = 5_000_000, b"\x15\0\0"
    with pytest.raises(ValueError, match="too many values"):
        read_struct(b"\x19\xfc\xc0\x96\xb1\x02" + entry * size + b"\0", 0)
    monkeypatch.setattr(parquet, "_MOST_VALUES", 7)
    three = encode([(1, LIST, (STRUCT, [[(1, I32, 0)]] * 3))])
    assert read_struct(three, 0)[0] == {1: [{1: 0}] * 3}
    with pytest.raises(ValueError, match="too many values"):
        read_struct(three[:-1] + b"\x11\0", 0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (encode([(1, I32, 5)])[:-1] + b"\x05\x02\x0a\0", "comes twice"),
        (b"\x1a\0", "does not use"),
        (b"\x1b\0", "does not use"),
        (b"\x1d\0\0", "does not use"),
        (b"\x18\x05abcd", "longer than the file"),
        (b"\x19\x35\x02\x04", "longer than the file"),
        (b"\x19\xf5\x04\x02\x02\x02", "longer than the file"),
        (b"\x15" + b"\xff" * 10 + b"\x01\0", "too long"),
        (b"\x15" + b"\x80" * 10 + b"\x01\0", "too long"),
    ],
)
def test_structures_that_are_refused(text, reason):
    """By the reason."""
    with pytest.raises(ValueError, match=reason):
        read_struct(text, 0)


def test_the_longest_that_is_read():
    """Nine bytes that go on, a text and a list up to the last byte but one."""
    assert read_struct(b"\x15" + b"\xff" * 9 + b"\x01\0", 0) == ({1: -(2**63)}, 12)
    assert read_struct(b"\x18\x04abcd\0", 0) == ({1: b"abcd"}, 7)
    assert read_struct(b"\x19\x35\x02\x04\x06\0", 0) == ({1: [1, 2, 3]}, 6)
    assert read_struct(b"\x19\x31\x01\x02\x01\0", 0) == ({1: [True, False, True]}, 6)
    assert read_struct(b"\x19\x12\x01\0", 0) == ({1: [True]}, 4)


# --- a whole file -----------------------------------------------------------------------------------------------------

WRITER = b"parquet-cpp-arrow version 20.0.0"


class File:
    """Two columns, one with a dictionary, in two parts of three and two rows; every field can be changed."""

    def __init__(self):
        self.body, self.groups = b"PAR1", []
        for rows in (3, 2):
            self.groups.append(
                [self.chunk(2, b"a", rows, dictionary=2), self.chunk(6, b"b", rows)],
            )
        self.rows, self.group_rows, self.writer, self.more, self.of_parts = 5, [3, 2], WRITER, [], []
        self.version = 2
        self.columns = [{1: 2, 3: 0, 4: b"a"}, {1: 6, 3: 1, 4: b"b"}]
        self.root = {3: 0, 4: b"schema", 5: 2}

    def page(self, kind, values, *, unpacked=8, packed=8, header=None):
        """A page and its header."""
        inside = 5 if kind == 0 else 7
        fields = header or [(1, I32, kind), (2, I32, unpacked), (3, I32, packed), (inside, STRUCT, [(1, I32, values)])]
        self.body += encode(fields) + b"x" * max(packed, 0)
        self.unpacked += len(encode(fields)) + unpacked

    def chunk(self, kind, name, rows, *, dictionary=None, pages=None):
        """A column of a part, with the pages behind what was written."""
        start, self.unpacked = len(self.body), 0
        if dictionary is not None:
            self.page(2, dictionary)
        data = len(self.body)
        for page in pages or [{"values": rows}]:
            self.page(
                page.get("kind", 0), page["values"], **{k: v for k, v in page.items() if k not in ("kind", "values")}
            )
        about = {
            1: kind,
            2: [0, 2, 3, 8],
            3: [name],
            4: 1,
            5: rows,
            6: self.unpacked,
            7: len(self.body) - start,
            9: data,
        }
        return {2: 0, 3: about | ({11: start} if dictionary is not None else {})}

    def footer(self):
        """Its fields."""
        groups = [
            [
                (1, LIST, (STRUCT, [coded(chunk, OF_CHUNKS) for chunk in chunks])),
                (2, I64, sum(chunk[3].get(6, 0) for chunk in chunks)),
                (3, I64, rows),
                *self.of_parts,
            ]
            for chunks, rows in zip(self.groups, self.group_rows, strict=True)
        ]
        schema = [coded(one, dict.fromkeys(range(100), I32)) for one in (self.root, *self.columns)]
        footer = [(1, I32, self.version), (2, LIST, (STRUCT, schema)), (3, I64, self.rows), (4, LIST, (STRUCT, groups))]
        return [*footer, (6, TEXT, self.writer), *self.more]

    def content(self, size=None, footer=None):
        """The bytes."""
        text = encode(self.footer() if footer is None else footer)
        size = len(text) if size is None else size
        return self.body + text + size.to_bytes(4, "little") + b"PAR1"

    def check(self):
        """The sizes of the pages; raises ValueError."""
        content = self.content()
        return parquet._checked_pages(content, parquet._checked_footer(content))[0]


OF_CHUNKS = {1: I32, 4: I32}
"""Numbers of 32 bits; others have 64."""


def coded(values, kinds):
    """A structure of whole numbers of these kinds, texts, lists and structures."""
    found = []
    for number, value in sorted(values.items()):
        if isinstance(value, dict):
            found.append((number, STRUCT, coded(value, kinds)))
        elif isinstance(value, list):
            found.append((number, LIST, (TEXT if isinstance(value[0], bytes) else I32, value)))
        else:
            found.append((number, TEXT if isinstance(value, bytes) else kinds.get(number, I64), value))
    return found


def test_a_file_of_our_own_is_read():
    """All pages, the dictionaries among them."""
    assert File().check() == [8, 8, 8] * 2


def about(file, group=1, column=1):
    """What a footer says of a column of a part."""
    return file.groups[group][column][3]


def put(target, key, value):
    """Set a key; None takes it out."""
    if value is None:
        del target[key]
    else:
        target[key] = value


EDITS = {
    "rows": [(lambda file, by: setattr(file, "rows", 5 + by), "add up")],
    "rows of a part": [
        (lambda file, by: file.group_rows.__setitem__(0, 3 + by), "another one"),
        (lambda file, by: file.groups.pop(), "add up"),
    ],
    "number of columns": [(lambda file, by: put(file.root, 5, 2 + by), "nested")],
    "type of a column": [
        (lambda file, by: put(about(file), 1, 6 + by), "another one"),
        (lambda file, by: put(about(file, 0, 0), 1, 2 + by), "another one"),
    ],
    "values of a column": [
        (lambda file, by: put(about(file), 5, 2 + by), "another one"),
        (lambda file, by: put(about(file, 0, 0), 5, 3 + by), "another one"),
    ],
    "bytes of a column": [
        (lambda file, by: put(about(file), 7, about(file)[7] + by), "belong to no column|outside"),
    ],
    "its first page": [
        (lambda file, by: put(about(file), 9, about(file)[9] + by), "fill|outside|kind|page|twice|early|text|number"),
    ],
}


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize("what", EDITS)
def test_one_more_and_one_less(what, by):
    """Every number of a footer is the true one."""
    for edit, reason in EDITS[what]:
        file = File()
        edit(file, by)
        if what == "rows of a part" and file.groups[1:] == []:
            file.group_rows.pop()
        with pytest.raises((ValueError, KeyError), match=reason if what != "its first page" else None):
            file.check()


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        *[(lambda f, n=n: put(about(f), n, 1), "metadata") for n in (8, 10, 14, 15, 17, 18, 99)],
        *[(lambda f, n=n: put(f.columns[1], n, 1), "metadata") for n in (9, 11, 99)],
        *[(lambda f, n=n: put(f.root, n, 1), "nested") for n in (1, 2, 6)],
        *[(lambda f, n=n: put(f.root, n, 1), "metadata") for n in (9, 10, 99)],
        *[(lambda f, n=n: put(f.groups[0][1], n, 1), "metadata") for n in (1, 4, 5, 6, 7, 8, 9)],
        *[(lambda f, n=n: f.more.append((n, I32, 1)), "metadata") for n in (8, 9)],
        (lambda f: setattr(f, "version", 3), "another program"),
        (lambda f: put(f.root, 3, 1), "nested"),
        (lambda f: put(f.root, 4, b"anything"), "nested"),
        (lambda f: f.more.append((7, LIST, (STRUCT, [[(1, STRUCT, [])]]))), "other orders"),
        (lambda f: f.more.append((7, LIST, (STRUCT, [[(1, STRUCT, [(1, TEXT, b"anything")])]] * 2))), "metadata"),
        (lambda f: put(f.groups[0][1], 2, 5), "elsewhere"),
        (lambda f: setattr(f, "writer", b"other version 1"), "another program"),
        (lambda f: setattr(f, "writer", WRITER + b"x"), "another program"),
        (lambda f: setattr(f, "writer", b"parquet-cpp-arrow version " + b"1" * 21), "another program"),
        (lambda f: put(f.root, 1, 2), "nested"),
        (lambda f: put(f.root, 5, 1), "nested"),
        *[(lambda f, n=n: put(f.columns[0], 1, n), "nested") for n in (3, 4)],
        (lambda f: put(f.columns[0], 3, 2), "nested"),
        (lambda f: put(f.columns[1], 5, 1), "nested"),
        (lambda f: f.groups[1].pop(), "other columns"),
        (lambda f: put(about(f), 3, [b"c"]), "another one"),
        (lambda f: put(about(f), 3, [b"b", b"b"]), "another one"),
        *[(lambda f, n=n: put(about(f), 4, n), "compression") for n in (2, 3, 4, 5, 7)],
        (lambda f: put(about(f), 9, 3), "outside"),
        (lambda f: put(about(f), 7, -1), "outside"),
        (lambda f: put(about(f), 7, about(f)[7] + 1), "outside"),
        (lambda f: (f.groups.append(f.groups[1]), f.group_rows.append(0)), "another one"),
    ],
)
def test_what_our_writer_does_not_write(edit, reason):
    """Each field that would mean something else is refused by its reason."""
    file = File()
    edit(file)
    with pytest.raises(ValueError, match=reason):
        parquet._checked_footer(file.content())


@pytest.mark.parametrize(
    "edit",
    [
        lambda f: f.more.append((7, LIST, (STRUCT, []))),
        lambda f: setattr(f, "writer", b"parquet-cpp-arrow version 26.0.0-SNAPSHOT"),
        lambda f: setattr(f, "writer", b"parquet-cpp-arrow version " + b"1" * 20),
        *[lambda f, n=n: put(about(f), 4, n) for n in (0, 6)],
        *[
            lambda f, n=n: (put(about(f), 1, n), put(about(f, 0), 1, n), put(f.columns[1], 1, n))
            for n in (0, 1, 2, 5, 7)
        ],
        lambda f: put(f.columns[0], 3, 1),
        lambda f: put(f.columns[1], 5, 0),
    ],
)
def test_what_it_does_write(edit):
    """Fields that may be otherwise."""
    file = File()
    edit(file)
    assert file.check() == [8, 8, 8] * 2


@pytest.mark.parametrize("number", [4, 8, 9, 10, 99])
def test_what_is_not_said_of_a_part(number):
    """That it is sorted, and whatever comes later."""
    file = File()
    file.of_parts.append((number, I64, 1))
    with pytest.raises(ValueError, match="metadata"):
        parquet._checked_footer(file.content())


@pytest.mark.parametrize(
    ("number", "true", "reason"), [(5, 4, "elsewhere"), (6, None, "elsewhere"), (7, 0, "one after the other|too long")]
)
def test_what_is_said_of_a_part(number, true, reason):
    """Where it lies, how long it is, and its number; workers that share a file read the parts that lie in theirs."""
    file = with_pages([{"values": 2}])
    true = about(file, 0, 0)[7] if true is None else true
    for by in (0, 1, -1, 2**40):
        file.of_parts = [(number, I16 if number == 7 else I64, true + by)]
        if by == 0:
            assert file.check() == [8]
        else:
            with pytest.raises(ValueError, match=reason):
                file.check()


def in_other_kinds(kind, value):
    """A value with one whole number in it after the other written in another kind, or beyond those of its own."""
    if kind in (I16, I32, I64):
        yield from ((other, value) for other in (BYTE, I16, I32, I64) if other != kind)
        yield from ((kind, value + by) for by in (2**64, 2**32) if (kind, by) != (I64, 2**32))
    elif kind == LIST:
        inner, items = value
        for place, item in enumerate(items):
            for other, changed in in_other_kinds(inner, item):
                if other == inner or len(items) == 1:
                    yield LIST, (other, [*items[:place], changed, *items[place + 1 :]])
    elif kind == STRUCT:
        for place, (number, inner, item) in enumerate(value):
            for other, changed in in_other_kinds(inner, item):
                yield STRUCT, [*value[:place], (number, other, changed), *value[place + 1 :]]


def test_numbers_have_the_kinds_of_the_format():
    """A reader that skips one of another kind takes gaps for values: salaries of 7 and 9 were eight different ones."""
    file = File()
    file.of_parts = [(7, I16, 0)]
    file.groups, file.group_rows, file.rows = file.groups[:1], [3], 3
    file.body = file.body[: about(file, 0, 1)[9] + about(file, 0, 1)[7]]
    about(file, 0)[12], about(file, 0)[16] = {3: 0}, {}
    assert file.check() == [8, 8, 8]
    tried = 0
    for _, footer in in_other_kinds(STRUCT, file.footer()):
        content = file.content(footer=footer)
        with pytest.raises(ValueError, match=r"of another kind|too long"):
            parquet._checked_footer(content)
        tried += 1
    assert tried > 100


@pytest.mark.parametrize("kind", [0, 2])
def test_numbers_of_pages_have_the_kinds_of_the_format(kind):
    """In the same way, in the header of a page; and no dictionary says that it is sorted."""
    inside = [(1, I32, 2), (2, I32, 0), *([(3, I32, 3), (4, I32, 3), (5, STRUCT, [(3, I64, 0)])] if kind == 0 else [])]
    header = [(1, I32, kind), (2, I32, 8), (3, I32, 8), (7 if kind else 5, STRUCT, inside)]
    others = [{"values": 2}] if kind else []
    assert with_pages([{"values": 2, "kind": kind, "header": header}, *others]).check() == [8] * (1 + len(others))
    for _, other in in_other_kinds(STRUCT, header):
        with pytest.raises(ValueError, match=r"of another kind|too long"):
            with_pages([{"values": 2, "kind": kind, "header": other}, *others]).check()
    if kind:
        for more, reason in (((3, TRUE, True), "sorted"), ((4, TEXT, b"anything"), "metadata")):
            header[3] = (7, STRUCT, [*inside, more])
            with pytest.raises(ValueError, match=reason):
                with_pages([{"values": 2, "kind": kind, "header": header}, *others]).check()


@pytest.mark.parametrize("number", [2, 6, 7, 8, 10])
def test_what_may_be_said_of_a_column(number):
    """Lengths, names of types and kinds of values are Arrow's to read."""
    file = File()
    put(file.columns[1], number, {1: {}} if number == 10 else 1)
    assert file.check() == [8, 8, 8] * 2


@pytest.mark.parametrize("number", [12, 16])
def test_what_may_be_said_of_a_column_of_a_part(number):
    """Statistics, which are compared with the values where they are decoded."""
    file = File()
    put(about(file), number, {3: 1} if number == 12 else {})
    assert file.check() == [8, 8, 8] * 2


def test_sizes_are_those_of_the_values():
    """How long all texts are, and how many cells are gaps."""
    table = pa.table({"t": ["a\u00e9", None, "a\u00e9", "b"], "n": [1, 2, None, None]})
    content = written(table)
    assert read_parquet("x", content, rows=4).equals(table)
    for true in ([1, 7, 3, [1, 3]], [3, [2, 2]]):
        text = b"".join(encode_sizes(true))
        assert content.count(text) == 1
        for place, other in ((-1, [0, 4]), (-1, [3, 1]), (1, 8)):
            lie = [*true]
            lie[place] = other
            if lie != true and (place == -1 or true[0] == 1):
                with pytest.raises(BundleError, match="not a readable"):
                    read_parquet("x", content.replace(text, b"".join(encode_sizes(lie))), rows=4)


def encode_sizes(said):
    """As Arrow writes them: the length of all texts, levels of repetition, levels of gaps."""
    numbers = said[-1]
    length = [(1, I64, said[1])] if len(said) > 2 else []
    yield encode([*length, (2, LIST, (I64, [])), (3, LIST, (I64, numbers))])


def test_codings_and_sizes_are_those_of_the_pages():
    """Readers skip a part by its dictionary where no page seems to be of another coding."""
    file = File()
    for size in (-1, 1):
        put(about(file), 6, about(file)[6] + size)
        with pytest.raises(ValueError, match="another size than its pages"):
            file.check()
        put(about(file), 6, about(file)[6] - size)
    put(about(file), 2, [3, 8])
    with pytest.raises(ValueError, match="codings that it does not list"):
        file.check()


@pytest.mark.parametrize(
    "lie",
    [
        lambda group: group.update({6: 2**40}),
        lambda group: group.update({5: 2**40}),
        lambda group: group.update({2: 0}),
        lambda group: group[1][0][3].update({6: 1}),
        lambda group: group[1][0][3].update({2: [3, 8]}),
        lambda group: group[1][0][3].update({13: group[1][0][3][13][:1]}),
        lambda group: group[1][0][3][13][0].update({3: 2}),
    ],
)
def test_a_footer_of_arrows_with_one_lie(lie):
    """By the first, readers that divide a file by the places of its parts find none of the rows in theirs."""
    table = pa.table({"a": [*range(3_000)] * 2})
    content = written(table, dictionary_pagesize_limit=5_000)
    assert read_parquet("x", content, rows=6_000).equals(table)
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = read_struct(content, start)[0]
    parquet._checked_pages(content, footer)
    lie(footer[4][0])
    with pytest.raises(ValueError, match=r"size|elsewhere|list"):
        parquet._checked_pages(content, footer)


def with_pages(pages, *, rows=2, dictionary=None):
    """A file of one column of one part with these pages."""
    file = File()
    file.body = b"PAR1"
    file.groups, file.group_rows, file.rows = [[]], [rows], rows
    file.groups[0].append(file.chunk(2, b"a", rows, dictionary=dictionary, pages=pages))
    file.columns, file.root = [{1: 2, 3: 0, 4: b"a"}], {3: 0, 4: b"schema", 5: 1}
    return file


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ([{"values": 1}], "do not fill"),
        ([{"values": 3}], "do not fill"),
        ([{"values": 1}, {"values": 2}], "do not fill"),
        ([{"values": 2, "kind": 1}], None),
        ([{"values": 2, "kind": 3}], None),
        ([{"values": 2}, {"values": 1, "kind": 2}], "another kind"),
        ([{"values": 1, "kind": 2}, {"values": 1, "kind": 2}, {"values": 2}], "another kind"),
        ([{"values": 2, "unpacked": -1}], "too large"),
        ([{"values": 2, "packed": -1}], "too large"),
        ([{"values": 2, "unpacked": (64 << 20) + 1}], "too large"),
        ([{"values": -1}, {"values": 3}], "fewer than no"),
        ([{"values": 9, "kind": 2}, {"values": 2}], "more entries"),
        ([{"values": 2, "kind": 2, "unpacked": 0}, {"values": 2}], "more entries"),
    ],
)
def test_pages_that_are_refused(pages, reason):
    """They fill their column, a dictionary comes first, and none is too large."""
    with pytest.raises((ValueError, KeyError), match=reason):
        with_pages(pages).check()


@pytest.mark.parametrize("kind", [0, 2])
@pytest.mark.parametrize("number", [4, 6, 8, 9, 99])
def test_pages_carry_no_metadata(kind, number):
    """Neither the header of a page nor what it says of its values has a field that we do not write."""
    inside = [(1, I32, 2), (2, I32, 0), *([(3, I32, 3), (4, I32, 3), (5, STRUCT, [])] if kind == 0 else [])]
    for extra, told, fits in (([], [], True), ([(number, I32, 1)], [], False), ([], [(number + 2, I32, 1)], False)):
        fields = [(1, I32, kind), (2, I32, 8), (3, I32, 8), (7 if kind else 5, STRUCT, [*inside, *told]), *extra]
        header = sorted(fields, key=lambda field: field[0])
        pages = [{"values": 2, "kind": kind, "header": header}, *([{"values": 2}] if kind else [])]
        if fits:
            assert with_pages(pages).check() == [8] * len(pages)
        else:
            with pytest.raises(ValueError, match=r"metadata|number"):
                with_pages(pages).check()


def kinds(value):
    """A value that was read, with a kind for each."""
    if isinstance(value, dict):
        return STRUCT, [(number, *kinds(inner)) for number, inner in sorted(value.items())]
    if isinstance(value, list):
        inner = [kinds(item) for item in value]
        return LIST, (inner[0][0] if inner else I32, [item for _, item in inner])
    if isinstance(value, bool):
        return (TRUE if value else FALSE), value
    return (TEXT, value) if isinstance(value, bytes) else (I64, value)


def exchanged(value):
    """The same with one part after the other exchanged for something else."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from ({**value, key: other} for other in exchanged(inner))
    for inner in value[:1] if isinstance(value, list) else ():  # all items of a list are of one kind
        yield from ([other] * len(value) for other in exchanged(inner))
    yield from (other for other in (7, b"x", [], [7] * 9, {}, {1: 7}) if type(other) is not type(value))


def test_no_part_of_a_footer_is_taken_for_what_it_is_not(monkeypatch):
    """A number, a text, a list or a structure in the place of another is refused, or Arrow's to refuse."""
    content = written(pa.table({"a": [1, None], "b": ["x", "y"]}))
    size = int.from_bytes(content[-8:-4], "little")
    footer, _ = read_struct(content, len(content) - 8 - size)

    def refuse(*_, **__):
        raise pa.ArrowInvalid("none of ours")

    monkeypatch.setattr(parquet.pq, "ParquetFile", refuse)
    tried = 0
    for other in exchanged(footer):
        if isinstance(other, dict):
            text = encode(kinds(other)[1])
            forged = content[: -8 - size] + text + len(text).to_bytes(4, "little") + content[-4:]
            with pytest.raises(BundleError):
                read_parquet("x", forged, rows=2)
            tried += 1
    assert tried > 200


SIGNED = (10, STRUCT, [(10, STRUCT, [(1, BYTE, 64), (2, TRUE, True)])])
NAIVE = (10, STRUCT, [(8, STRUCT, [(1, FALSE, False), (2, STRUCT, [(2, STRUCT, [])])])])
TENTHS = (10, STRUCT, [(5, STRUCT, [(1, I32, 2), (2, I32, 10)])])
TYPED = {  # by column: its physical type, what is said of its type beside that, and what may be said instead
    "whole": (2, [], [[(6, I32, 5), (7, I32, 2), (8, I32, 18), SIGNED], [(6, I32, 10), SIGNED], [SIGNED]]),
    "number": (5, [], [[(7, I32, 2)], [(10, STRUCT, [(99, STRUCT, [])])]]),
    "text": (6, [(6, I32, 0), (10, STRUCT, [(1, STRUCT, [])])], [[(6, I32, 19), (10, STRUCT, [(1, STRUCT, [])])]]),
    "day": (1, [(6, I32, 6), (10, STRUCT, [(6, STRUCT, [])])], [[(6, I32, 17), (10, STRUCT, [(6, STRUCT, [])])]]),
    "time": (2, [(6, I32, 10), NAIVE], [[(6, I32, 9), NAIVE]]),
    "price": (
        7,
        [(6, I32, 5), (7, I32, 2), (8, I32, 10), TENTHS],
        [[(6, I32, 5), (7, I32, scale), (8, I32, digits), TENTHS] for scale, digits in ((0, 10), (1, 10), (2, 9))],
    ),
}
LIES = [(name, *TYPED[name][:2], lie) for name in TYPED for lie in TYPED[name][2]]


@pytest.mark.parametrize(("name", "physical", "said", "lie"), LIES)
def test_a_type_is_the_same_to_every_reader(name, physical, said, lie):
    """A footer says twice of which type a column is; where the two differ, DuckDB reads 1.00 for Arrow's 100."""
    values = {
        "whole": pa.array([100, 250]),
        "number": pa.array([1.5, 2.5]),
        "text": pa.array(["1", "2"]),
        "day": pa.array([1, 2], pa.int32()).cast(pa.date32()),
        "time": pa.array([1, 2]).cast(pa.timestamp("us")),
        "price": pa.array(["1.25", "2.50"]).cast(pa.decimal128(10, 2)),
    }
    table = pa.table({name: values[name]})
    content = written(table)
    assert read_parquet("x", content, rows=2).equals(table)
    length = [(2, I32, 5)] if name == "price" else []
    true, false = (
        encode([(1, I32, physical), *length, (3, I32, 1), (4, TEXT, name.encode()), *more]) for more in (said, lie)
    )
    assert content.count(true) == 1
    size = int.from_bytes(content[-8:-4], "little") + len(false) - len(true)
    forged = content.replace(true, false)[:-8] + size.to_bytes(4, "little") + b"PAR1"
    with pytest.raises(BundleError, match="not a readable"):
        read_parquet("x", forged, rows=2)


@pytest.mark.parametrize("digits", range(1, 39))
def test_decimals_of_every_length_are_read(digits):
    """Their bytes are as many as their digits need."""
    table = pa.table({"a": pa.array([None, "5"]).cast(pa.decimal128(digits, 0))})
    assert read_parquet("x", written(table), rows=2).equals(table)


@pytest.mark.parametrize("coding", ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"])
def test_codings(coding):
    """Values are plain or coded by a dictionary: another coding costs a reader more than its page says."""
    content = written(pa.table({"a": [1, 2]}), use_dictionary=False, column_encoding={"a": coding})
    if coding == "PLAIN":
        assert read_parquet("x", content, rows=2).num_rows == 2
    else:
        with pytest.raises(BundleError, match="not a readable"):
            read_parquet("x", content, rows=2)


@pytest.mark.parametrize(
    ("pages", "sizes"),
    [
        ([{"values": 1}, {"values": 1}], [8, 8]),
        ([{"values": 0}, {"values": 2}], [8, 8]),
        ([{"values": 8, "kind": 2}, {"values": 2}], [8, 8]),
        ([{"values": 1, "kind": 2, "unpacked": 0}, {"values": 2, "unpacked": 0, "packed": 0}], [0, 0]),
        ([{"values": 2, "unpacked": 64 << 20}], [64 << 20]),
    ],
)
def test_pages_that_are_read(pages, sizes):
    """At the borders."""
    assert with_pages(pages).check() == sizes


def test_files_without_rows():
    """A part without rows is one in a file without rows alone; it may have a dictionary and nothing else."""
    file = with_pages([{"values": 0}], rows=0)
    assert file.check() == [8]
    about(file, 0, 0).update({9: 0, 11: 4})
    assert file.check() == [8]
    file = with_pages([{"values": 0}], rows=0)
    file.groups.append([file.chunk(2, b"a", 0)])
    file.group_rows.append(0)
    assert file.check() == [8, 8]
    file = File()
    for chunk in file.groups[1]:
        chunk[3][5] = 0
    file.group_rows, file.rows = [3, 0], 3
    with pytest.raises(ValueError, match="a part has no rows"):
        parquet._checked_footer(file.content())


def test_no_byte_belongs_to_no_column():
    """Nothing can be hidden between columns, before the footer, or in bytes that two columns share."""
    for place in (4, about(File(), 0)[9], len(File().body)):
        file = File()
        file.body = file.body[:place] + b"x" + file.body[place:]
        for chunk in (chunk[3] for group in file.groups for chunk in group):
            for key in (9, 11):
                if chunk.get(key, 0) >= place:
                    chunk[key] += 1
        with pytest.raises(ValueError, match="belong to no column"):
            file.check()
    file = File()
    file.groups[1][1][3].update({key: file.groups[0][1][3][key] for key in (7, 9)})
    with pytest.raises(ValueError, match="belong to no column"):
        file.check()


def test_where_pages_begin():
    """At the dictionary or at the data, whichever comes first."""
    assert parquet._first_page({5: 1, 9: 30}) == 30
    assert parquet._first_page({5: 1, 9: 30, 11: 4}) == 4
    assert parquet._first_page({5: 1, 9: 30, 11: 40}) == 30
    assert parquet._first_page({5: 0, 9: 0, 11: 4}) == 4
    assert parquet._first_page({5: 1, 9: 0, 11: 4}) == 0
    assert parquet._first_page({5: 0, 9: 5, 11: 8}) == 5


def test_the_ends_of_a_file():
    """Marks at both ends, a footer inside, and no bytes beside it."""
    file = File()
    file.body, file.groups, file.group_rows, file.rows = b"PAR1", [], [], 0
    file.columns, file.root = [], {3: 0, 4: b"schema", 5: 0}
    content = file.content()
    parquet._checked_footer(content)
    for wrong in (b"PAR2" + content[4:], content[:-4] + b"PAR2", content[:4] + b"\0" + content[4:], b"PAR1" * 2, b""):
        with pytest.raises(ValueError, match=r"not a Parquet file|belong to no column"):
            parquet._checked_footer(wrong)
    size = len(content) - 12
    for other in (size - 1, size + 1, size + 8, 2**31):
        with pytest.raises((ValueError, OverflowError), match=None):
            parquet._checked_footer(file.content(other))
    with pytest.raises(ValueError, match="longer than the file"):
        parquet._checked_footer(file.content(size + 1))
    with pytest.raises(ValueError, match="not a Parquet file"):
        parquet._checked_footer(b"PAR1PAR1PAR"[:8])


def test_the_number_of_columns_is_limited(monkeypatch):
    """At the limit and beyond it."""
    monkeypatch.setattr(parquet, "_MOST_COLUMNS", 2)
    File().check()
    monkeypatch.setattr(parquet, "_MOST_COLUMNS", 1)
    with pytest.raises(ValueError, match="nested"):
        File().check()


# --- limits -----------------------------------------------------------------------------------------------------------


def written(table, **options):
    """A file as Arrow writes it."""
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False, **options)
    return sink.getvalue()


def least_limit(content, rows):
    """The least limit under which a file is read."""
    low, high = 0, 1 << 24
    while low < high:
        middle = (low + high) // 2
        try:
            read_parquet("x", content, rows=rows, max_bytes=middle)
            high = middle
        except BundleError:
            low = middle + 1
    with pytest.raises(BundleError, match=f"more than {low - 1:,} bytes"):
        read_parquet("x", content, rows=rows, max_bytes=low - 1)
    return low


def test_limits_are_exact():
    """Pages, cells and texts once they are written out: whichever is most."""
    numbers = written(pa.table({"a": pa.array(range(1000), pa.int64())}), use_dictionary=False, compression="none")
    pages = sum(parquet._checked_pages(numbers, parquet._checked_footer(numbers))[0])
    assert least_limit(numbers, 1000) == max(pages, 8000)
    cells = written(pa.table({"a": pa.array([7] * 1000, pa.int64()), "b": pa.array([True] * 1000)}))
    assert least_limit(cells, 1000) == 9000
    texts = written(pa.table({"a": ["x" * 100] * 1000, "b": ["y" * 10] * 999 + [None]}))
    assert least_limit(texts, 1000) == 109_990


def test_the_limit_that_holds_without_one(monkeypatch):
    """So many times the file, between a floor and a ceiling."""
    content = written(pa.table({"a": ["x" * 1000] * 1000}))
    for floor, ceiling, limit in ((1, 1 << 30, 16 * len(content)), (90_000, 1 << 30, 90_000), (1, 20_000, 20_000)):
        monkeypatch.setattr(parquet, "_FLOOR", floor)
        monkeypatch.setattr(parquet, "_CEILING", ceiling)
        with pytest.raises(BundleError, match=f"more than {limit:,} bytes"):
            read_parquet("x", content, rows=1000)
    monkeypatch.setattr(parquet, "_FLOOR", 1 << 20)
    monkeypatch.setattr(parquet, "_CEILING", 1 << 20)
    assert read_parquet("x", content, rows=1000).num_rows == 1000


def test_small_files_are_decoded_once_by_their_very_bytes(monkeypatch):
    """Not by name or checksum; another number of rows, a lower limit or one other byte is looked at anew."""
    content = written(pa.table({"a": [1, 2]}))
    assert read_parquet("x", content, rows=2) is read_parquet("x", bytes(bytearray(content)), rows=2)
    for forged, rows, limit in ((content, 3, None), (content, 2, 1), (content[:-9] + b"!" + content[-8:], 2, None)):
        with pytest.raises(BundleError):
            read_parquet("x", forged, rows=rows, max_bytes=limit)
    monkeypatch.setattr(parquet, "_SMALL_TABLE", 15)  # below which two numbers are not
    parquet._read_small.cache_clear()
    assert read_parquet("x", content, rows=2) is not read_parquet("x", content, rows=2)
    monkeypatch.undo()
    large = written(pa.table({"a": ["x" * 1000] * 1000}))
    assert len(large) < parquet._SMALL_FILE
    assert read_parquet("x", large, rows=1000) is not read_parquet("x", large, rows=1000)


def test_types():
    """The bytes of a cell; none for a type that no release has."""
    sizes = {
        pa.string(): 5, pa.bool_(): 1, pa.int32(): 4, pa.date32(): 4, pa.int64(): 8, pa.float64(): 8,
        pa.timestamp("us"): 8, pa.decimal128(38, 2): 16, pa.int8(): 0, pa.large_string(): 0, pa.timestamp("ns"): 0,
        pa.decimal256(40, 2): 0, pa.float32(): 0, pa.binary(): 0,
    }  # fmt: skip
    assert {kind: parquet._width(kind) for kind in sizes} == sizes


@pytest.mark.parametrize("kind", [pa.float32(), pa.binary(), pa.uint8()])
def test_other_types_and_names_are_refused(kind):
    """One column of a wrong type beside a right one."""
    content = written(pa.table({"a": [1], "b": pa.array([None], kind)}))
    with pytest.raises(BundleError, match=r"x has a column of a type|not a readable"):
        read_parquet("x", content, rows=1)
    with pytest.raises(BundleError, match="two of one name"):
        read_parquet("x", written(pa.table([pa.array([1]), pa.array([1])], names=["a", "a"])), rows=1)


def test_the_number_of_rows_is_the_manifests():
    """One more or less is refused, no rows are read."""
    content = written(pa.table({"a": [1, 2]}))
    assert read_parquet("x", content, rows=2).to_pydict() == {"a": [1, 2]}
    for rows in (1, 3, None):
        with pytest.raises(BundleError, match="number of rows"):
            read_parquet("x", content, rows=rows)
    assert read_parquet("x", written(pa.table({"a": pa.array([], pa.string())})), rows=0).num_rows == 0
