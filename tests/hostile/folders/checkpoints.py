"""Checkpoints, `save` and `load` in a hostile folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import minitorch_dist as mtd
from minitorch_dist.distributed import checkpoint as dcp
from minitorch_dist.distributed.checkpoint import CheckpointException
from minitorch_dist.distributed.checkpoint.folder import INDEX
from minitorch_dist.serialization import SerializationError
from tests.hostile.folders.place import KINDS, Visit
from transports.keeper import locks

MODEL = "model.pt"
OLD, NEW = 1.0, 2.0


def state(fill: float) -> dict[str, Any]:
    return {"w": mtd.full((40, 30), fill), "deep": {"b": mtd.full((5,), fill), "n": fill}}


def check(found: dict[str, Any]) -> None:
    fill = found["deep"]["n"]
    values = np.unique(np.concatenate([found["w"].numpy().ravel(), found["deep"]["b"].numpy()]))
    assert fill in (OLD, NEW) and values.tolist() == [fill], f"it loads as {fill} and {values}"


def save_checkpoint(place: Path, fill: float = OLD) -> None:
    dcp.save(state(fill), checkpoint_id=place, no_dist=True)


def load_checkpoint(place: Path) -> None:
    found = state(np.nan)
    dcp.load(found, checkpoint_id=place, no_dist=True)
    check(found)


def save_twice(place: Path) -> None:
    save_checkpoint(place, NEW)
    dcp.save(state(NEW), checkpoint_id=place, no_dist=True)


def save_file(place: Path) -> None:
    mtd.save(state(OLD), place / MODEL)


def load_file(place: Path) -> None:
    check(mtd.load(place / MODEL))


def visits() -> list[Visit]:
    broken = (CheckpointException,)
    ours = (INDEX, locks.LOCK)
    links = ("link", "outside", "dangling", "device")  # `save` follows one: its caller has named it
    not_links = tuple(kind for kind in KINDS if kind not in links)
    return [
        Visit("checkpoint-load", save_checkpoint, load_checkpoint, broken, ours),
        Visit("checkpoint-save", save_checkpoint, save_twice, broken, ours),
        Visit("load", save_file, load_file, (SerializationError,), (MODEL,)),
        Visit("save", save_file, save_file, (OSError,), (MODEL,), not_links),
    ]
