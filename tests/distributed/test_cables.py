"""A cable is pulled between two hosts: every rank says soon whom it has lost, whichever side it stands on."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.distributed import cut_off
from tests.transports import hosts
from transports.clock import SYSTEM

pytestmark = pytest.mark.slow
LIMIT = 120.0  # seconds against a hang: it takes 6 to 13, and took as long as the cable was out
PORT, BROKER = 29500, 1883
MORE = [(1, "pull"), (0, "blind"), (1, "blind")]


@pytest.fixture(autouse=True)
def possible() -> None:
    if reason := hosts.why_not():
        pytest.skip(reason)


class CutOff:
    """Worlds of two and three ranks between two hosts. Even ranks, and with them each store, are on host 0."""

    def __init__(self, pair: hosts.Hosts, folder: Path, programs: list[str]) -> None:
        self.folder = folder
        places: list[list[str]] = [[], []]
        worlds = [(name, size) for name in programs for size in (2, 3)]
        for number, (name, size) in enumerate(worlds):
            port = BROKER if name == "mqtt" else PORT + number
            for rank in range(size - (name == "meeting")):  # nobody is the last one there
                places[rank % 2].append(f"{name}/{rank}/{size}/{port}")
        self.expected = {place for row in places for place in row}
        command = [sys.executable, "-m", cut_off.__name__, f"{folder}"]
        self.processes = [
            subprocess.Popen(["ip", "netns", "exec", name, *command, *row], stdout=subprocess.PIPE, bufsize=0)
            for name, row in zip(pair.names, places, strict=True)
        ]
        self.ready, self.ended = set[str](), dict[str, str]()

    def hear(self, until: Callable[[], bool]) -> None:
        """Listen to the ranks until all of them have said something."""
        outputs: dict[int, bytearray] = {p.stdout.fileno(): bytearray() for p in self.processes}  # type: ignore[union-attr]
        deadline = SYSTEM.deadline(LIMIT)
        while not until() and not deadline.is_over() and outputs:
            for file in select.select(list(outputs), [], [], 0.2)[0]:
                said = os.read(file, 1 << 16)
                outputs[file] += said
                if not said:
                    del outputs[file]
                    continue
                *lines, rest = bytes(outputs[file]).decode().split("\n")
                outputs[file] = bytearray(rest.encode())
                for line in lines:
                    place, what, *text = line.split(" ", 2)
                    self.ready |= {place} if what == "ready" else set()
                    self.ended |= {place: "".join(text)} if what == "end" else {}

    def __enter__(self) -> CutOff:
        return self

    def __exit__(self, *error: Any) -> None:
        for process in self.processes:
            process.kill()  # its ranks end with it
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> Iterator[Callable[[str], None]]:
    """Starts one on a host."""
    with ExitStack() as at_end:

        def start(name: str) -> None:
            words = [sys.executable, "-m", "transports.broker", "--host", cut_off.MASTER, "--port", f"{BROKER}"]
            process = subprocess.Popen(["ip", "netns", "exec", name, *words], stdout=subprocess.PIPE)
            at_end.callback(process.stdout.close)  # type: ignore[union-attr]
            at_end.callback(process.wait)
            at_end.callback(process.kill)
            assert process.stdout is not None and process.stdout.readline().startswith(b"mqtt://")

        yield start


@pytest.mark.parametrize(
    ("side", "manner"), [(0, "pull"), *(pytest.param(*more, marks=pytest.mark.deep) for more in MORE)]
)
def test_every_rank_names_the_loss(side: int, manner: str, tmp_path: Path, broker: Callable[[str], None]) -> None:
    with hosts.Hosts(2) as pair:
        broker(pair.names[0])
        with CutOff(pair, tmp_path, list(cut_off.PROGRAMS)) as worlds:
            worlds.hear(lambda: worlds.ready == worlds.expected)
            assert worlds.ready == worlds.expected
            getattr(pair, manner)(side)
            (tmp_path / "pulled").touch()
            alone = {place for place in worlds.expected if place.startswith("meeting/0/")}
            worlds.hear(lambda: worlds.ended.keys() >= worlds.expected - alone)
    for place in worlds.expected - alone:  # rank 0 of a meeting has lost nobody: nobody was there
        assert place in worlds.ended, f"{place} is silent"
        name = place.partition("/")[0]
        told = {"leaving": "have not come to the hosts of the ranks", "meeting": "the store at"}
        here = worlds.ended[place]
        circle = name == "idle" and "In a circle each rank waits" in here  # which may be found first
        assert circle or told.get(name, "is lost") in here or "has left" in here, f"{place}: {here}"
