"""Does what ranks call depend on the order of a set? The same run under several hash seeds.

    sim.check_hash_seeds(train, world_size=8)

The ranks of a real run are processes. Each has a hash seed of its own (unless PYTHONHASHSEED says which).
So a set of strings has another order on each of them, and a loop over it that calls collectives mixes them
up. The ranks of a simulated run are in one process, which has one hash seed: they all go wrong alike, and
nobody notices. So the run is made in several processes with different seeds. The calls that make a rank
send are compared, one by one. The first call that is not the same depends on an order that will not be the
same on any two ranks.

A set of numbers has the same order everywhere; sets of strings, of bytes, and of what is made of them do not.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from minitorch_dist.distributed.mail import wire
from minitorch_dist.sim import runner
from minitorch_dist.sim.stage import SimulationStage
from transports.errors import DistError

SEEDS = (1, 2, 3)
SECONDS = 600
_PROGRAM = "from minitorch_dist.sim import hashing; hashing.main()"


class DependsOnHashes(DistError):
    """The calls of a rank depend on the process's hash seed. `rank`, `call`: the first that differs."""

    def __init__(self, words: str, rank: int, call: int) -> None:
        super().__init__(words)
        self.rank, self.call = rank, call


def check_hash_seeds(
    fn: Callable[..., Any],
    world_size: int,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    hash_seeds: Sequence[int] = SEEDS,
) -> None:
    """Run `fn` once for each hash seed; DependsOnHashes shows the first call that differs.

    `fn` is a function of a module or a script, by its name, as other processes have to find it; its
    arguments are what JSON can say. An error of a run is no difference by itself.
    """
    order = json.dumps([*_address(fn), world_size, list(args), dict(kwargs or {})])
    runs = [_run(order, seed) for seed in hash_seeds]
    for number, other in enumerate(runs[1:], 1):
        for rank in range(world_size):
            for call, (one, two) in enumerate(zip_longest(runs[0][rank], other[rank])):
                if one != two:
                    raise DependsOnHashes(
                        f"what rank {rank} calls depends on the hash seed of its process: call {call} is "
                        f"{one or 'none'} with PYTHONHASHSEED={hash_seeds[0]}, and {two or 'none'} with "
                        f"{hash_seeds[number]}. Real ranks have different ones, so they would call different "
                        "operations: look for a loop over a set, and sort it",
                        rank,
                        call,
                    )


def main() -> None:
    """In a process of its own: the order comes by stdin, what the ranks called goes to stdout."""
    module, file, name, world_size, args, kwargs = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr  # what the program prints is not for us
    found: Any = _module(module, file)
    for part in name.split("."):
        found = getattr(found, part)
    calls: dict[int, list[str]] = {rank: [] for rank in range(world_size)}

    def watch(stage: SimulationStage) -> None:
        stage.medium.witness = lambda *what: _note(calls, *what)

    try:
        runner.run(found, world_size, args, kwargs, prepared=watch)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    json.dump([calls[rank] for rank in range(world_size)], out)


def _note(calls: dict[int, list[str]], kind: str, *facts: Any) -> None:
    """Each operation once, in the order in which it first sends something."""
    if kind != "send":
        return
    src, *_, header, _ = facts
    try:
        decoded = wire.decode(header)
    except wire.WireError:
        return
    said = str(decoded._replace(step=decoded.step if decoded.is_point_to_point else 0))
    if decoded.sequence in (wire.NOTICE, wire.FAREWELL):
        return
    if decoded.is_point_to_point or said not in calls[src][-8:]:
        calls[src].append(said)


def _run(order: str, seed: int) -> list[list[str]]:
    environment = os.environ | {"PYTHONHASHSEED": str(seed)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], input=order, env=environment, capture_output=True,
        text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise DistError(
            f"the run with PYTHONHASHSEED={seed} could not be made: {done.stderr[-2000:]}"
        )
    found: list[list[str]] = json.loads(done.stdout)
    return found


def _address(fn: Callable[..., Any]) -> tuple[str, str, str]:
    name = getattr(fn, "__qualname__", "")
    if not name or "<" in name:
        raise TypeError(
            f"{fn!r} cannot be found by another process: pass a function that stands in a module"
        )
    module = sys.modules[fn.__module__]
    return fn.__module__, str(Path(getattr(module, "__file__", None) or "").resolve()), name


def _module(name: str, file: str) -> Any:
    """By its name, or, of a script or where the name is not to be found, by its file."""
    if name != "__main__":
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    spec = importlib.util.spec_from_file_location("program", file)
    assert spec is not None and spec.loader is not None
    made = sys.modules["program"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
