"""The keyed hash is SipHash-2-4."""

import numpy as np
import pytest

from hedgerow.ledger.fingerprint import hash_texts, hash_words, key_of

KEY = key_of(bytes(range(16)))
# From the reference implementation: key 00 01 ... 0f, message 00 01 ... of each length.
VECTORS = {
    0: "310e0edd47db6f72",
    1: "fd67dc93c539f874",
    7: "37d1018bf50002ab",
    8: "6224939a79f5f593",
    15: "e545be4961ca29a1",
}


@pytest.mark.parametrize("length", VECTORS)
def test_the_published_vectors_come_out(length):
    """Messages of 0 to 15 bytes hash to what the reference implementation prints."""
    found = hash_texts(np.arange(length, dtype=np.uint8), np.array([0, length]), KEY)
    assert found.astype("<u8").tobytes().hex() == VECTORS[length]


def test_messages_of_many_lengths_hash_as_they_do_alone():
    """A message's hash does not depend on the messages beside it."""
    texts = [bytes(range(n)) for n in range(40)]
    offsets = np.append(0, np.cumsum([len(text) for text in texts]))
    together = hash_texts(np.frombuffer(b"".join(texts), np.uint8), offsets, KEY)
    alone = [hash_texts(np.frombuffer(text, np.uint8), np.array([0, len(text)]), KEY)[0] for text in texts]
    assert together.tolist() == alone
    assert len(set(alone)) == 40


def test_a_word_is_a_message_of_eight_bytes():
    """Hashing whole words agrees with hashing their bytes."""
    words = np.frombuffer(bytes(range(8)), "<u8").astype(np.uint64)
    assert hash_words(words, KEY).astype("<u8").tobytes().hex() == VECTORS[8]
