"""From a value to bytes. One small function for each type, found by the type itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.codec import arrays, failures, kinds, names, pickled
from minitorch_dist.distributed.codec.errors import Unsendable
from minitorch_dist.distributed.codec.faces import by_number, others
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
        self.trust = trust
        self.out = bytearray()
        self.buffers: list[memoryview] = []
        self.kept: list[Any] = []
        self.blamed: set[int] = set()
        self.device_name, self.outside_from = device_name, outside_from
        self._numbers: dict[int, int] = {}
        self._depth = 0

    def value(self, value: Any) -> None:
        """Write any value. Unsendable says what inside it cannot be."""
        write = _WRITERS.get(type(value)) or _by_ancestry(value)
        write(self, value)

    def begin(self, count: int) -> None:
        """A tuple of so many values follows."""
        self.out += kinds.KIND_AND_COUNT.pack(kinds.TUPLE, count)

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

    def remember(self, value: Any) -> None:
        self._numbers[id(value)] = len(self.kept)
        self.kept.append(value)

    def mark(self) -> tuple[int, ...]:
        return len(self.out), len(self.buffers), len(self.kept), self._depth

    def back_to(self, mark: tuple[int, ...]) -> None:
        size, buffers, kept, self._depth = mark
        del self.out[size:], self.buffers[buffers:]
        for value in self.kept[kept:]:
            self._numbers.pop(id(value), None)
        del self.kept[kept:]

    # --------------------------------------------------------------------------------- containers

    def is_same(self, value: Any) -> bool:
        """Whether it was written before; then all that is written is where."""
        number = self._numbers.get(id(value))
        if number is None:
            return False
        self.out += kinds.KIND_AND_COUNT.pack(kinds.SAME, number)
        return True

    def items(self, kind: int, items: Iterable[Any], count: int) -> None:
        self.out += kinds.KIND_AND_COUNT.pack(kind, count)
        self._depth += 1
        if self._depth > kinds.MAX_DEPTH:
            raise _too_deep()
        place = -1
        try:
            for place, item in enumerate(items):  # noqa: B007 - named by the error
                (_WRITERS.get(type(item)) or _by_ancestry(item))(self, item)
        except Unsendable as error:
            raise error.inside(f"[{place}]" if kind != kinds.SET else "{…}") from None
        self._depth -= 1

    def pairs(self, kind: int, value: dict[Any, Any]) -> None:
        self.out += kinds.KIND_AND_COUNT.pack(kind, len(value))
        self._depth += 1
        if self._depth > kinds.MAX_DEPTH:
            raise _too_deep()
        key: Any = None
        try:
            for key, item in value.items():
                self.value(key)
                (_WRITERS.get(type(item)) or _by_ancestry(item))(self, item)
        except Unsendable as error:
            raise error.inside(f"[{key!r}]") from None
        self._depth -= 1

    def __repr__(self) -> str:
        return f"<Writer, {len(self.out)} bytes and {len(self.buffers)} buffers>"


def _too_deep() -> Unsendable:
    return Unsendable(f"containers nested deeper than {kinds.MAX_DEPTH}")


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
    if kind == kinds.BYTEARRAY:
        if writer.is_same(value):
            return
        writer.remember(value)
    writer.out.append(kind)
    writer.out += kinds.INT.pack(len(value))
    writer.octets(memoryview(value))


def _tuple(writer: Writer, value: tuple[Any, ...]) -> None:
    writer.items(kinds.TUPLE, value, len(value))


def _list(writer: Writer, value: list[Any]) -> None:
    if not writer.is_same(value):
        writer.remember(value)
        writer.items(kinds.LIST, value, len(value))


def _set(writer: Writer, value: set[Any]) -> None:
    if not writer.is_same(value):
        writer.remember(value)
        writer.items(kinds.SET, value, len(value))


def _frozenset(writer: Writer, value: frozenset[Any]) -> None:
    writer.items(kinds.FROZENSET, value, len(value))


def _size(writer: Writer, value: Size) -> None:
    writer.items(kinds.SIZE, value, len(value))


def _dict(writer: Writer, value: dict[Any, Any]) -> None:
    if not writer.is_same(value):
        writer.remember(value)
        writer.pairs(kinds.DICT, value)


def _ordered(writer: Writer, value: OrderedDict[Any, Any]) -> None:
    if not writer.is_same(value):
        writer.remember(value)
        writer.pairs(kinds.ORDERED, value)
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
        return pickled.write(writer, value)
    writer.out.append(kinds.NUMPY)
    writer.text(str(value) if value in wire.DTYPE_CODES else value.str)
    return None


def _array(writer: Writer, value: np.ndarray[Any, Any]) -> None:
    if writer.is_same(value):
        return
    if arrays.is_plain(value):
        arrays.write_array(writer, value)
    else:
        pickled.write(writer, value)


def _scalar(writer: Writer, value: np.generic[Any]) -> None:
    arrays.write_scalar(writer, value)


def _tensor(writer: Writer, value: TensorBase) -> None:
    if not writer.is_same(value):
        arrays.write_tensor(writer, value)


def _named(writer: Writer, value: Any) -> None:
    self = getattr(value, "__self__", None)
    if self is not None and not isinstance(self, type | type(np)):
        return _pickled(writer, value)  # a method of some object, such as [].append
    is_known = writer.trust is Trust.FULL and value in names.checked
    writer.out.append(kinds.NAMED)
    writer.text(names.checked[value] if is_known else names.name_of(value, writer.trust))
    return None


def _exception(writer: Writer, value: BaseException) -> None:
    if not writer.is_same(value):
        failures.write(writer, value)


def _pickled(writer: Writer, value: Any) -> None:
    if not writer.is_same(value):
        pickled.write(writer, value)


def _other(writer: Writer, value: Any) -> None:
    if writer.is_same(value):
        return
    number = others[type(value)]
    writer.out.append(kinds.OTHER)
    writer.out.append(number)
    writer.remember(value)
    by_number[number].write(writer, value)


_WRITERS: Final[dict[type[Any], Callable[[Writer, Any], None]]] = {
    int: _int, bool: _bool, float: _float, complex: _complex, type(None): _none, str: _text,
    bytes: _bytes, bytearray: _bytes, tuple: _tuple, list: _list, set: _set, frozenset: _frozenset,
    Size: _size, dict: _dict, OrderedDict: _ordered, slice: _slice, range: _range,
    timedelta: _timedelta, EllipsisType: _ellipsis, dtype: _dtype, device: _device,
    np.ndarray: _array, Tensor: _tensor, FunctionType: _named, BuiltinFunctionType: _named,
    MethodType: _named, type: _named,
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
