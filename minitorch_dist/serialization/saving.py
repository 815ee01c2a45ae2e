"""`save`: an object, made of tensors and plain values, as one file.

    object ──structure──► JSON, in the file's metadata
       └─ tensors ──layout──► entries of the file, and windows on them (JSON as well)

So a state_dict of tensors is an ordinary safetensors file with the same names, and a file that
others wrote loads as a dict of tensors.
"""

from __future__ import annotations

import json
import os
from typing import Any, BinaryIO, Final

from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.serialization import container, files, in_memory, structure
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import TensorBase

OURS: Final = "minitorch_dist"  # the metadata's key for our side of the file
VERSION: Final = 1


def save(obj: Any, f: str | os.PathLike[str] | BinaryIO) -> None:
    """Write an object to a path or to a file opened for writing, without pickle.

    A path is written whole or not at all. Tensors that share memory share it again after loading.

    Args:
        obj: Made of tensors, plain values and containers.
        f: A path, or a file opened for writing bytes.

    Raises:
        TypeError: Something is neither a value nor a container, and where it is. Nothing has been written then.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save({"w": torch.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> torch.load(file)["w"].tolist()
        [1.0, 1.0]
    """
    encoder = structure.Encoder()
    tree = encoder.encode(obj)
    arrays = [leaf.array if isinstance(leaf, TensorBase) else leaf for leaf, _ in encoder.leaves]
    names = _names([path for _, path in encoder.leaves])
    # of a plain state_dict every name is there for other readers, also where memory is shared
    flat = isinstance(obj, dict) and all(isinstance(v, TensorBase) for v in obj.values())
    keys = [key for key in obj if isinstance(key, str) and container.is_name(key)] if flat else []
    entries, windows = in_memory.arrange(arrays, names, keys)
    for key in keys:
        entries.setdefault(key, obj[key].array)
    about = [_about(leaf) | w for (leaf, _), w in zip(encoder.leaves, windows, strict=True)]
    ours = {"version": VERSION, "object": tree, "leaves": about}
    metadata = {"format": "pt", OURS: json.dumps(ours, separators=(",", ":"))}
    if not isinstance(f, (str, os.PathLike)):
        container.write(f, entries, metadata)
        return
    with files.replacing(f) as file:
        container.write(file, entries, metadata)


def _names(paths: list[structure.Path]) -> list[str]:
    """A name for each leaf: its path, joined by dots. Paths of texts have the first choice."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for number in sorted(range(len(paths)), key=lambda n: not _is_text(paths[n])):
        wanted = ".".join(s if isinstance(s, str) else repr(s) for s in paths[number]) or "tensor"
        wanted = wanted if container.is_name(wanted) else "unnamed"
        names[number] = in_memory.free_name(wanted, taken)
        taken.add(names[number])
    return [names[number] for number in range(len(paths))]


def _is_text(path: structure.Path) -> bool:
    return all(isinstance(step, str) and container.is_name(step) for step in path)


def _about(leaf: Any) -> dict[str, Any]:
    """The facts about a leaf beyond its values."""
    if not isinstance(leaf, TensorBase):
        return {"kind": "array"}
    about: dict[str, Any] = {}
    if isinstance(leaf, Parameter):
        about["kind"] = "parameter"
    if leaf.requires_grad:
        about["requires_grad"] = True
    if leaf.device is not devices.CPU:
        about["device"] = str(leaf.device)
    return about
