"""Numbers, texts, containers, dtypes, devices and names: how each is written, and read again beneath."""

from __future__ import annotations

from collections import OrderedDict
from datetime import timedelta
from itertools import chain
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from minitorch_dist.distributed.codec import kinds, names
from minitorch_dist.distributed.codec.errors import DamagedEncoding, shown
from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.distributed.codec.writer_and_reader import READERS, Reader, Writer, keeping, once, writes
from minitorch_dist.serialization import alike
from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.size import Size

# ------------------------------------------------------------------------------- numbers and texts

_CONSTANTS: Final = {None: kinds.NONE, True: kinds.TRUE, False: kinds.FALSE, ...: kinds.ELLIPSIS}


def _constant(writer: Writer, value: Any) -> None:
    writer.out.append(_CONSTANTS[value])


def _int(writer: Writer, value: int) -> None:
    if -128 <= value < 128:
        writer.out += kinds.KIND_AND_BYTE.pack(kinds.INT1, value)
    elif -(1 << 63) <= value < 1 << 63:
        writer.out += kinds.KIND_AND_INT.pack(kinds.INT8, value)
    else:
        octets = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        writer.out += kinds.KIND_AND_COUNT.pack(kinds.BIG, len(octets)) + octets


def _float(writer: Writer, value: float) -> None:
    writer.out += kinds.KIND_AND_FLOAT.pack(kinds.FLOAT, value)


def _complex(writer: Writer, value: complex) -> None:
    writer.out.append(kinds.COMPLEX)
    writer.out += kinds.COMPLEXES.pack(value.real, value.imag)


def _timedelta(writer: Writer, value: timedelta) -> None:
    writer.out.append(kinds.TIMEDELTA)
    writer.out += kinds.DELTA.pack(value.days, value.seconds, value.microseconds)


def _read_timedelta(reader: Reader) -> timedelta:
    days, seconds, micros = kinds.DELTA.unpack(reader.take(24))
    try:
        return timedelta(days, seconds, micros)
    except OverflowError:
        raise DamagedEncoding(f"a time of {days} days") from None


def _text(writer: Writer, value: Any) -> None:
    """A text, or a dtype or a device by its name."""
    kind, name = _NAMES_OF.get(type(value), (kinds.TEXT, str))
    writer.out.append(kind)
    writer.text(name(value))


_NAMES_OF: Final[dict[type, Any]] = {
    dtypes.dtype: (kinds.DTYPE, lambda value: value.name),
    devices.device: (kinds.DEVICE, str),
}


def _read_dtype(reader: Reader) -> dtypes.dtype:
    name = reader.text()
    if name not in dtypes.BY_NAME:
        raise DamagedEncoding(f"there is no dtype {name!r}")
    return dtypes.BY_NAME[name]


def _read_device(reader: Reader) -> devices.device:
    name = reader.text()
    try:
        return devices.device(name)
    except (RuntimeError, TypeError, ValueError) as error:
        raise DamagedEncoding(f"{shown(name)} is no device: {error}") from None


def _bytes(writer: Writer, value: bytes | bytearray) -> None:
    writer.out.append(kinds.BYTES if type(value) is bytes else kinds.BYTEARRAY)
    writer.out += kinds.INT.pack(len(value))
    writer.octets(memoryview(value))


# -------------------------------------------------------------------------------------- containers

_ROWS: Final[dict[type, int]] = {
    tuple: kinds.TUPLE,
    frozenset: kinds.FROZENSET,
    Size: kinds.SIZE,
    list: kinds.LIST,
    set: kinds.SET,
}


def _row(writer: Writer, value: Any) -> None:
    writer.items(_ROWS[type(value)], value)


def _dict(writer: Writer, value: dict[Any, Any]) -> None:
    writer.items(kinds.DICT, value, chain.from_iterable(value.items()))


def _ordered(writer: Writer, value: OrderedDict[Any, Any]) -> None:
    writer.items(kinds.ORDERED, value, chain.from_iterable(value.items()))
    writer.value(dict(value.__dict__))  # a state_dict has `_metadata`


def _parts(writer: Writer, value: slice | range) -> None:
    writer.out.append(kinds.SLICE if type(value) is slice else kinds.RANGE)
    for part in (value.start, value.stop, value.step):
        writer.value(part)


def _read_list(reader: Reader) -> list[Any]:
    return reader.into(reader.keep([]))


def _hashable(found: list[Any]) -> frozenset[Any]:
    try:
        alike.check(found)
        return frozenset(found)
    except TypeError:
        raise DamagedEncoding("something that has no hash is in a set") from None
    except ValueError as error:
        raise DamagedEncoding(f"{error}") from None


def _read_set(reader: Reader) -> set[Any]:
    found = reader.keep(set[Any]())
    found.update(_hashable(reader.items()))
    return found


def _read_dict(reader: Reader) -> dict[Any, Any]:
    return reader.pairs(reader.keep({}))


def _read_ordered(reader: Reader) -> OrderedDict[Any, Any]:
    found = reader.pairs(reader.keep(OrderedDict[Any, Any]()))
    rest = reader.value()
    if type(rest) is not dict or not all(type(name) is str for name in rest):
        raise DamagedEncoding("the attributes of an ordered dict")
    found.__dict__.update(rest)
    return found


def _read_size(reader: Reader) -> Size:
    sides = reader.items()
    if any(type(side) is not int for side in sides):
        raise DamagedEncoding(f"a torch.Size of {shown(sides)}")
    return Size(sides)


def _read_range(reader: Reader) -> range:
    parts = (reader.value(), reader.value(), reader.value())
    if any(type(part) is not int for part in parts) or parts[2] == 0:
        raise DamagedEncoding(f"a range of {shown(parts)}")
    return range(*parts)


# ------------------------------------------------------------------------- functions and classes

_NAMING: Final = (type, ModuleType, type(None))


def _named(writer: Writer, value: Any) -> None:
    checked = names.checked.get(value) if writer.trust is Trust.FULL else None
    writer.out.append(kinds.NAMED)
    writer.text(checked or names.name_of(value, writer.trust))


def _method(writer: Writer, value: BuiltinFunctionType | MethodType) -> None:
    """Of a class or a module it has a name. A method of some object, such as [].append, has none."""
    if isinstance(value.__self__, _NAMING):
        _named(writer, value)
    else:
        writer.otherwise(value)


def _outside(reader: Reader) -> Any:
    raise DamagedEncoding("a buffer where a value should be")


for _types, _write in (
    ((bool, type(None), EllipsisType), _constant),
    ((int,), _int),
    ((float,), _float),
    ((complex,), _complex),
    ((timedelta,), _timedelta),
    ((str, *_NAMES_OF), _text),
    ((bytes,), _bytes),
    ((bytearray,), once(_bytes)),
    ((tuple, frozenset, Size), _row),
    ((list, set), once(_row)),
    ((dict,), once(_dict)),
    ((OrderedDict,), once(_ordered)),
    ((slice, range), _parts),
    ((FunctionType, type), _named),
    ((BuiltinFunctionType, MethodType), _method),
):
    for _type in _types:
        writes(_type, _write)
writes(type, _named, below=True)

READERS.update(
    {
        kinds.NONE: lambda reader: None,
        kinds.TRUE: lambda reader: True,
        kinds.FALSE: lambda reader: False,
        kinds.ELLIPSIS: lambda reader: ...,
        kinds.INT1: lambda reader: kinds.BYTE.unpack(reader.take(1))[0],
        kinds.INT8: Reader.integer,
        kinds.BIG: lambda reader: int.from_bytes(reader.take(reader.count()), "little", signed=True),
        kinds.FLOAT: lambda reader: kinds.FLOATS.unpack(reader.take(8))[0],
        kinds.COMPLEX: lambda reader: complex(*kinds.COMPLEXES.unpack(reader.take(16))),
        kinds.TEXT: Reader.text,
        kinds.BYTES: lambda reader: bytes(reader.octets(reader.integer())),
        kinds.BYTEARRAY: keeping(lambda reader: bytearray(reader.octets(reader.integer()))),
        kinds.TUPLE: lambda reader: tuple(reader.items()),
        kinds.LIST: _read_list,
        kinds.SET: _read_set,
        kinds.FROZENSET: lambda reader: _hashable(reader.items()),
        kinds.SIZE: _read_size,
        kinds.DICT: _read_dict,
        kinds.ORDERED: _read_ordered,
        kinds.SLICE: lambda reader: slice(reader.value(), reader.value(), reader.value()),
        kinds.RANGE: _read_range,
        kinds.TIMEDELTA: _read_timedelta,
        kinds.DTYPE: _read_dtype,
        kinds.DEVICE: _read_device,
        kinds.NAMED: lambda reader: names.find(reader.text(), reader.trust),
        kinds.SAME: Reader.same,
        kinds.OUTSIDE: _outside,
    }
)
