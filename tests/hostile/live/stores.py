"""A TCPStore whose clients say anything, while two honest ones count."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.hostile.bending import bytes_bender
from tests.hostile.doors import stores
from tests.hostile.judging import Verdict
from tests.hostile.live.crowd import GREETINGS, PATIENCE, Watch, Wrong, stranger
from tests.hostile.running import Session, Tried
from transports import frames
from transports.clock import SYSTEM
from transports.errors import DistNetworkError, DistStoreError
from transports.keys import job_key
from transports.sockets.auth_listener import dial
from transports.sockets.handshake import Claim
from transports.stores import protocol
from transports.stores.server import KEY
from transports.stores.tcp import TCPStore

CROWD = 20  # odd clients and strangers of one attempt
BEND = bytes_bender(stores.list_fields)


def open_it(seed: int, folder: Path) -> Session:
    return Store(seed)


class Store:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.store = TCPStore("127.0.0.1", 0, is_master=True, timeout=PATIENCE, wait_for_workers=False)
        self.honest = [TCPStore("127.0.0.1", self.store.port, timeout=PATIENCE) for _ in range(2)]
        self.counts = [0, 0]
        self.guests: list[socket.socket] = []
        self.watch = Watch()

    def attempt(self, number: int) -> Tried:
        random = Random(f"live-store/{self.seed}/{number}")
        failed: list[BaseException] = []
        threads = [threading.Thread(target=self._work, args=(n, failed), daemon=True) for n in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(CROWD):
            (self._odd if random.random() < 0.7 else self._stranger)(random)
        for thread in threads:
            thread.join(3 * PATIENCE)
            if thread.is_alive():
                raise Wrong("an honest client waits for ever")
        if failed:
            raise Wrong(f"an honest client was hindered: {failed[0]}") from failed[0]
        self._let_go(10)
        self.watch.check()
        return Tried(Verdict("accepted"), CROWD)

    def _work(self, who: int, failed: list[BaseException]) -> None:
        """What ranks do with a store: count, leave something, wait for it, take it."""
        store, name = self.honest[who], f"honest {who}"
        try:
            for _ in range(5):
                self.counts[who] += 1
                count = self.counts[who]
                if store.add(f"{name} count", 1) != count:
                    raise Wrong(f"{name} counts wrongly")
                store.set(f"{name} {count}", f"value {count}")
                store.wait([f"{name} {count}"])
                if store.get(f"{name} {count}") != f"value {count}".encode():
                    raise Wrong(f"{name} reads something else than it wrote")
                store.queue_push(f"{name} queue", f"{count}")
                if store.queue_pop(f"{name} queue") != f"{count}".encode():
                    raise Wrong(f"{name} pops something else than it pushed")
                store.delete_key(f"{name} {count}")
        except BaseException as error:
            failed.append(error)

    def _odd(self, random: Random) -> None:
        """It holds the key, and speaks oddly."""
        try:
            client = dial("127.0.0.1", self.store.port, job_key(KEY), Claim(0, 0), SYSTEM, SYSTEM.deadline(PATIENCE))
        except (DistNetworkError, DistStoreError) as error:
            raise Wrong(f"nobody lets clients in any more: {error}") from error
        client.settimeout(0.2)  # it does not wait long for an answer
        with suppress(OSError):
            for _ in range(random.choice((1, 1, 3))):
                client.sendall(odd_frame(random))
            match random.randrange(4):
                case 0:
                    client.sendall(frames.pack(0, 500) + b"half")
                case 1:
                    client.recv(1 << 16) if random.random() < 0.2 else None
                case 2:
                    self.guests.append(client)
                    return
        client.close()

    def _stranger(self, random: Random) -> None:
        left = stranger(random, ("127.0.0.1", self.store.port), GREETINGS)
        if left is not None:
            self.guests.append(left)

    def _let_go(self, most: int) -> None:
        while len(self.guests) > most:
            self.guests.pop(0).close()

    def close(self) -> None:
        self._let_go(0)
        for store in (*self.honest, self.store):
            store.close()


def odd_frame(random: Random) -> bytes:
    """A request that is right, or bent, or has odd numbers of keys and values; never one that would
    wait for ever, nor one for the honest ones' keys."""
    given = stores.make_commands(random, 0)
    for _ in range(random.randrange(3)):
        given = stores.bend_commands(random, given, [given])
    asked = given[0]._replace(seconds=random.choice((0.0, 0.01, -1.0, float("inf"), 1e300)))
    with suppress(UnicodeEncodeError, struct.error):
        frame = protocol.pack_request(asked)
        if random.random() < 0.5:
            body = BEND(random, frame[frames.LENGTH :], [frame])
            body = stores.fit_list(random, body) if random.random() < 0.7 else body
            frame = frames.pack(0, len(body)) + body
        return frame if random.random() < 0.9 else frame[: random.randrange(len(frame))]
    return frames.pack(0, 1 << 27)
