"""Members of a store, clients of a broker and pupils of a class, who hold the key and ask for what costs most.

Each attempt lets one, two or three kinds of them loose at once, drawn at random from those of `tests.transports.members`,
`broker_members` and `pupils`, while honest ones work. Judged are the server's processor time and its memory, by the
bytes that were sent, and the right answers of the honest ones, in time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from tests.hostile.judging import Verdict
from tests.hostile.live.crowd import PATIENCE, Wrong
from tests.hostile.running import Session, Tried
from tests.transports import broker_members, members, pupils
from tests.transports.members import Bill, Process
from transports.broker import launch

FRESH = 8  # attempts with one server: a store keeps what members put there, and a list of its keys grows


def open_store(seed: int, folder: Path) -> Session:
    def cost(process: Process, attack: Any, random: Random, scale: float) -> Bill:
        return members.cost_of(attack, process, random, scale)

    return Members("members-store", seed, members.ATTACKS, Process, cost)


def open_broker(seed: int, folder: Path) -> Session:
    def cost(broker: launch.BrokerProcess, attack: Any, random: Random, scale: float) -> Bill:
        port = int(broker.address.rpartition(":")[2])
        return broker_members.cost_of(attack, port, broker.pid, random, scale)

    return Members("members-broker", seed, broker_members.ATTACKS, launch.start, cost)


def open_class(seed: int, folder: Path) -> Session:
    def cost(made: pupils.ClassProcess, attack: Any, random: Random, scale: float) -> Bill:
        return pupils.cost_of(attack, made, random, scale)

    return Members("pupils", seed, pupils.ATTACKS, pupils.ClassProcess, cost)


def together(attacks: Sequence[Any]) -> Callable[[Any, Random, float], None]:
    """All of them at once, each by a crowd of its own. Their bytes go on one bill."""

    def act(crowd: Any, random: Random, scale: float) -> None:
        crowds = [replace(crowd, bill=Bill(), sockets=[]) for _ in attacks]
        seeds, trouble = [random.randrange(1 << 30) for _ in attacks], list[BaseException]()

        def run(attack: Any, own: Any, seed: int) -> None:
            try:
                attack(own, Random(seed), scale)
            except BaseException as error:
                trouble.append(error)

        threads = [
            threading.Thread(target=run, args=each, daemon=True) for each in zip(attacks, crowds, seeds, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for own in crowds:
            crowd.sockets += own.sockets
            for name in ("sent", "values", "taken"):
                setattr(crowd.bill, name, getattr(crowd.bill, name) + getattr(own.bill, name))
        if trouble:
            raise trouble[0]

    return act


class Members:
    def __init__(
        self, name: str, seed: int, attacks: Sequence[Any], start: Callable[[], Any], cost: Callable[..., Bill]
    ) -> None:
        self.name, self.seed, self.attacks = name, seed, attacks
        self._start, self._cost = start, cost
        self._server: Any = None
        self._used = 0
        os.environ.setdefault("MINITORCH_DIST_KEY", "the key of hostile members")

    def attempt(self, number: int) -> Tried:
        random = Random(f"{self.name}/{self.seed}/{number}")
        if self._used % FRESH == 0:
            self.close()
            self._server = self._start()
        self._used += 1
        drawn = random.sample(list(self.attacks), random.choice((1, 1, 2, 3)))
        scale = random.choice((0.05, 0.2, 0.2, 0.5, 1.0))
        what = f"{', '.join(one.__name__ for one in drawn)} at {scale}"
        try:
            bill = self._cost(self._server, together(drawn), random, scale)
        except AssertionError as error:
            raise Wrong(f"{what}: {error}") from error
        if not bill.is_fair:
            raise Wrong(f"{what}: too much for {bill}")
        if bill.slowest > PATIENCE:
            raise Wrong(f"{what}: an honest client waited for {bill.slowest:.1f} s")
        return Tried(Verdict("accepted"), len(drawn))

    def close(self) -> None:
        server, self._server = self._server, None
        if isinstance(server, launch.BrokerProcess):
            server.stop()
        elif server is not None:
            server.close()
