"""Ranks of `tcp` find each other and talk, while strangers stand at all of their doors."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from tests.hostile.judging import Verdict
from tests.hostile.live.crowd import GREETINGS, PATIENCE, Watch, Wrong
from tests.hostile.running import Session, Tried
from transports import frames
from transports.conformance.bench import Tray, pattern
from transports.sockets import handshake
from transports.sockets.handshake import Claim
from transports.stores.store import HashStore
from transports.tcp import TcpTransport


def open_it(seed: int, folder: Path) -> Session:
    return Meetings(seed)


class Crowded(HashStore):
    """Other ranks learn where rank 0 listens when the strangers are there already."""

    def __init__(self) -> None:
        super().__init__()
        self.crowd_is_there = threading.Event()

    def set(self, key: str, value: str | bytes) -> None:
        super().set(key, value)
        if key == "tcp/0":
            self.crowd_is_there.wait(PATIENCE)


class Meetings:
    def __init__(self, seed: int) -> None:
        self.seed, self.watch = seed, Watch()

    def attempt(self, number: int) -> Tried:
        random = Random(f"live-meeting/{self.seed}/{number}")
        size, store = random.choice((1, 2, 3, 5)), Crowded()
        trouble: list[BaseException] = []
        guests: list[socket.socket] = []
        ranks = [threading.Thread(target=self._rank, args=(r, size, store, trouble), daemon=True) for r in range(size)]
        for thread in ranks:
            thread.start()
        count = self._strangers(random, store, guests)
        store.crowd_is_there.set()
        for thread in ranks:
            thread.join(3 * PATIENCE)
        for guest in guests:
            guest.close()
        if any(thread.is_alive() for thread in ranks):
            raise Wrong("ranks do not find each other")
        if trouble:
            raise Wrong(f"a rank was hindered: {trouble[0]}") from trouble[0]
        self.watch.check()
        return Tried(Verdict("accepted"), count)

    def _strangers(self, random: Random, store: HashStore, guests: list[socket.socket]) -> int:
        """Those who read in the store where rank 0 listens, or scan all ports."""
        store.wait(["tcp/0"], PATIENCE)
        host, port = address_in(store.get("tcp/0"))
        count = random.choice((3, 10, 40, 160))
        hello, _ = handshake.answer(b"x" * 32, handshake.greet(), Claim(1, 0, b"w"))
        texts = (*GREETINGS, hello, hello[:50], frames.pack(3, 1 << 30))
        for _ in range(count):
            try:
                guest = socket.create_connection((host, port), PATIENCE)
            except OSError:  # all have come, and nobody listens any more
                break
            with suppress(OSError):
                guest.sendall(random.choice(texts)[: random.choice((0, 1, 8, 40, 88, 3000))])
            guests.append(guest)
            if random.random() < 0.5:
                guests.pop(random.randrange(len(guests))).close()
        return count

    def _rank(self, rank: int, size: int, store: HashStore, trouble: list[BaseException]) -> None:
        transport: Any = TcpTransport(rank, size)
        tray = Tray(bool)
        try:
            transport.connect(store, tray, 2 * PATIENCE)
            for peer in range(size):
                transport.send(peer, b"header", pattern(rank, 3000))
            while any(tray.count(peer) < 1 for peer in range(size)):
                if not transport.progress(PATIENCE):
                    raise Wrong(f"rank {rank} has {sorted(tray.messages)} and nothing more comes")
            for peer in range(size):
                if tray.messages[peer] != [(b"header", bytearray(pattern(peer, 3000)))]:
                    raise Wrong(f"rank {rank} got something else than rank {peer} sent")
            if tray.complaints:
                raise Wrong("; ".join(tray.complaints))
        except BaseException as error:
            trouble.append(error)
        finally:
            transport.close()

    def close(self) -> None: ...


def address_in(card: bytes) -> tuple[str, int]:
    """Host and port of a card (its first number after a host is the port)."""
    words = card.decode().replace(":", " ").split()
    for word, after in pairwise(words):
        if after.isdigit() and 0 < int(after) < 65536:
            return word, int(after)
    raise AssertionError(f"{card!r} says no host and port")
