"""From a value to bytes. One small function for each type, found by the type itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from itertools import chain
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.codec import arrays, failures, kinds, names, pickled
from minitorch_dist.distributed.codec.errors import Unsendable
from minitorch_dist.distributed.codec.interfaces import by_number, others
from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.distributed.mail import wire
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.devices import device
from minitorch_dist.tensors.dtypes import dtype
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor


class Writer:
    """One message in the making: `out` is its meta, `buffers` are its outside buffers.

    `kept` are the values with an identity, in the order in which the reader meets them.
    """

    __slots__ = (
        "_depth",
        "_numbers",
        "blamed",
        "buffers",
        "device_name",
        "kept",
        "out",
        "outside_from",
        "trust",
    )

    def __init__(
        self, device_name: Callable[[device], str] = str, outside_from: int = kinds.OUTSIDE_FROM,
        trust: Trust = Trust.VALUES,
    ) -> None:  # fmt: skip
        self.device_name, self.outside_from, self.trust = device_name, outside_from, trust
        self.out = bytearray()
        self.buffers: list[memoryview] = []
        self.kept: list[Any] = []
        self.blamed: set[int] = set()
        self._numbers: dict[int, int] = {}
        self._depth = 0

    def value(self, value: Any) -> None:
        """Write any value. Unsendable says what inside it cannot be."""
        (_WRITERS.get(type(value)) or _by_ancestry(value))(self, value)

    def text(self, text: str) -> None:
        encoded = text.encode(errors="surrogatepass")
        self.out += kinds.COUNT.pack(len(encoded))
        self.out += encoded

    def octets(self, view: memoryview) -> None:
        if view.nbytes < self.outside_from:
            self.out.append(0)
            self.out += view
        else:
            if len(self.buffers) >= kinds.MAX_BUFFERS:
                raise Unsendable(f"more than {kinds.MAX_BUFFERS} large arrays in one message")
            self.out.append(1)
            self.out += kinds.COUNT.pack(len(self.buffers))
            self.buffers.append(view)

    def mark(self) -> tuple[int, ...]:
        return len(self.out), len(self.buffers), len(self.kept), self._depth

    def back_to(self, mark: tuple[int, ...]) -> None:
        size, buffers, kept, self._depth = mark
        del self.out[size:], self.buffers[buffers:]
        for value in self.kept[kept:]:
            self._numbers.pop(id(value), None)
        del self.kept[kept:]

    # --------------------------------------------------------------------------------- containers

    def is_new(self, value: Any) -> bool:
        """Whether it is written for the first time. If it is not, this writes where it stands."""
        number = self._numbers.setdefault(id(value), len(self.kept))
        if number < len(self.kept):
            self.out += kinds.KIND_AND_COUNT.pack(kinds.SAME, number)
            return False
        self.kept.append(value)
        return True

    def items(self, kind: int, whole: Collection[Any], items: Iterable[Any] | None = None) -> None:
        """A container, and the values in it: `items`, where going through it gives others."""
        self.out += kinds.KIND_AND_COUNT.pack(kind, len(whole))
        self._depth += 1
        if self._depth > kinds.MAX_DEPTH:
            raise Unsendable(f"containers nested deeper than {kinds.MAX_DEPTH}")
        place = -1
        try:
            for place, item in enumerate(whole if items is None else items):  # noqa: B007
                (_WRITERS.get(type(item)) or _by_ancestry(item))(self, item)
        except Unsendable as error:
            raise error.inside(_where(whole, place)) from None
        self._depth -= 1

    def __repr__(self) -> str:
        return f"<Writer, {len(self.out)} bytes and {len(self.buffers)} buffers>"


def _where(whole: Collection[Any], place: int) -> str:
    """The n-th of the values that were written of a container, for an error."""
    if isinstance(whole, set | frozenset):
        return "{…}"
    return f"[{list(whole)[place // 2]!r}]" if isinstance(whole, dict) else f"[{place}]"


# -------------------------------------------------------------------------------- one for each type


def _int(writer: Writer, value: int) -> None:
    if -128 <= value < 128:
        writer.out += kinds.KIND_AND_BYTE.pack(kinds.INT1, value)
    elif -(1 << 63) <= value < 1 << 63:
        writer.out += kinds.KIND_AND_INT.pack(kinds.INT8, value)
    else:
        octets = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        writer.out += kinds.KIND_AND_COUNT.pack(kinds.BIG, len(octets)) + octets


def _bool(writer: Writer, value: bool) -> None:
    writer.out.append(kinds.TRUE if value else kinds.FALSE)


def _float(writer: Writer, value: float) -> None:
    writer.out += kinds.KIND_AND_FLOAT.pack(kinds.FLOAT, value)


def _complex(writer: Writer, value: complex) -> None:
    writer.out.append(kinds.COMPLEX)
    writer.out += kinds.COMPLEXES.pack(value.real, value.imag)


def _none(writer: Writer, value: None) -> None:
    writer.out.append(kinds.NONE)


def _text(writer: Writer, value: str) -> None:
    writer.out.append(kinds.TEXT)
    writer.text(value)


def _bytes(writer: Writer, value: bytes | bytearray) -> None:
    kind = kinds.BYTES if type(value) is bytes else kinds.BYTEARRAY
    if kind == kinds.BYTEARRAY and not writer.is_new(value):
        return
    writer.out.append(kind)
    writer.out += kinds.INT.pack(len(value))
    writer.octets(memoryview(value))


def _tuple(writer: Writer, value: tuple[Any, ...]) -> None:
    writer.items(kinds.TUPLE, value)


def _list(writer: Writer, value: list[Any]) -> None:
    if writer.is_new(value):
        writer.items(kinds.LIST, value)


def _set(writer: Writer, value: set[Any]) -> None:
    if writer.is_new(value):
        writer.items(kinds.SET, value)


def _frozenset(writer: Writer, value: frozenset[Any]) -> None:
    writer.items(kinds.FROZENSET, value)


def _size(writer: Writer, value: Size) -> None:
    writer.items(kinds.SIZE, value)


def _dict(writer: Writer, value: dict[Any, Any]) -> None:
    if writer.is_new(value):
        writer.items(kinds.DICT, value, chain.from_iterable(value.items()))


def _ordered(writer: Writer, value: OrderedDict[Any, Any]) -> None:
    if writer.is_new(value):
        writer.items(kinds.ORDERED, value, chain.from_iterable(value.items()))
        writer.value(dict(value.__dict__))  # a state_dict has `_metadata`


def _slice(writer: Writer, value: slice) -> None:
    writer.out.append(kinds.SLICE)
    for part in (value.start, value.stop, value.step):
        writer.value(part)


def _range(writer: Writer, value: range) -> None:
    writer.out.append(kinds.RANGE)
    for part in (value.start, value.stop, value.step):
        _int(writer, part)


def _timedelta(writer: Writer, value: timedelta) -> None:
    writer.out.append(kinds.TIMEDELTA)
    writer.out += kinds.DELTA.pack(value.days, value.seconds, value.microseconds)


def _ellipsis(writer: Writer, value: EllipsisType) -> None:
    writer.out.append(kinds.ELLIPSIS)


def _dtype(writer: Writer, value: dtype) -> None:
    writer.out.append(kinds.DTYPE)
    writer.text(value.name)


def _device(writer: Writer, value: device) -> None:
    writer.out.append(kinds.DEVICE)
    writer.text(str(value))


def _numpy_dtype(writer: Writer, value: np.dtype[Any]) -> None:
    if not arrays.is_plain(np.empty(0, value)):
        return _pickled(writer, value)
    writer.out.append(kinds.NUMPY)
    writer.text(str(value) if value in wire.DTYPE_CODES else value.str)
    return None


def _array(writer: Writer, value: np.ndarray[Any, Any]) -> None:
    if not arrays.is_plain(value):
        _pickled(writer, value)
    elif writer.is_new(value):
        arrays.write_array(writer, value)


def _scalar(writer: Writer, value: np.generic[Any]) -> None:
    arrays.write_scalar(writer, value)


def _tensor(writer: Writer, value: TensorBase) -> None:
    if writer.is_new(value):
        arrays.write_tensor(writer, value)


_NAMING: Final = (type, ModuleType, type(None))


def _named(writer: Writer, value: Any) -> None:
    checked = names.checked.get(value) if writer.trust is Trust.FULL else None
    writer.out.append(kinds.NAMED)
    writer.text(checked or names.name_of(value, writer.trust))


def _method(writer: Writer, value: BuiltinFunctionType | MethodType) -> None:
    """Of a class or a module it has a name. A method of some object, such as [].append, has none."""
    (_named if isinstance(value.__self__, _NAMING) else _pickled)(writer, value)


def _exception(writer: Writer, value: BaseException) -> None:
    if writer.is_new(value):
        failures.write(writer, value)


def _pickled(writer: Writer, value: Any) -> None:
    if writer.is_new(value):
        pickled.write(writer, value)


def _other(writer: Writer, value: Any) -> None:
    if writer.is_new(value):
        number = others[type(value)]
        writer.out += bytes((kinds.OTHER, number))
        by_number[number].write(writer, value)


_WRITERS: Final[dict[type[Any], Callable[[Writer, Any], None]]] = {
    int: _int, bool: _bool, float: _float, complex: _complex, type(None): _none, str: _text,
    bytes: _bytes, bytearray: _bytes, tuple: _tuple, list: _list, set: _set, frozenset: _frozenset,
    Size: _size, dict: _dict, OrderedDict: _ordered, slice: _slice, range: _range,
    timedelta: _timedelta, EllipsisType: _ellipsis, dtype: _dtype, device: _device,
    np.ndarray: _array, Tensor: _tensor, FunctionType: _named, type: _named,
    BuiltinFunctionType: _method, MethodType: _method,
}  # fmt: skip


def _by_ancestry(value: Any) -> Callable[[Writer, Any], None]:
    """The writer of a type that is not in the table itself."""
    if type(value) in others:
        return _other
    for ancestor, write in (
        (TensorBase, _tensor),
        (BaseException, _exception),
        (type, _named),
        (np.generic, _scalar),
        (np.dtype, _numpy_dtype),
    ):
        if isinstance(value, ancestor):
            return write
    return _pickled


def encode(value: Any, trust: Trust = Trust.VALUES) -> tuple[bytearray, list[memoryview]]:
    """The meta and the outside buffers of a value; the buffers are the value's own memory."""
    writer = Writer(trust=trust)
    writer.value(value)
    return writer.out, writer.buffers
