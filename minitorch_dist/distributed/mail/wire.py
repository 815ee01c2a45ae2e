"""The header of a message: where it belongs, and what its sender was doing.

    ┌─────────── match, 20 bytes ───────────┬──────────── fingerprint ────────────┬────────────┐
    │ group u64 │ sequence u64 │ step u32    │ version, operation, dtype, reduce,  │ call site, │
    │           │              │ (p2p: tag)  │ ndim: u8 │ algorithm u16 │ root i32 │ UTF-8      │
    │           │              │             │ shape: u64 each                     │            │
    └───────────────────────────────────────┴─────────────────────────────────────┴────────────┘

The mailbox finds the receive by the match and compares the fingerprint with its own, both as plain bytes. So a
message that fits is never decoded. One that does not fit is, to say in words what its
sender was doing and at which line. Nothing is ever unpickled, every length has a cap, and a header
that is not exactly of this form is refused.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

VERSION: Final = 1
MATCH: Final = struct.Struct("<QQI")
GROUP_AND_SEQUENCE: Final = struct.Struct("<QQ")
STEP: Final = struct.Struct("<I")
GATE: Final = 1 << 31  # a bit of the step: the empty message that asks for a large one
FINGERPRINT: Final = struct.Struct("<BBBBBHi")
KIND_SIZE: Final = 3  # the fingerprint's version, operation and dtype: what a recv compares

MAX_TAG: Final = 2**32 - 1
MAX_DIMENSIONS: Final = 64
MAX_EXTENT: Final = 2**48
BETWEEN: Final = 2**40  # stands between two lists of ranks; more, before its length, for the rest of one
SHOWN: Final = 8  # extents of a list that is too long for a header
MAX_SITE: Final = 512  # bytes
MAX_HEADER: Final = MATCH.size + FINGERPRINT.size + 8 * MAX_DIMENSIONS + MAX_SITE

# Sequence numbers of collectives count from 0; these are what is not a collective.
POINT_TO_POINT: Final = 2**64 - 1
NOTICE: Final = 2**64 - 2  # an operation of the group has failed; the payload says which and why
FAREWELL: Final = 2**64 - 3  # the sender leaves; the payload says what it did last (see `exit_check`)
MAX_FAREWELL: Final = 1 << 16  # bytes

OPERATIONS: Final = (
    "none", "send", "send_object_list", "notice", "broadcast", "all_reduce", "all_reduce_coalesced",
    "reduce", "all_gather", "all_gather_into_tensor", "all_gather_coalesced", "gather", "scatter",
    "reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_coalesced", "all_to_all",
    "all_to_all_single", "broadcast_object_list", "all_gather_object", "gather_object",
    "scatter_object_list", "barrier", "monitored_barrier", "rpc", "custom",
    "new_group", "split_group", "shrink_group", "answer",
)  # fmt: skip
REDUCTIONS: Final = ("none", "sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum")
DTYPES: Final = (
    None, *(np.dtype(t) for t in (
        np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, ml_dtypes.bfloat16,
        np.float32, np.float64, np.uint16, np.uint32, np.uint64, np.complex64, np.complex128,
    )),
)  # fmt: skip
OPERATION_CODES: Final = {name: code for code, name in enumerate(OPERATIONS)}
REDUCTION_CODES: Final = {name: code for code, name in enumerate(REDUCTIONS)}
DTYPE_CODES: Final[dict[Any, int]] = {dtype: code for code, dtype in enumerate(DTYPES)}


def short(extents: Sequence[int], told: int) -> tuple[int, ...]:
    """A list that fits into a header: a long one by its beginning, its hash, and what is `told`."""
    if len(extents) <= MAX_DIMENSIONS:
        return tuple(extents)
    code = zlib.crc32(repr(list(extents)).encode())
    return (*extents[:SHOWN], BETWEEN + 1 + code, told)


class WireError(ValueError):
    """These bytes are no header of ours."""


class Fingerprint(NamedTuple):
    """A description of a rank's call. A field that is None is not compared between ranks, or has no meaning."""

    operation: str
    dtype: np.dtype[Any] | None = None
    shape: tuple[int, ...] | None = None
    reduce: str = "none"
    root: int = -1
    algorithm: str = ""  # is compared, and only mentioned where it is what differs

    def __str__(self) -> str:
        """`all_reduce (float32[10], SUM)`"""
        what = []
        if self.dtype is not None or self.shape is not None:
            what.append(f"{self.dtype or ''}{extent(self.operation, self.shape)}")
        if self.reduce != "none":
            what.append(self.reduce.upper())
        if self.root >= 0:
            what.append(f"root {self.root}")
        return f"{self.operation} ({', '.join(what)})" if what else self.operation


def extent(operation: str, shape: Sequence[int] | None) -> str:
    """`[2, 3]`; of tensors that lie side by side their sizes, `[4 + 6]`."""
    if shape is None:
        return ""
    between, more = (" + ", " + ") if operation.endswith("_coalesced") else (", ", ", ")
    if len(shape) > 1 and BETWEEN < shape[-2] <= MAX_EXTENT:  # it was too long
        return f"[{between.join(map(str, shape[:-2]))}{more}… {shape[-1]} in all]"
    text = between.join("|" if extent == BETWEEN else str(extent) for extent in shape)
    return f"[{text.replace(', |, ', ' | ')}]"


class Header(NamedTuple):
    """A decoded header."""

    group: int
    sequence: int
    step: int
    fingerprint: Fingerprint
    site: str

    @property
    def is_point_to_point(self) -> bool:
        return self.sequence == POINT_TO_POINT

    def __str__(self) -> str:
        """`all_reduce #5 (float32[10], SUM) at train.py:41`"""
        return describe(self.fingerprint, self.sequence, self.step, self.site)


def describe(fingerprint: Fingerprint, sequence: int, step: int, site: str) -> str:
    name, _, what = str(fingerprint).partition(" ")
    if sequence == POINT_TO_POINT:
        number = f" with tag {step}" if step else ""
    else:
        number = f" #{sequence}"
    return f"{name}{number}{what and ' ' + what}{site and f' at {site}'}"


_algorithms: dict[int, str] = {0: ""}


@lru_cache(maxsize=4096)
def algorithm_code(name: str) -> int:
    """16 bits that stand for an algorithm; `#4711` stands for 4711."""
    if name.startswith("#") and name[1:].isascii() and name[1:].isdigit():
        return int(name[1:]) & 0xFFFF
    code = zlib.crc32(name.encode()) & 0xFFFF or 1 if name else 0
    _algorithms.setdefault(code, name)
    return code


@lru_cache(maxsize=4096)
def encode_fingerprint(fingerprint: Fingerprint) -> bytes:
    """The part that ranks compare."""
    operation, dtype, shape, reduce, root, algorithm = fingerprint
    if dtype not in DTYPE_CODES or len(shape or ()) > MAX_DIMENSIONS:
        raise _unsendable(fingerprint)
    return FINGERPRINT.pack(
        VERSION,
        OPERATION_CODES[operation],
        DTYPE_CODES[dtype],
        REDUCTION_CODES[reduce],
        255 if shape is None else len(shape),
        algorithm_code(algorithm) if algorithm else 0,
        root,
    ) + struct.pack(f"<{len(shape or ())}Q", *shape or ())


def _unsendable(fingerprint: Fingerprint) -> Exception:
    if fingerprint.dtype not in DTYPE_CODES:
        known = ", ".join(str(known) for known in DTYPES[1:])
        return TypeError(f"no message can carry {fingerprint.dtype}; messages carry {known}")
    dimensions = len(fingerprint.shape or ())
    return ValueError(f"{dimensions} dimensions are more than {MAX_DIMENSIONS}")


@lru_cache(maxsize=4096)
def encode_site(site: str) -> bytes:
    """A call site; of a long one its end, which holds the file and the line."""
    encoded = site.encode(errors="replace")
    is_short = len(encoded) <= MAX_SITE
    return encoded if is_short else encoded[-MAX_SITE:].decode(errors="ignore").encode()


def encode(header: Header) -> bytes:
    return (
        MATCH.pack(header.group, header.sequence, header.step)
        + encode_fingerprint(header.fingerprint)
        + encode_site(header.site)
    )


def decode(header: bytes) -> Header:
    """WireError unless `header` is one that `encode` could have made."""
    if not MATCH.size + FINGERPRINT.size <= len(header) <= MAX_HEADER:
        raise WireError(f"a header of {len(header)} bytes")
    group, sequence, step = MATCH.unpack_from(header)
    version, operation, dtype, reduce, dimensions, algorithm, root = FINGERPRINT.unpack_from(header, MATCH.size)
    if version != VERSION:
        raise WireError(f"a header of version {version}; this is version {VERSION}")
    if operation >= len(OPERATIONS) or dtype >= len(DTYPES) or reduce >= len(REDUCTIONS):
        raise WireError(f"operation {operation}, dtype {dtype}, reduce op {reduce}")
    if root < -1:
        raise WireError(f"root {root}")
    at, shape = MATCH.size + FINGERPRINT.size, None
    if dimensions != 255:
        if dimensions > MAX_DIMENSIONS or len(header) < at + 8 * dimensions:
            raise WireError(f"{dimensions} dimensions in a header of {len(header)} bytes")
        shape = struct.unpack_from(f"<{dimensions}Q", header, at)
        if any(extent > MAX_EXTENT for extent in shape):
            raise WireError(f"shape {shape}")
        at += 8 * dimensions
    if len(header) - at > MAX_SITE:
        raise WireError(f"a call site of {len(header) - at} bytes")
    try:
        site = header[at:].decode()
    except UnicodeDecodeError as error:
        raise WireError("a call site that is not UTF-8") from error
    name = _algorithms.get(algorithm, f"#{algorithm}")
    fingerprint = Fingerprint(OPERATIONS[operation], DTYPES[dtype], shape, REDUCTIONS[reduce], root, name)
    return Header(group, sequence, step, fingerprint, site)


def algorithms_that_differ(ours: bytes, header: bytes) -> tuple[str, str] | None:
    """The algorithms of a fingerprint and of a header, if those are all that differs."""
    try:
        theirs = decode(header).fingerprint
        mine = decode(bytes(MATCH.size) + ours).fingerprint
    except WireError:
        return None
    if theirs._replace(algorithm="") != mine._replace(algorithm=""):
        return None
    return mine.algorithm, theirs.algorithm


def group_number(*identity: object) -> int:
    """The number of a group on the wire: 64 bits of the hash of its identity."""
    text = "\0".join(map(str, identity)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")
