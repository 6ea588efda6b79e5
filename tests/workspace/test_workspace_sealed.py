"""Sealed objects: any single damage shows, and any value comes back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from manusfs.workspace.sealed import SEAL_BYTES, dumps, seal, unseal

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=4), inner, max_size=3)
    ),
)


@given(VALUES)
def test_any_value_comes_back_and_is_utf8(value: Any) -> None:
    raw = seal(b'"v":' + dumps(value))
    raw.decode("utf-8")
    found = unseal(raw)
    assert found is not None
    assert found["v"] == value
    assert raw[-SEAL_BYTES:].startswith(b'"crc":"')
    assert list(json.loads(raw)) == ["v", "crc"]


@given(VALUES, st.integers(0, 10**6), st.integers(0, 7))
def test_a_flipped_bit_shows(value: Any, at: int, bit: int) -> None:
    raw = bytearray(seal(b'"v":' + dumps(value)))
    raw[at % len(raw)] ^= 1 << bit
    # The seal's own hex digits may change case and mean the same.
    found = unseal(bytes(raw))
    assert found is None or found["v"] == value


@given(st.binary(max_size=60))
def test_other_bytes_are_no_object(raw: bytes) -> None:
    assert unseal(raw) is None


def test_a_seal_over_what_is_no_object_is_none() -> None:
    assert unseal(seal(b"[")) is None
    assert unseal(seal(b'"v":' + b"[" * 100_000)) is None
