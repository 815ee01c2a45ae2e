"""`load`: the object that a file describes. Nothing is made of it before its header was checked."""

from __future__ import annotations

import errno
import io
import os
from typing import Any, BinaryIO, Final

import numpy as np

from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.serialization import container, in_memory, locations, strict_json, structure
from minitorch_dist.serialization.container import Array, Entry, SerializationError
from minitorch_dist.serialization.locations import MapLocation
from minitorch_dist.serialization.saving import OURS, VERSION
from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core.base import Storage, bare
from minitorch_dist.tensors.tensor import Tensor
from transports import keeper

Leaf = dict[str, Any]  # what the file says of one tensor or array


class MissingFile(FileNotFoundError, SerializationError):
    """There is nothing at the path."""


class FolderGiven(IsADirectoryError, SerializationError):
    """The path leads to a folder."""


class ForbiddenFile(PermissionError, SerializationError):
    """The system does not let us read it."""


_NO_FILE: Final[dict[int | None, type[OSError]]] = {
    errno.ENOENT: MissingFile, errno.EISDIR: FolderGiven, errno.EACCES: ForbiddenFile, errno.EPERM: ForbiddenFile,
}  # fmt: skip


def load(
    f: str | os.PathLike[str] | BinaryIO,
    map_location: MapLocation = None,
    *,
    weights_only: bool | None = True,
    mmap: bool | None = False,
) -> Any:
    """Read what `save` wrote, or a safetensors file of others (which is a dict of tensors).

    Args:
        f: A path, or a file opened for reading bytes.
        map_location: On which device tensors go (see `locations.place`).
        weights_only: Accepted as in torch; a pickle is never read.
        mmap: Accepted as in torch; it changes nothing.

    Returns:
        The object.

    Raises:
        SerializationError: The file is truncated, damaged or of another kind. Where there is none, that is a FileNotFoundError,
            IsADirectoryError or PermissionError at the same time, as in torch.

    Example:
        >>> import io
        >>> try:
        ...     torch.load(io.BytesIO(b"no such file"))
        ... except RuntimeError as error:
        ...     type(error).__name__
        'SerializationError'
    """
    if isinstance(f, (str, os.PathLike)):
        with _opened(f) as opened:
            try:
                size = os.fstat(opened.fileno()).st_size
                return _read(opened, size, map_location, whole=True)
            except SerializationError as error:
                raise type(error)(f"{error} It is {os.fspath(f)!r}.") from None
            except OSError as error:
                raise SerializationError(f"{os.fspath(f)!r} cannot be read: {error}") from error
    file = f if f.seekable() else io.BytesIO(f.read())
    start = file.tell()
    size = file.seek(0, io.SEEK_END) - start
    file.seek(start)
    return _read(file, size, map_location, whole=False)


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file. FIFOs and devices are no files that could be read whole, and to open one may take for ever."""
    try:
        return os.fdopen(keeper.open_file(path, follow=True), "rb")
    except OSError as error:
        kind = _NO_FILE.get(error.errno)
        if kind is None:
            raise SerializationError(f"The file cannot be loaded: {error}.") from None
        raise kind(*error.args[:2], error.filename) from None


def _read(file: BinaryIO, size: int, map_location: MapLocation, whole: bool) -> Any:
    origin = file.tell()
    entries, metadata, begin = container.read_header(file.read, size, whole)
    end = max((e.stop for e in entries), default=0)
    tree, leaves = _description(metadata, entries)
    memories: dict[str, tuple[Array, Array]] = {}
    try:
        used: dict[str, Any] = {}
        for leaf in leaves:
            name = leaf["in"]
            used[name] = used.get(name) if "shape" in leaf else leaf.get("strides")
        for entry in entries:
            if entry.name in used:
                file.seek(origin + begin + entry.start)
                memories[entry.name] = _read_entry(file, entry, used.pop(entry.name))
        if used:
            raise ValueError(f"there is no entry {next(iter(used))!r}")
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise _damaged(error) from None
    file.seek(origin + begin + end)  # where the next object may stand
    return structure.decode(tree, _make_leaves(leaves, memories, map_location))


def _description(metadata: dict[str, str], entries: list[Entry]) -> tuple[Any, list[Leaf]]:
    """The structure and the leaves; for a file of others, a dict of all entries."""
    if OURS not in metadata:
        pairs = [[entry.name, ["leaf", number]] for number, entry in enumerate(entries)]
        return ["dict", pairs], [{"in": entry.name} for entry in entries]
    try:
        ours = strict_json.loads(metadata[OURS])
        version, tree, leaves = ours["version"], ours["object"], ours["leaves"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(error) from None
    if version != VERSION:
        raise SerializationError(
            f"The file cannot be loaded: it is of version {version!r}, and this library reads "
            f"version {VERSION}; use a newer one."
        )
    if not isinstance(leaves, list) or not all(isinstance(leaf, dict) for leaf in leaves):
        raise _damaged("its leaves are not a list of tables")
    return tree, leaves


def _read_entry(file: BinaryIO, entry: Entry, strides: Any) -> tuple[Array, Array]:
    """The memory of an entry, and the entry as it lies in it."""
    memory, array = in_memory.memory_for(entry, strides)
    target = array if array.flags.c_contiguous else np.empty(entry.shape, entry.dtype)
    container.fill(file, entry.name, target)
    container.demand_whole(entry, container.checksum(target))
    if target is not array:
        array[...] = target
    return memory, array


def _make_leaves(leaves: list[Leaf], memories: dict[str, tuple[Array, Array]], map_location: MapLocation) -> list[Any]:
    """The tensors and arrays. Those in one memory share one storage."""
    storages: dict[str, Storage] = {}
    made: list[Any] = []
    for leaf in leaves:
        name = leaf["in"]
        memory, array = memories[name]
        if leaf.get("kind") == "array":
            made.append(_array(leaf, memory, array))
            continue
        if name not in storages:
            storages[name] = locations.place(memory, _label(leaf), map_location)
        storage = storages[name]
        if storage.array is not memory:  # a function took it elsewhere
            array = np.ndarray(array.shape, array.dtype, container.as_bytes(storage.array), 0, array.strides)
        made.append(_tensor(leaf, _array(leaf, storage.array, array), storage))
    return made


def _array(leaf: Leaf, memory: Array, whole: Array) -> Array:
    if "shape" not in leaf:
        return whole
    try:
        return in_memory.window_on(leaf, memory)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise _damaged(error) from None


def _label(leaf: Leaf) -> str:
    try:
        return str(devices.device(str(leaf.get("device", "cpu"))))
    except RuntimeError as error:
        raise _damaged(error) from None


def _tensor(leaf: Leaf, array: Array, storage: Storage) -> Tensor:
    if array.dtype not in dtypes.FROM_NUMPY:
        raise _damaged(f"'{leaf['in']}' is {array.dtype}, and there are no tensors of that type")
    requires_grad = leaf.get("requires_grad") is True
    if requires_grad and array.dtype.kind in "iub":
        raise _damaged(f"'{leaf['in']}' is {array.dtype} and cannot require a gradient")
    tensor = bare(Tensor, array, storage)
    if leaf.get("kind") == "parameter":
        return Parameter(tensor, requires_grad)
    tensor.requires_grad = requires_grad
    return tensor


def _damaged(error: object) -> SerializationError:
    return SerializationError(f"The file cannot be loaded: its description of a tensor is damaged ({error}).")
