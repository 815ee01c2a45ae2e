"""The file: safetensors, as Hugging Face defines it, so that PyTorch and others open it.

    8 bytes    N, little-endian
    N bytes    JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …,
                      "__metadata__": {"any": "text"}}
    the rest   the arrays row by row, one after the other without gaps

The format has no complex128. Such an array stands there as F64 with a last dimension of 2 (real, imaginary), which is
what others read. The metadata list its name under "complex128", so here it is complex again.

Two more texts in the metadata let a flipped bit be found. The one called "crc32" has the checksum of each array's bytes.
The one called "crc32 of this header" is that of all else. Others do not look at them, and files without them are read as
well.

A header is believed only after every number in it was checked against the size of the file. So a broken or
hostile file costs its own size at most. Format: github.com/huggingface/safetensors.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn

import ml_dtypes
import numpy as np

from minitorch_dist.serialization import strict_json
from transports.plain_text import clean

Array = np.ndarray[Any, Any]

MOST_HEADER: Final = 100_000_000  # the format's own limit
_MOST_DIMS: Final = 64  # numpy's
_METADATA: Final = "__metadata__"
_PAIRS: Final = "complex128"  # the metadata's key for the names of arrays that are stored as pairs
CHECKS: Final = "crc32"  # and for the checksums
SEAL: Final = "crc32 of this header"

DTYPES: Final[dict[str, np.dtype[Any]]] = {
    name: np.dtype(kind)
    for name, kind in {
        "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16,
        "U32": np.uint32, "I32": np.int32, "U64": np.uint64, "I64": np.int64,
        "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64,
        "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
        "C64": np.complex64,
    }.items()
}  # fmt: skip
NAMES: Final = {dtype: name for name, dtype in DTYPES.items()} | {np.dtype(np.complex128): "F64"}


class SerializationError(RuntimeError):
    """A file cannot be loaded: it is truncated, damaged, or something else than it should be."""

    def __str__(self) -> str:
        return clean(super().__str__())  # names from the file


class FlippedBits(SerializationError):
    """Bits were changed since the file was written."""


class Entry(NamedTuple):
    """One array in a file: where its bytes lie, counted from the end of the header."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int
    check: int | None = None  # the checksum of its bytes


# ------------------------------------------------------------------------------------------ writing


def is_name(name: str) -> bool:
    """Whether an array can be called so: any text but the reserved name."""
    return name != _METADATA and not any(0xD800 <= ord(c) < 0xE000 for c in name)


def write(file: BinaryIO, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> dict[str, int]:
    """Write a whole file. Wide types go first, so that every array is aligned. Returns the checksums."""
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    checks = {name: checksum(np.ascontiguousarray(arrays[name])) for name in order}
    pairs = [name for name in order if arrays[name].dtype == np.complex128]
    if pairs:
        metadata = {**metadata, _PAIRS: json.dumps(pairs)}
    metadata = {**metadata, CHECKS: json.dumps(checks, separators=(",", ":"))}
    header: dict[str, Any] = {_METADATA: metadata}
    offset = 0
    for name in order:
        array = arrays[name]
        start, offset = offset, offset + array.nbytes
        shape = [*array.shape, *((2,) if array.dtype == np.complex128 else ())]
        header[name] = {"dtype": NAMES[array.dtype], "shape": shape, "data_offsets": [start, offset]}
    header[_METADATA] = {**metadata, SEAL: str(strict_json.checksum(header))}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise ValueError(
            f"the structure takes {len(text):,} bytes as JSON and {MOST_HEADER:,} are allowed; "
            "keep long lists of numbers in tensors"
        )
    _write_all(file, memoryview(len(text).to_bytes(8, "little") + text))
    for name in order:
        _write_all(file, as_bytes(np.ascontiguousarray(arrays[name])).data)
    return checks


def _write_all(file: BinaryIO, data: memoryview) -> None:
    """An unbuffered file may take only part of what it is given, and say how much."""
    while data:
        count = file.write(data)
        data = data[len(data) if count is None else count :]


def as_bytes(array: Array) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The memory of a contiguous array, byte by byte."""
    return array.reshape(-1).view(np.uint8)


def checksum(array: Array) -> int:
    """Of the bytes of a contiguous array."""
    return zlib.crc32(as_bytes(array).data)


# ------------------------------------------------------------------------------------------ reading


def read_header(read: Callable[[int], bytes], size: int, whole: bool) -> tuple[list[Entry], dict[str, str], int]:
    """The entries in the order of their bytes, the metadata, and where the data begin.

    `size` bytes can be read; if `whole`, the arrays have to fill them exactly.
    """
    if size < 8:
        _fail(f"it has {size} bytes, and a file begins with the 8-byte length of its header")
    first = read(8)
    length = int.from_bytes(first, "little")
    if length > min(MOST_HEADER, size - 8):
        if first.startswith((b"PK\x03\x04", b"\x80")):
            _fail(
                "it looks like a pickle of torch.save, and unpickling runs whatever code the file "
                "holds. Convert it once, in PyTorch: "
                "safetensors.torch.save_file(torch.load(path), 'new.safetensors')"
            )
        _fail(
            f"its first 8 bytes announce a header of {length:,} bytes, but {size - 8:,} follow "
            f"(and {MOST_HEADER:,} are allowed); it is truncated, or not a safetensors file"
        )
    text = read(length)
    if len(text) != length:
        _fail(f"its header ends after {len(text):,} of {length:,} bytes")
    header = _json(text, "its header")
    if not isinstance(header, dict):
        _fail(f"its header is a JSON {type(header).__name__}, expected a table")
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        _fail("its __metadata__ is not a table of texts")
    flaw = _flaw(header, metadata)
    checks = _checks(header, metadata)
    entries = [_entry(name, about)._replace(check=checks.get(name)) for name, about in header.items()]
    entries.sort(key=lambda e: (e.start, e.stop))
    end = 0
    for entry in entries:
        if entry.start != end:
            _fail(
                f"the bytes of '{entry.name}' begin at {entry.start} where {end} was expected: "
                f"arrays {'overlap' if entry.start < end else 'leave a gap'}"
            )
        end = entry.stop
    available = size - 8 - length
    if end > available or (whole and end != available):
        missing = f"{end - available:,} bytes are missing" if end > available else "more follow"
        _fail(f"its arrays take {end:,} bytes and {available:,} follow the header: {missing}")
    if flaw:
        raise FlippedBits(f"The file cannot be loaded: {flaw}.")
    if _PAIRS in metadata:
        entries = _joined(entries, metadata[_PAIRS])
    return entries, metadata, 8 + length


def _flaw(header: dict[str, Any], metadata: dict[str, str]) -> str:
    """The flaw of the header's own checksum, or "". Other errors say more, so this one is raised last."""
    seal = metadata.pop(SEAL, None)
    try:
        check = seal and str(strict_json.checksum({**header, _METADATA: metadata}))
    except ValueError as error:
        return f"its header has no checksum: {error}"
    if seal == check:
        return ""
    return (
        f"its header was changed since it was written. Its checksum is {check}, and {seal!r} was noted. It is damaged, or "
        "another program wrote it and kept our metadata"
    )


def _checks(header: dict[str, Any], metadata: dict[str, str]) -> dict[str, int]:
    """The checksums of the arrays, where the file has them."""
    if CHECKS not in metadata:
        return {}
    checks = _json(metadata.pop(CHECKS), "its list of checksums")
    if not isinstance(checks, dict) or not all(type(n) is int for n in checks.values()):
        _fail("its list of checksums is not a table of numbers")
    if checks.keys() != header.keys():
        _fail("its list of checksums has other names than its arrays")
    return checks


def fill(file: BinaryIO, name: str, target: Array) -> None:
    """Read an array that is contiguous, from where the file stands."""
    left = as_bytes(target).data
    while left:
        count = file.readinto(left)  # type: ignore[attr-defined]
        if not count:
            _fail(f"it ended within '{name}'")
        left = left[count:]


def demand_whole(entry: Entry, found: int) -> None:
    """FlippedBits unless the bytes of an array have the checksum that was noted when it was written."""
    if entry.check is not None and found != entry.check:
        raise FlippedBits(
            f"The file cannot be loaded: the bytes of '{entry.name}' were changed since it was written. Their checksum "
            f"is {found:08x}, and {entry.check:08x} was noted."
        )


def _joined(entries: list[Entry], pairs: str) -> list[Entry]:
    """The entries; those whose names are listed are complex."""
    names = _json(pairs, "its list of complex arrays")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        _fail("its list of complex arrays is not a list of names")
    complex_ones, joined = set(names), []
    for entry in entries:
        if entry.name in complex_ones:
            if entry.dtype != np.float64 or entry.shape[-1:] != (2,):
                _fail(f"'{entry.name}' is said to be complex and is not made of pairs of F64")
            entry = entry._replace(dtype=np.dtype(np.complex128), shape=entry.shape[:-1])
            complex_ones.remove(entry.name)
        joined.append(entry)
    if complex_ones:
        _fail(f"there is no entry {min(complex_ones)!r}, which is said to be complex")
    return joined


def _json(text: str | bytes, what: str) -> Any:
    try:
        return strict_json.loads(text, may_have_nan=False)
    except ValueError as error:
        raise SerializationError(f"The file cannot be loaded: {what} is not valid JSON ({error}).") from None


def _entry(name: str, about: Any) -> Entry:
    if not isinstance(about, dict) or about.keys() != {"dtype", "shape", "data_offsets"}:
        _fail(f"entry '{name}' should have dtype, shape and data_offsets, and nothing else")
    dtype = DTYPES.get(about["dtype"]) if isinstance(about["dtype"], str) else None
    if dtype is None:
        _fail(f"entry '{name}' has the unknown dtype {about['dtype']!r}; known are {', '.join(DTYPES)}")
    shape, offsets = about["shape"], about["data_offsets"]
    if not are_sizes(shape) or len(shape) > _MOST_DIMS:
        _fail(f"the shape of '{name}' is not a list of at most {_MOST_DIMS} sizes")
    if not are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        _fail(f"the data_offsets of '{name}' are not a begin and an end")
    start, stop = offsets
    if math.prod(shape) * dtype.itemsize != stop - start:
        _fail(
            f"'{name}' is {about['dtype']}{shape}, which takes {math.prod(shape) * dtype.itemsize} "
            f"bytes, and its data_offsets span {stop - start}"
        )
    return Entry(name, dtype, tuple(shape), start, stop)


def are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 2**63 for n in value)


def _fail(why: str) -> NoReturn:
    raise SerializationError(f"The file cannot be loaded: {why}.")
