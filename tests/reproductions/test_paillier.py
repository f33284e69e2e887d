"""Paillier: sums of packed signed numbers come out right, and weak keys are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers_entropy import ScriptedEntropy
from reproductions.paillier import LARGEST, PaillierSum, PrivateKey, PublicKey, pack, unpack
from sfumato.errors import MethodError

KEY = PrivateKey.new(2048)
ENTROPY = ScriptedEntropy(1)
VALUES = st.lists(st.integers(1 - LARGEST, LARGEST - 1), max_size=100)


@given(VALUES, st.integers(1, 60))
def test_packed_numbers_come_out_as_they_went_in(values, slots):
    vector = np.array(values, dtype=np.int64)
    assert unpack(list(pack(vector, slots)), slots, len(vector)).tolist() == values


@given(st.lists(st.tuples(*[st.integers(1 - LARGEST, LARGEST - 1)] * 3), min_size=1, max_size=60))
def test_sums_of_packed_numbers_are_packed_sums(rows):
    columns = np.array(rows, dtype=np.int64).T
    packed = [sum(one) for one in zip(*(pack(column, 42) for column in columns), strict=True)]
    assert unpack(packed, 42, len(rows)).tolist() == columns.sum(axis=0).tolist()


@settings(max_examples=2, deadline=None)
@given(st.integers(-(1 << 1900), 1 << 1900), st.integers(-(1 << 100), 1 << 100))
def test_ciphertexts_add_and_scale(message, other):
    public = KEY.public
    first, second = public.encrypt(message, ENTROPY), public.encrypt(other, ENTROPY)
    assert KEY.decrypt(first) == message
    assert KEY.decrypt(public.add(first, second)) == message + other
    assert KEY.decrypt(public.scale(first, -1)) == -message
    assert public.encrypt(message, ENTROPY) != first
    assert first.bit_length() <= 8 * public.ciphertext_bytes


@pytest.mark.parametrize("kept", [0, 2])
def test_the_sum_has_all_counts_and_one_share_of_noise(kept):
    rng = np.random.default_rng(kept)
    counts = [rng.integers(0, 1 << 30, 50) for _ in range(3)]
    noises = [rng.integers(-(1 << 30), 1 << 30, 50) for _ in range(3)]
    add = PaillierSum(2048, ENTROPY)
    assert (add(counts, noises, kept) == sum(counts) + noises[kept]).all()
    # 50 numbers need two ciphertexts from each party; the indicator has one for each.
    assert add.sent == 512 * (3 + 3 * 2)


def test_short_keys_and_long_numbers_are_refused():
    for bits in (512, 1024, 2047):
        with pytest.raises(MethodError, match="2048 or more"):
            PaillierSum(bits)
    with pytest.raises(MethodError, match="2048 or more"):
        PublicKey((1 << 1024) - 1)
    with pytest.raises(MethodError, match="2048 or more"):
        _ = PrivateKey(KEY.p, 65537).public
    with pytest.raises(MethodError, match="too large for a slot"):
        list(pack(np.array([3, -LARGEST]), 42))


def test_a_private_key_is_not_printed():
    assert str(KEY.p) not in repr(KEY)
