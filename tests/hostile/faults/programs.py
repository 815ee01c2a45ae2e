"""What the ranks of a struck world do, and what has to be true when they have ended."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import checkpoint as dcp, journal
from minitorch_dist.distributed.checkpoint.folder import CheckpointException
from minitorch_dist.distributed.journal import files
from tests.hostile.faults import blows, nursery
from tests.hostile.faults.blows import LIMITS, SIGNALS, Blow
from tests.hostile.faults.nursery import End, Fell
from tests.hostile.judging import Verdict
from tests.hostile.running import Part, Session, Tried, fork
from transports.broker import launch
from transports.shared_file import signed_file
from transports.stores.file import FileStore
from transports.stores.tcp import TCPStore

Begun = Callable[[], None]
TIMEOUT = timedelta(seconds=15)
TURNS = 40
ALL_KINDS = (*SIGNALS, *LIMITS)


def expect(found: Any, wanted: Any, what: str) -> None:
    if not np.array_equal(np.asarray(found), np.asarray(wanted)):
        raise Fell(f"wrong value: {what} is {found!r}, and {wanted!r} is right")


# ---------------------------------------------------------------------------------- what ranks do


def collectives(rank: int, size: int, begun: Begun, address: str, meeting_place: str) -> int:
    """Operations whose results are known, again and again."""
    dist.init_process_group(address, f"file://{meeting_place}", TIMEOUT, size, rank)
    begun()
    for turn in range(TURNS):
        count = (3, 7000)[turn % 2]
        x = mtd.full((count,), float(rank + turn))
        dist.all_reduce(x)
        expect(x.numpy()[[0, -1]], [size * turn + size * (size - 1) / 2] * 2, "a sum")
        y = mtd.full((count,), float(turn if rank == turn % size else -1))
        dist.broadcast(y, turn % size)
        expect(y.numpy()[[0, -1]], [turn, turn], "what was broadcast")
        parts = [mtd.zeros(2) for _ in range(size)]
        dist.all_gather(parts, mtd.full((2,), float(rank * turn)))
        expect([p.numpy()[1] for p in parts], [r * turn for r in range(size)], "what was gathered")
        got = mtd.zeros(5)
        work = dist.isend(mtd.full((5,), float(10 * rank + turn)), (rank + 1) % size)
        dist.recv(got, (rank - 1) % size)
        assert work is not None
        work.wait()
        expect(got.numpy(), [10 * ((rank - 1) % size) + turn] * 5, "what the left one sent")
        said: list[Any] = [None] * size
        dist.all_gather_object(said, {"rank": rank, "turn": turn})
        if said != [{"rank": r, "turn": turn} for r in range(size)]:
            raise Fell(f"wrong objects: {said}")
    dist.destroy_process_group()
    return TURNS


def state_of(fill: float) -> dict[str, Any]:
    return {"model": {"w": mtd.full((64, 32), fill), "b": mtd.full((17,), fill)}, "step": int(fill)}


def saving(rank: int, size: int, begun: Begun, meeting_place: str, folder: str) -> int:
    """One checkpoint after the other, in one folder."""
    if size > 1:
        dist.init_process_group("tcp", f"file://{meeting_place}", TIMEOUT, size, rank)
    for generation in range(1, 9):
        if generation == 2:
            begun()
        dcp.save(state_of(float(generation)), checkpoint_id=folder, no_dist=size == 1)
    if size > 1:
        dist.destroy_process_group()
    return 8


def counting(rank: int, size: int, begun: Begun, kind: str, place: str, acknowledged: str) -> int:
    """All add to one counter; each writes down what was acknowledged to it."""
    if kind == "tcp":
        store: Any = TCPStore("127.0.0.1", int(place), timeout=10.0, wait_for_workers=False)
    else:
        store = FileStore(place, size, timeout=10.0)
    begun()
    with Path(f"{acknowledged}-{rank}").open("wb", buffering=0) as book:
        for turn in range(60):
            store.add("counter", 1)
            book.write(b"+")
            store.set(f"{rank}/{turn}", f"{turn}")
            if store.get(f"{rank}/{turn}") != f"{turn}".encode():
                raise Fell("the store says something else than was set")
    store.close()
    return 60


def recorded(rank: int, size: int, begun: Begun, meeting_place: str, folder: str) -> int:
    """A run that writes its journal."""
    os.environ[files.VARIABLE] = f"{folder}/run.mtd"
    return collectives(rank, size, begun, "tcp", meeting_place)


# ------------------------------------------------------------------------- what is true afterwards


def judge(ends: list[End], blow: Blow | None) -> Verdict:
    """Each rank has the right result, or an error that names the cause."""
    told = 0
    failed = {rank for rank, end in enumerate(ends) if not end.is_done}
    for rank, end in enumerate(ends):
        if end.is_done:
            continue
        told += 1
        who = f"rank {rank}, at {blow}"
        if blow is None or blow.kind == "freeze":
            raise Fell(f"{who} failed, though nothing was lost\n{end.trace}")
        if end.kinds == ["died"]:
            if blow.kind == "kill" and rank == blow.victim:
                continue
            if blow.kind in LIMITS and rank == blow.victim:
                continue  # without memory or files it could not even say how it ended
            raise Fell(f"{who} died without a word")
        if not blows.is_told(blow, rank, end.kinds, end.text, end.number, failed):
            raise Fell(f"{who}: {end.kinds[0]} does not tell the cause: {end.text}\n{end.trace}")
    return Verdict("refused" if told else "accepted")


class Worlds:
    """One kind of program; each attempt is a world of its own, with one blow."""

    sizes: tuple[int, ...] = (1, 2, 3, 5)
    kinds: tuple[str, ...] = ALL_KINDS
    lasts = 0.3  # seconds, about

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        self.name, self.seed, self.folder = name, seed, folder

    def attempt(self, number: int) -> Tried:
        random = Random(f"{self.name}/{self.seed}/{number}")
        size = random.choice(self.sizes)
        blow = blows.draw(random, size, self.lasts, self.kinds) if random.random() < 0.95 else None
        place = self.folder / f"{number}"
        place.mkdir()
        try:
            verdict = self.world(random, size, blow, place)
        finally:
            shutil.rmtree(place)
        return Tried(verdict)

    def world(self, random: Random, size: int, blow: Blow | None, place: Path) -> Verdict:
        """Run one, and judge it."""
        raise NotImplementedError

    def close(self) -> None: ...


class Collectives(Worlds):
    """Over one transport."""

    def address(self, place: Path) -> str:
        return "tcp"

    def world(self, random: Random, size: int, blow: Blow | None, place: Path) -> Verdict:
        address = self.address(place)
        ends = nursery.run(collectives, size, blow, place, address, f"{place}/meeting")
        return judge(ends, blow)


class OverFile(Collectives):
    lasts = 0.15

    def address(self, place: Path) -> str:
        return f"file://{place}/world"

    def world(self, random: Random, size: int, blow: Blow | None, place: Path) -> Verdict:
        verdict = super().world(random, size, blow, place)
        signed_file.sweep(place / "world")
        left = [path.name for path in place.glob("world.*")]
        if left:
            raise Fell(f"left behind, and not swept away: {left}")
        return verdict


class OverMqtt(Collectives):
    lasts = 0.8

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        super().__init__(name, seed, folder)
        self.broker = launch.start()

    def address(self, place: Path) -> str:
        return self.broker.address

    def close(self) -> None:
        self.broker.stop()


class Saving(Worlds):
    sizes = (1, 1, 2, 3)
    lasts = 0.2

    def world(self, random: Random, size: int, blow: Blow | None, place: Path) -> Verdict:
        folder = place / "checkpoint"
        ends = nursery.run(saving, size, blow, place, f"{place}/meeting", f"{folder}")
        verdict = judge(ends, blow)
        state = state_of(0.0)
        try:
            dcp.load(state, checkpoint_id=folder, no_dist=True)
        except CheckpointException as error:
            if any(folder.glob("index.json")):
                raise Fell(f"neither the old nor the new checkpoint loads: {error}") from error
            return verdict
        step = float(state["step"])
        for tensor in state["model"].values():
            expect(np.unique(tensor.numpy()), [step], "a checkpoint of two generations")
        return verdict


class Counting(Worlds):
    kinds = (*SIGNALS, "no disk", "few files")

    def world(self, random: Random, size: int, blow: Blow | None, place: Path) -> Verdict:
        kind = self.name.rpartition("-")[2]
        store = FileStore(place / "store", size + 1) if kind == "file" else None
        master = None
        if kind == "tcp":  # in a process of its own: forks and threads do not agree
            master = Master(place)
        try:
            where = f"{place}/store" if master is None else f"{master.port}"
            ends = nursery.run(counting, size, blow, place, kind, where, f"{place}/book")
            verdict = judge(ends, blow)
            acknowledged = sum(path.stat().st_size for path in place.glob("book-*"))
            if store is not None:
                total = store.add("counter", 0)
            else:
                assert master is not None
                total = master.total()
            if not acknowledged <= total <= acknowledged + size:
                raise Fell(f"{acknowledged} additions were acknowledged, and the counter is {total}")
        finally:
            if store is not None:
                store.close()
            if master is not None:
                master.close()
        return verdict


class Master:
    """A TCPStore that is served by a process of its own."""

    def __init__(self, place: Path) -> None:
        reading, writing = os.pipe()
        self.pid = fork()
        if self.pid == 0:
            store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
            os.write(writing, json.dumps(store.port).encode())
            os.close(writing)
            while True:
                time.sleep(60)
        os.close(writing)
        self.port = json.loads(os.read(reading, 100))
        os.close(reading)

    def total(self) -> int:
        store = TCPStore("127.0.0.1", self.port, timeout=10.0, wait_for_workers=False)
        try:
            return store.add("counter", 0)
        finally:
            store.close()

    def close(self) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


class Recording(Worlds):
    sizes = (2, 3)
    kinds = ("kill", "kill", "interrupt", "no disk")

    def world(self, random: Random, size: int, blow: Blow | None, place: Path) -> Verdict:
        folder = place / "journal"
        folder.mkdir()
        ends = nursery.run(recorded, size, blow, place, f"{place}/meeting", f"{folder}")
        verdict = judge(ends, blow)
        try:
            run = journal.read(folder)
        except FileNotFoundError:
            return verdict
        if run.torn > size:
            raise Fell(f"{run.torn} torn lines of {size} ranks")
        run.order.line_up()
        return verdict


def parts() -> list[Part]:
    kinds: dict[str, tuple[type[Worlds], float]] = {
        "fault-tcp": (Collectives, 2.0),
        "fault-file": (OverFile, 2.0),
        "fault-mqtt": (OverMqtt, 2.0),
        "fault-checkpoint": (Saving, 2.0),
        "fault-store-tcp": (Counting, 1.5),
        "fault-store-file": (Counting, 1.5),
        "fault-journal": (Recording, 1.0),
    }

    def opener(name: str, kind: type[Worlds]) -> Callable[[int, Path], Session]:
        return lambda seed, folder: kind(name, seed, folder)

    return [Part(name, "fault", opener(name, kind), weight) for name, (kind, weight) in kinds.items()]
