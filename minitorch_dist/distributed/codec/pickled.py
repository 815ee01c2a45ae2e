"""Values without a form of their own: pickle, protocol 5, between peers that trust each other in full.

    PICKLED    u32 n, n values · u32 m, m bytes of pickle · u32 b, b buffers as u64 length and octets

Tensors, arrays, exceptions and the types that the layers above have added are taken out of the pickle.
They travel as values of their own (the n values). So those inside an object are treated as those outside.
"""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import Any

import numpy as np

from minitorch_dist.distributed.codec import arrays, kinds, others
from minitorch_dist.distributed.codec.errors import CodecError, DamagedEncoding, Unsendable
from minitorch_dist.distributed.codec.writer_and_reader import READERS, Reader, Writer, keeping, once, writes
from minitorch_dist.futures import Future
from minitorch_dist.tensors.core.base import TensorBase


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer]) -> None:
        super().__init__(file, 5, buffer_callback=buffers.append)
        self.taken: list[Any] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, value: Any) -> int | None:
        if not (
            isinstance(value, TensorBase)
            or type(value) in others.KNOWN
            or (type(value) is np.ndarray and arrays.is_plain(value.dtype))
        ):
            return None
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.taken)
            self.taken.append(value)
        return number


class _Unpickler(pickle.Unpickler):
    def __init__(self, octets: memoryview, buffers: list[memoryview], taken: list[Any]) -> None:
        super().__init__(io.BytesIO(octets), buffers=buffers)
        self._taken = taken

    def persistent_load(self, number: Any) -> Any:
        return self._taken[number]


@once
def write(writer: Writer, value: Any) -> None:
    if not writer.trust.may_pickle:
        raise Unsendable(
            f"{described(value)} cannot be sent: the codec has no form for it, and {writer.trust.value}. "
            "Send tensors, numbers, texts and containers of them",
            value=value,
        )
    octets, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    pickler = _Pickler(octets, buffers)
    try:
        pickler.dump(value)
    except CodecError:
        raise
    except Exception as error:
        raise _refused(value, error) from None
    writer.out.append(kinds.PICKLED)
    writer.out += kinds.COUNT.pack(len(pickler.taken))
    for taken in pickler.taken:
        writer.value(taken)
    view = octets.getbuffer()
    writer.out += kinds.INT.pack(view.nbytes)
    writer.octets(view)
    writer.out += kinds.COUNT.pack(len(buffers))
    for buffer in buffers:
        raw = buffer.raw()
        writer.out += kinds.INT.pack(raw.nbytes)
        writer.octets(raw)


def _refused(value: Any, error: Exception) -> Unsendable:
    if isinstance(value, Future):
        return Unsendable(
            "a Future cannot be sent: its value arrives in this process only; send wait()'s result, or return the "
            "Future from a function with @rpc.functions.async_execution"
        )
    return Unsendable(f"{described(value)} cannot be sent: {error}")


def described(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, FunctionType):
        return f"the function {value.__qualname__}"
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


@keeping
def read(reader: Reader) -> Any:
    if not reader.trust.may_pickle:
        raise DamagedEncoding(f"a pickle is in it, and {reader.trust.value}")
    taken = [reader.value() for _ in range(reader.count())]
    octets = reader.octets(reader.integer())
    buffers = [reader.octets(reader.integer()) for _ in range(reader.count())]
    return _Unpickler(octets, buffers, taken).load()


writes(object, write)
READERS[kinds.PICKLED] = read
