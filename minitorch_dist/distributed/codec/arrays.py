"""Arrays and tensors: a description in a few bytes, and their elements as they stand in memory.

    ARRAY, SCALAR     dtype · u8 ndim · i64 each extent · elements
    TENSOR            u8 flags · TEXT device · [value: its class] · as ARRAY · [dict of attributes]
    dtype             u8: its number in `wire.DTYPES`; or 0 and numpy's letters for it as TEXT
    elements          0 and the bytes, or 1 and u32: the n-th outside buffer

Only the elements that a view shows are sent. A large array that is contiguous goes out from where it
is, and what arrives becomes the memory of the new one: neither side copies.
"""

from __future__ import annotations

import re
import struct
import sys
from math import prod
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.codec import kinds
from minitorch_dist.distributed.codec.errors import DamagedEncoding, Unsendable, shown
from minitorch_dist.distributed.codec.registry import register_name
from minitorch_dist.distributed.codec.writer_and_reader import READERS, Reader, Writer, keeping, once, writes
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.nn.parameter import Buffer, Parameter
from minitorch_dist.tensors import devices, ledger
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.dtypes import FROM_NUMPY
from minitorch_dist.tensors.tensor import Tensor
from transports.frames import octets

REQUIRES_GRAD, HAS_CLASS, HAS_ATTRIBUTES = 1, 2, 4
_LETTERS: Final = re.compile(r"[<>|=][biufcSUMm]\d{1,6}(\[([1-9]\d{0,5})?[a-zA-Z]{1,2}\])?")
_BY_NAME: Final = {str(dtype): dtype for dtype in wire.DTYPES if dtype is not None}
_STATE: Final = frozenset(TensorBase.__annotations__)  # the rest of its fields are the user's

for _kind in (Tensor, Parameter, Buffer):
    register_name(_kind)


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether such elements are bytes, and not references or records."""
    return dtype in wire.DTYPE_CODES or plain_dtype(dtype.str) is not None


def plain_dtype(name: str) -> np.dtype[Any] | None:
    """The dtype of plain elements that is written so; None if there is none."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if not _LETTERS.fullmatch(name):
        return None
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError):
        return None
    return dtype if dtype.itemsize else None


def _array(writer: Writer, value: Array) -> None:
    if not is_plain(value.dtype):
        writer.otherwise(value)
    elif writer.is_new(value):
        writer.out.append(kinds.ARRAY)
        _write(writer, value)


def _dtype(writer: Writer, value: np.dtype[Any]) -> None:
    if is_plain(value):
        writer.out.append(kinds.NUMPY)
        writer.text(str(value) if value in wire.DTYPE_CODES else value.str)
    else:
        writer.otherwise(value)


def _read_dtype(reader: Reader) -> np.dtype[Any]:
    name = reader.text()
    found = plain_dtype(name)
    if found is None:
        raise DamagedEncoding(f"{shown(name)} is no dtype of plain elements")
    return found


def _scalar(writer: Writer, value: np.generic[Any]) -> None:
    array = np.asarray(value)
    if not is_plain(array.dtype):
        raise Unsendable(f"a numpy scalar of type {array.dtype} cannot be sent")
    writer.out.append(kinds.SCALAR)
    _write(writer, array)


def _write(writer: Writer, array: Array) -> None:
    shape, dtype = array.shape, array.dtype
    code = wire.DTYPE_CODES.get(dtype, 0)
    writer.out.append(code)
    if code == 0:
        writer.text(dtype.str)
    writer.out += struct.pack(f"<B{len(shape)}q", len(shape), *shape)
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    view = octets(array) if code else array.reshape(-1).view(np.uint8).data if array.nbytes else b""
    writer.octets(memoryview(view))


@once
def _tensor(writer: Writer, tensor: TensorBase) -> None:
    out, device = writer.out, tensor.storage.device
    out.append(kinds.TENSOR)
    is_special = type(tensor) is not Tensor
    rest = {k: v for k, v in tensor.__dict__.items() if _is_free(type(tensor), k)} if is_special else {}
    out.append(REQUIRES_GRAD * tensor.requires_grad | HAS_CLASS * is_special | HAS_ATTRIBUTES * bool(rest))
    writer.text("cpu" if device is devices.CPU else writer.device_name(device))
    if is_special:
        writer.value(type(tensor))
    _write(writer, tensor.array)
    if rest:
        writer.value(rest)


def _read_scalar(reader: Reader) -> Any:
    array = _read(reader)
    if array.ndim:
        raise DamagedEncoding(f"a scalar of shape {array.shape}")
    return array[()]


def _read(reader: Reader) -> Array:
    code = reader.byte()
    if code >= len(wire.DTYPES):
        raise DamagedEncoding(f"there is no dtype {code}")
    dtype = wire.DTYPES[code]
    if dtype is None:
        dtype = _read_dtype(reader)
    dimensions = reader.byte()
    if dimensions > kinds.MAX_DIMENSIONS:
        raise DamagedEncoding(f"an array of {dimensions} dimensions")
    shape = struct.unpack(f"<{dimensions}q", reader.take(8 * dimensions))
    if any(not 0 <= extent <= kinds.MAX_EXTENT for extent in shape):
        raise DamagedEncoding(f"an array of shape {shape}")
    view = reader.octets(prod(shape) * dtype.itemsize)
    if not prod(shape):
        try:
            return np.empty(shape, dtype)
        except ValueError as error:
            raise DamagedEncoding(f"an array of shape {shape}: {error}") from None
    array = np.frombuffer(view, np.uint8).view(dtype)
    if wrong := _no_values(array):
        raise DamagedEncoding(f"an array of {dtype} with {wrong}")
    return array.reshape(shape)


def _no_values(array: Array) -> str:
    """Say which element is no value of this dtype; numpy itself looks only when it shows it."""
    dtype = array.dtype
    if dtype.kind == "U":
        letters = array.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        most = int(letters.max())
        return f"the letter {most:#x}, and Unicode ends at {sys.maxunicode:#x}" if most > sys.maxunicode else ""
    if dtype.kind == "M" and np.datetime_data(dtype)[0] == "generic":
        return "" if np.isnat(array).all() else "a date without a unit"
    return ""


def _device(label: str) -> devices.device:
    try:
        return devices.resolve(label)
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        raise DamagedEncoding(f"a tensor on {shown(label)}, which is not here: {error}") from None


def _is_free(kind: type[TensorBase], name: str) -> bool:
    """Whether a tensor of this class may have such an attribute: it hides neither state nor methods."""
    return name not in _STATE and not callable(getattr(kind, name, None))


def _read_tensor(reader: Reader) -> TensorBase:
    place = reader.place()
    flags, label = reader.byte(), reader.text()
    kind: Any = reader.value() if flags & HAS_CLASS else Tensor
    if not (isinstance(kind, type) and issubclass(kind, TensorBase)):
        raise DamagedEncoding(f"{shown(kind)} is no class of tensors")
    array = _read(reader)
    if array.dtype not in FROM_NUMPY:
        raise DamagedEncoding(f"a tensor of {array.dtype}")
    device = devices.CPU if label == "cpu" else _device(label)
    tensor = base.new(kind, array, device)
    if device is not devices.CPU:
        ledger.retag(array, device, tensor.held_as)
    if flags & REQUIRES_GRAD:
        if array.dtype.kind in "iub":
            raise DamagedEncoding(f"a tensor of {array.dtype} that requires grad")
        tensor._requires_grad = True
    reader.fill(place, tensor)
    if flags & HAS_ATTRIBUTES:
        rest = reader.value()
        if type(rest) is not dict or not all(type(key) is str and _is_free(kind, key) for key in rest):
            raise DamagedEncoding("the attributes of a tensor")
        tensor.__dict__.update(rest)
    return tensor


writes(np.ndarray, _array)
writes(Tensor, _tensor)
for _type, _writing in ((TensorBase, _tensor), (np.generic, _scalar), (np.dtype, _dtype)):
    writes(_type, _writing, below=True)
READERS.update(
    {kinds.ARRAY: keeping(_read), kinds.SCALAR: _read_scalar, kinds.TENSOR: _read_tensor, kinds.NUMPY: _read_dtype}
)
