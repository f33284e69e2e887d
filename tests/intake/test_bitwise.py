"""Binary digits of codes, there and back."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.domain import Domain
from sfumato.data.records import Records
from sfumato.intake.bitwise import Bitwise

domains = st.lists(st.integers(1, 40), min_size=1, max_size=5).map(
    lambda sizes: Domain([(f"c{place}", size) for place, size in enumerate(sizes)])
)


def random_records(domain, rows, seed):
    rng = np.random.default_rng(seed)
    return Records(domain, [rng.integers(0, size, rows) for size in domain.shape])


@given(domains.filter(lambda domain: max(domain.shape) > 1), st.integers(0, 50))
def test_decoding_undoes_encoding(domain, rows):
    codec = Bitwise(domain)
    records = random_records(domain, rows, 1)
    bits = codec.encode(records)
    assert set(bits.domain.shape) == {2}
    back = codec.decode(bits)
    assert back.domain == domain
    assert all((back[name] == records[name]).all() for name in domain)


@given(domains.filter(lambda domain: max(domain.shape) > 1))
def test_every_string_of_digits_is_some_code_and_codes_that_exist_stay(domain):
    codec = Bitwise(domain)
    back = codec.decode(random_records(codec.domain, 200, 2))  # Records refuses codes beyond a column's size
    assert len(back) == 200
    again = codec.encode(back)
    assert all((codec.decode(again)[name] == back[name]).all() for name in domain)


def test_digits_of_a_code_that_does_not_exist_lose_the_first():
    codec = Bitwise(Domain({"race": 5}))
    spelled = Records(codec.domain, [np.array([1, 1, 1]), np.array([0, 0, 1]), np.array([0, 1, 1])])
    assert codec.decode(spelled)["race"].tolist() == [4, 1, 3]  # 100 exists; 101 and 111 become 01 and 11


def test_a_census_table_of_fifteen_columns_has_59_digits():
    sizes = [74, 9, 32, 16, 16, 7, 15, 6, 5, 2, 10, 6, 99, 42, 2]
    codec = Bitwise(Domain([(f"c{place}", size) for place, size in enumerate(sizes)]))
    assert len(codec.domain) == sum((size - 1).bit_length() for size in sizes) == 59
