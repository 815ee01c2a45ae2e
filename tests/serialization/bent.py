"""Files and indices whose JSON was bent: a part taken away, doubled, or replaced by another.

python -m tests.serialization.bent 1000000      the long run
"""

from __future__ import annotations

import base64
import copy
import io
import json
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import minitorch_dist as mtd
from minitorch_dist import SerializationError
from minitorch_dist.distributed import checkpoint as dcp
from minitorch_dist.distributed.checkpoint import CheckpointException, index, values
from minitorch_dist.distributed.checkpoint.folder import Checkpoint
from minitorch_dist.distributed.checkpoint.pieces import Box
from tests.serialization.test_damage import SAMPLE, pack

ODD: list[Any] = [
    None, True, 0, 1, -1, 2**31, 2**63, 2**70, 1e308, float("inf"), float("nan"), "", "x", "x.0", "\0", "../x", "leaf",
    "list", "dict", "odict", "counter", "defaultdict", "set", "int", "float", "complex", "bytes", "dtype", "size",
    "device", "slice", "number", "float32", "bfloat16", "int64", "cuda:0", "cuda:" + "9" * 5000, "0x" + "f" * 5000, "=",
    "AAAA", [], {}, [[]], [0], ["leaf", 0], ["dict", [["a", 1]]], {"in": "x"}, {"packed": "AA=="}, {"saved": ""},
]  # fmt: skip


def bend(random: Random, tree: Any) -> Any:
    """A copy in which one to three places are other than they were."""
    tree = copy.deepcopy(tree)
    for _ in range(random.randint(1, 3)):
        here: Any = tree
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                break
            key = random.choice(keys)
            inner = here[key]
            if isinstance(inner, (dict, list)) and random.random() < 0.8:
                here = inner
                continue
            match random.randrange(4):
                case 0:
                    del here[key]
                case 1 if isinstance(here, list):
                    here.insert(key, copy.deepcopy(inner))
                case 2:
                    here[key] = copy.deepcopy(here[random.choice(keys)])
                case _:
                    here[key] = copy.deepcopy(random.choice(ODD))
            break
    return tree


LENGTH = int.from_bytes(SAMPLE[:8], "little")
HEADER = json.loads(SAMPLE[8 : 8 + LENGTH])
SIDE = json.loads(HEADER["__metadata__"]["minitorch_dist"])


def attempt_file(random: Random) -> bool:
    """Whether a bent file could be loaded; anything but that or the one error is a bug."""
    header, side = HEADER, SIDE
    if random.random() < 0.7:
        side = bend(random, SIDE)
    else:
        header = bend(random, HEADER)
    if isinstance(header.get("__metadata__"), dict):
        header = {**header, "__metadata__": {"minitorch_dist": json.dumps(side)}}
    try:
        mtd.load(io.BytesIO(pack(header, SAMPLE[8 + LENGTH :])))
    except SerializationError:
        return False
    except RuntimeError as error:
        assert "Attempting to deserialize object on" in str(error)  # a device that is not here
        return False
    return True


class Bench:
    """A checkpoint on the disk, for whose index others stand in."""

    def __init__(self, folder: str) -> None:
        x = mtd.arange(12.0).reshape(4, 3)
        state = {"x": x, "y": [mtd.ones(()), {"z": mtd.zeros(0, 2)}], "n": 3, "t": (1, 2.5), "s": "text"}
        dcp.save(state, checkpoint_id=folder)
        self.folder = folder
        self.index = json.loads((Path(folder) / "index.json").read_text())
        octets = io.BytesIO()
        mtd.save([1, (2,)], octets)
        self.index["values"]["saved"] = {"saved": base64.b64encode(octets.getvalue()).decode()}

    def attempt(self, random: Random) -> bool:
        """Whether all that a bent index names could be read; anything but that or the one error is a bug."""
        try:
            bent = bend(random, self.index)
            if random.random() < 0.9:  # else the checksum of all is wrong
                bent.pop(index.SEAL, None)
            (Path(self.folder) / "index.json").write_text(json.dumps(bent))
            with closing(Checkpoint(self.folder)) as found:
                for name, about in found.tensors.items():
                    whole = Box((0,) * len(about.shape), about.shape)
                    found.check(name, whole)
                    found.read(name, whole, np.empty(about.shape, about.dtype))
            for name, value in found.values.items():
                values.unpacked(name, value)
        except CheckpointException:
            return False
        return True


def campaign(count: int, seed: int) -> tuple[int, int]:
    """How many files and indices could be read."""
    random = Random(seed)
    files = sum(attempt_file(random) for _ in range(count))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        return files, sum(bench.attempt(random) for _ in range(count))


if __name__ == "__main__":
    print(campaign(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
