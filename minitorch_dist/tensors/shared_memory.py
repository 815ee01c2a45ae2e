"""Memory that several processes see: a nameless file, which each of them maps.

    this process                          another one
    tensor ─► array ─► Block ─► file ◄─ Block ◄─ array ◄─ tensor
                         descriptor ── sent ──►

The file has no name, so nothing is left behind. The system frees it when the last process has let go, even if
one is killed. A forked process inherits the mapping. Everywhere else `multiprocessing` pickles the tensor: as an
argument of a process, or through a queue or a pipe. Then only the file's descriptor travels, and the place of
the tensor in the file. Plain pickle and `save` know nothing of this: they copy the elements.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, Storage, T, TensorBase, bare


class Block(mmap.mmap):
    """A mapped nameless file, and the descriptor by which others can map it."""

    fd: int

    def __new__(cls, fd: int, size: int) -> Block:
        block = super().__new__(cls, fd, size)
        block.fd = fd
        weakref.finalize(block, os.close, fd)
        return block


_blocks: weakref.WeakValueDictionary[tuple[int, int], Block] = weakref.WeakValueDictionary()


def moved(array: Array) -> Array:
    """A copy of the elements in new shared memory."""
    fd = _nameless_file()
    os.ftruncate(fd, array.nbytes)
    fresh = np.frombuffer(_mapped(fd), array.dtype, array.size).reshape(array.shape)
    fresh[...] = array
    return fresh


def block_of(array: Array) -> Block | None:
    """The shared memory that an array looks at, if it does."""
    owner: Any = array
    while owner is not None and not isinstance(
        owner, Block
    ):  # arrays, views of memory, and what is below
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return owner


def travel_as_memory(kind: type[TensorBase]) -> None:
    """From now on `multiprocessing` sends shared tensors of this class, and views of them, as their memory."""
    from multiprocessing.reduction import ForkingPickler

    for each in (kind, kind.plain):
        ForkingPickler.register(each, reduce)


def reduce(tensor: TensorBase) -> Any:
    """For `multiprocessing`: where the tensor's memory is; or its elements, if they are not shared."""
    block = block_of(tensor.array)
    by_value: Any = tensor.__reduce_ex__(2)
    if block is None:
        return by_value
    kind, _, _, requires_grad, rest = by_value[1]
    x = tensor.array
    start = np.frombuffer(block, np.uint8).ctypes.data
    window = (x.dtype, x.shape, x.strides, x.ctypes.data - start)
    return rebuild, (kind, _sent(block.fd), window, requires_grad, rest)


_handed_down: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()


def _sent(fd: int) -> Any:
    """A stand-in for a descriptor in a pickle. A process that is being started takes each only once."""
    from multiprocessing import context, reduction

    child = context.get_spawning_popen()
    if child is None:
        return reduction.DupFd(fd)
    given = _handed_down.setdefault(child, {})
    if fd not in given:
        given[fd] = reduction.DupFd(fd)
    return given[fd]


def rebuild(
    kind: type[T], descriptor: Any, window: Any, requires_grad: bool, rest: dict[str, Any]
) -> T:
    """In the other process: a leaf on the same memory."""
    block = _mapped(descriptor.detach())
    dtype, shape, strides, offset = window
    array: Array = np.ndarray(shape, dtype, block, offset, strides)
    out = bare(kind, array, Storage(array))
    out._requires_grad = requires_grad
    out.__dict__.update(rest)
    travel_as_memory(kind)
    return out


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("minitorch_dist")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _mapped(fd: int) -> Block:
    """The file, mapped once in this process, however often its descriptor arrives."""
    about = os.fstat(fd)
    key = (about.st_dev, about.st_ino)
    found = _blocks.get(key)
    if found is None:
        found = _blocks[key] = Block(fd, about.st_size)
    elif found.fd != fd:
        os.close(fd)
    return found
