"""kill -9 inside every collective: everybody else is told who, in what, of which group, and where.

Each world does one collective again and again, as training does, and one of its ranks kills itself
at its n-th send or look. In a rooted collective not everybody needs the dead rank; those learn it
from the ones that do, in this turn or a later one.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import world
from tests.deep import some_of
from tests.distributed import nursery
from tests.transports.brokers import KEY, KINDS, Broker
from transports import keys

pytestmark = pytest.mark.slow
WATCHDOG = 120.0  # seconds; who was not told by then waits for ever
BRISK = 100  # turns without a pause; then each pretends to compute a little


def operations(count: int) -> dict[str, Callable[[], Any]]:
    """Every collective, on vectors of `count` elements for each rank."""
    size, rank = dist.get_world_size(), dist.get_rank()
    one, whole = torch.ones(count), torch.ones(count * size)
    parts = [torch.ones(count) for _ in range(size)]
    taken = [torch.ones(count) for _ in range(size)]
    is_root = rank == 0
    return {
        "broadcast": lambda: dist.broadcast(one, 0),
        "all_reduce": lambda: dist.all_reduce(one),
        "reduce": lambda: dist.reduce(one, 0),
        "all_gather": lambda: dist.all_gather(parts, one),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(whole, one),
        "gather": lambda: dist.gather(one, parts if is_root else None, 0),
        "scatter": lambda: dist.scatter(one, parts if is_root else None, 0),
        "reduce_scatter": lambda: dist.reduce_scatter(one, parts),
        "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(one, whole),
        "all_to_all": lambda: dist.all_to_all(taken, parts),
        "all_to_all_single": lambda: dist.all_to_all_single(whole, torch.ones(count * size)),
        "broadcast_object_list": lambda: dist.broadcast_object_list([list(range(count))], 0),
        "all_gather_object": lambda: dist.all_gather_object([None] * size, list(range(count))),
        "gather_object": lambda: dist.gather_object(list(range(count)), [None] * size if is_root else None, 0),
        "scatter_object_list": lambda: dist.scatter_object_list(
            [None], [list(range(count))] * size if is_root else None, 0
        ),
        "barrier": dist.barrier,
        "monitored_barrier": dist.monitored_barrier,
    }


OPERATIONS = (
    "broadcast", "all_reduce", "reduce", "all_gather",
    "all_gather_into_tensor", "gather", "scatter", "reduce_scatter", "reduce_scatter_tensor",
    "all_to_all", "all_to_all_single", "broadcast_object_list", "all_gather_object",
    "gather_object", "scatter_object_list", "barrier", "monitored_barrier",
)  # fmt: skip


class Mortal:
    """Lets its process kill itself at the n-th send or look, and write down when that was."""

    def __init__(self, at: int, last_words: Path) -> None:
        self.left, self.last_words = at, last_words
        transport: Any = world.current().transport
        transport.send = self._counting(transport.send)
        transport.progress = self._counting(transport.progress)

    def _counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                self.last_words.write_text(str(time.monotonic()))
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*given)

        return call


def until_somebody_dies(
    rank: int, name: str, count: int, victim: int, at: int, last_words: Path
) -> tuple[float, int, str]:
    """When this rank was told, who is said to be lost, and the whole text."""
    act = operations(count)[name]
    if rank == victim:
        act()
        Mortal(at, last_words)
    until = time.monotonic() + WATCHDOG
    turns = itertools.count()
    try:
        while time.monotonic() < until:
            act()
            time.sleep(0.001 * (next(turns) > BRISK))
    except dist.PeerLost as lost:
        return time.monotonic(), lost.rank, str(lost)
    return 0.0, -1, "nothing"


def check(worlds: list[tuple[str, str, int, int, int]], folder: Path, at_once: int = 1) -> None:
    """Run worlds of (address, operation, size, victim, at); all survivors must be told."""
    plan = []
    for number, (address, name, size, victim, at) in enumerate(worlds):
        given = (name, (5, 40_000)[number % 2], victim, at, folder / f"{number}")
        plan.append(nursery.World(address, size, until_somebody_dies, given))
    longest = 0.0
    for number, results in enumerate(nursery.run(plan, at_once)):
        _, name, size, victim, at = worlds[number]
        killed = float((folder / f"{number}").read_text())
        for rank, told in enumerate(results):
            case = f"{name}, {size} ranks, rank {victim} killed at its look {at}: rank {rank}"
            if rank == victim:
                assert told is None, case
                continue
            assert isinstance(told, tuple), f"{case}: {told}"
            when, lost, text = told
            said = "\n".join(map(str, results))
            assert lost == victim and f"rank {victim} is lost" in text, f"{case}: {text}\n{said}"
            assert f"{name} #" in text and "of group 'default_pg'" in text, f"{case}: {text}"
            assert "test_killed.py:" in text, f"{case}: {text}"
            longest = max(longest, when - killed)
    print(f"{len(worlds)} worlds, told after at most {longest:.3f} s")


ADDRESSES = ["tcp://", "file://{0}/{1}", "file://{0}/{1}?mode=append"]


@pytest.mark.parametrize(
    ("address", "turn"), some_of([(address, turn) for turn in (0, 1) for address in ADDRESSES], 0, 1, 2)
)
def test_everybody_is_told(address: str, turn: int, tmp_path: Path) -> None:
    """Each collective once with 3 ranks and once with 2 or 5; half of that in each turn.

    2 s are promised, and a small part of one is what it takes. A loaded machine needs longer, so how
    long it took is printed (`pytest -s`) and not judged: who is never told makes the test fail.
    """
    medium = tmp_path / "medium"
    medium.mkdir()
    worlds = []
    for number, name in enumerate(OPERATIONS):
        cases = [(3, number % 3, number % 4), (2 + number // 2 % 2 * 3, 1, 5)]
        size, victim, at = cases[(number + turn) % 2]
        worlds.append((address.format(medium, len(worlds)), name, size, victim, at))
    check(worlds, tmp_path, at_once=3)
    assert list(medium.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_everybody_is_told_over_mqtt(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """12 s are promised and about 3 are taken: the last will, and time to come back. Each broker
    gets every second collective."""
    monkeypatch.setenv(keys.VARIABLE, KEY)
    broker = Broker(kind)
    try:
        names = OPERATIONS[kind == "mosquitto" :: 2]
        worlds = [
            (f"{broker.address}/{number}", name, 2 + number % 2, 1, number % 4) for number, name in enumerate(names)
        ]
        check(worlds, tmp_path, at_once=len(worlds))
    finally:
        broker.stop()
