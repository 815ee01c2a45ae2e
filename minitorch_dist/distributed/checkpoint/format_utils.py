"""A checkpoint of many ranks as one file of `save`, and back; one process, no group."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import numpy as np

from minitorch_dist import serialization
from minitorch_dist.distributed.checkpoint import saving_and_loading, values
from minitorch_dist.distributed.checkpoint.folder import Checkpoint
from minitorch_dist.distributed.checkpoint.index import CheckpointException
from minitorch_dist.distributed.checkpoint.pieces import Box
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

Path_ = str | os.PathLike[str]


def dcp_to_torch_save(dcp_checkpoint_dir: Path_, torch_save_path: Path_) -> None:
    """Write all that a checkpoint holds into one file, nested as it was when it was saved."""
    checkpoint = Checkpoint.held(dcp_checkpoint_dir)
    nested: dict[str, Any] = {}
    found = {name: values.unpacked(name, value) for name, value in checkpoint.values.items()}
    with checkpoint.opened():
        for name, about in checkpoint.tensors.items():
            everything = Box((0,) * len(about.shape), about.shape)
            checkpoint.check(name, everything)  # before there is memory for it
            whole = np.empty(about.shape, about.dtype)
            checkpoint.read(name, everything, whole)
            _put(nested, checkpoint.paths.get(name, [name]), base.new(Tensor, whole))
        for name, value in found.items():
            _put(nested, checkpoint.paths.get(name, [name]), value)
    checkpoint.demand_sealed()
    serialization.save(_with_lists(nested), torch_save_path)


def torch_save_to_dcp(torch_save_path: Path_, dcp_checkpoint_dir: Path_) -> None:
    """Make a checkpoint, which any number of ranks can load, of one file."""
    state = serialization.load(torch_save_path)
    if not isinstance(state, MutableMapping):
        raise ValueError(
            f"{Path(torch_save_path)} holds a {type(state).__name__}; a checkpoint is made of a dict"
        )
    saving_and_loading.save(dict(state), checkpoint_id=dcp_checkpoint_dir, no_dist=True)


class _List(dict[int, Any]):
    """A list that is being filled, in any order."""


def _put(nested: dict[Any, Any], path: list[Any], value: Any) -> None:
    """Put it where its keys lead; a key that is a list of one number is a place in a list."""
    keys = [key[0] if isinstance(key, list) else key for key in path]
    for place, key in enumerate(keys[:-1]):
        inner = nested.setdefault(key, _List() if isinstance(path[place + 1], list) else {})
        if not isinstance(inner, dict):
            raise CheckpointException(f"the keys {keys[: place + 1]} of {keys} lead to a value")
        nested = inner
    if keys[-1] in nested:
        raise CheckpointException(f"the keys {keys} lead to two values")
    nested[keys[-1]] = value


def _with_lists(nested: Any) -> Any:
    if isinstance(nested, _List):
        return [_with_lists(nested[place]) for place in sorted(nested)]
    if isinstance(nested, dict):
        return {key: _with_lists(value) for key, value in nested.items()}
    return nested
