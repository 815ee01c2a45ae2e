"""The header says exactly what went in, and refuses everything else."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitorch_dist.distributed.mail import wire

fingerprints = st.builds(
    wire.Fingerprint,
    operation=st.sampled_from(wire.OPERATIONS),
    dtype=st.sampled_from(wire.DTYPES),
    shape=st.none() | st.lists(st.integers(0, wire.MAX_EXTENT), max_size=64).map(tuple),
    reduce=st.sampled_from(wire.REDUCTIONS),
    root=st.integers(-1, 2**31 - 1),
)
headers = st.builds(
    wire.Header,
    group=st.integers(0, 2**64 - 1),
    sequence=st.integers(0, 2**64 - 1),
    step=st.integers(0, wire.MAX_TAG),
    fingerprint=fingerprints,
    site=st.text(max_size=100),
)


@given(headers)
def test_what_is_encoded_is_decoded(header: wire.Header) -> None:
    if any("\ud800" <= c <= "\udfff" for c in header.site):
        return
    encoded = wire.encode(header)
    assert len(encoded) <= wire.MAX_HEADER
    decoded = wire.decode(encoded)
    assert decoded == header
    assert str(decoded)


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_means_exactly_itself(octets: bytes) -> None:
    try:
        header = wire.decode(octets)
    except wire.WireError:
        return
    assert wire.encode(header) == octets


@given(headers, st.data())
def test_a_damaged_header_is_refused_or_means_exactly_itself(header: wire.Header, data: st.DataObject) -> None:
    encoded = bytearray(wire.encode(header))
    for _ in range(data.draw(st.integers(1, 4))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    octets = bytes(encoded[: data.draw(st.integers(0, len(encoded)))])
    with suppress(wire.WireError):
        assert wire.encode(wire.decode(octets)) == octets


@given(fingerprints, fingerprints)
def test_equal_bytes_mean_equal_fingerprints(a: wire.Fingerprint, b: wire.Fingerprint) -> None:
    ours, theirs = wire.encode_fingerprint(a), wire.encode_fingerprint(b)
    assert (ours == theirs) == (a == b)
    # the mailbox compares the beginning of what follows the match
    assert (theirs + b"train.py:41").startswith(ours) == (a == b)


@pytest.mark.parametrize("dtype", wire.DTYPES[1:], ids=str)
def test_every_dtype_has_a_code(dtype: np.dtype) -> None:
    fingerprint = wire.Fingerprint("send", dtype, (3,))
    header = wire.Header(1, wire.POINT_TO_POINT, 7, fingerprint, "a.py:1")
    assert wire.decode(wire.encode(header)).fingerprint.dtype == dtype


def test_a_dtype_without_a_code_is_named() -> None:
    with pytest.raises(TypeError, match="no message can carry datetime64"):
        wire.encode_fingerprint(wire.Fingerprint("send", np.dtype("M8[s]"), ()))


def test_a_long_call_site_keeps_its_end() -> None:
    site = wire.encode_site("ü" * 1000 + "/train.py:41").decode()
    assert len(site.encode()) <= wire.MAX_SITE
    assert site.endswith("/train.py:41")


def test_in_words() -> None:
    fingerprint = wire.Fingerprint("all_reduce", np.dtype(np.float32), (10,), "sum")
    header = wire.Header(1, 5, 0, fingerprint, "train.py:41")
    assert str(header) == "all_reduce #5 (float32[10], SUM) at train.py:41"
    fingerprint = wire.Fingerprint("send", np.dtype(np.int64), (2, 3))
    header = wire.Header(1, wire.POINT_TO_POINT, 9, fingerprint, "train.py:44")
    assert str(header) == "send with tag 9 (int64[2, 3]) at train.py:44"
