"""Sectors: numbers worked out by hand and a set in plain Python; test_bank.py has the H200's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smemkit

LANE = np.arange(32)
ALL = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("addresses", "width", "sectors"),
    [
        (4 * LANE, 4, 4),
        (4 * LANE + 4, 4, 5),
        (0 * LANE, 4, 1),
        (8 * LANE, 4, 8),
        (32 * LANE, 4, 32),
        (4096 * LANE, 4, 32),
        (4 * (31 - LANE), 4, 4),
        (LANE, 1, 1),
        (LANE + 1, 1, 2),
        (2 * LANE, 2, 2),
        (8 * LANE, 8, 8),
        (16 * LANE, 16, 16),
        (16 * LANE + 16, 16, 17),
        ((1 << 40) * (LANE % 2), 4, 2),
        ((1 << 40) * (LANE % 7), 8, 7),
    ],
)
def test_by_hand(addresses, width, sectors):
    assert smemkit.sectors(addresses, width) == sectors
    assert type(smemkit.sectors(addresses, width)) is int


def test_masks():
    assert smemkit.sectors(4 * LANE, mask=0) == 0
    assert smemkit.sectors(4 * LANE, mask=1) == 1
    assert smemkit.sectors(4 * LANE, mask=0xFF) == 1
    assert smemkit.sectors(4 * LANE, mask=0x1FF) == 2
    assert smemkit.sectors(4 * LANE, mask=0x80000001) == 2
    assert smemkit.sectors([4 * LANE] * 3, mask=[0, 1, ALL]).tolist() == [0, 1, 4]


def test_the_whole_address_space():
    top = np.full(32, 2**64 - 64, np.uint64)
    top[1::2] = 0
    assert smemkit.sectors(top) == 2
    assert smemkit.sectors(top + np.uint64(32)) == 2


@st.composite
def accesses(draw):
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    base = draw(st.integers(0, 2**64 - 1 - (1 << 21))) // width
    window = draw(st.sampled_from([1, 9, 100, 3000, (1 << 20) // width]))
    offsets = draw(st.lists(st.integers(0, window), min_size=32, max_size=32))
    if draw(st.booleans()):
        offsets = [lane * (offsets[0] % 300) for lane in range(32)]
    if draw(st.booleans()):
        offsets.sort(reverse=draw(st.booleans()))
    addresses = [width * (base + offset) for offset in offsets]
    return addresses, width, draw(st.one_of(st.just(ALL), st.integers(0, ALL)))


@settings(max_examples=300, deadline=None)
@given(access=accesses())
def test_oracle(access):
    addresses, width, mask = access
    touched = set()
    for lane in range(32):
        if mask >> lane & 1:
            touched |= {(addresses[lane] + byte) // 32 for byte in range(width)}
    found = smemkit.sectors(np.array(addresses, np.uint64), width, mask=mask)
    assert found == len(touched)
