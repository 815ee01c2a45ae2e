"""What strangers do at a door, and how much of a process they may take."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

PATIENCE = 20.0  # seconds for an honest client, on a machine with other work
ROOM = 256 << 20  # bytes by which a server may grow
FILES = 300  # files more than at the beginning


class Wrong(AssertionError):
    """An honest client was hindered, or a server grew."""


def stranger(random: Random, address: tuple[str, int], texts: Sequence[bytes]) -> socket.socket | None:
    """Comes, says something or nothing, and leaves at once, in the middle, or not at all (then its
    socket is what is returned)."""
    try:
        connection = socket.create_connection(address, PATIENCE)
    except OSError as error:
        raise Wrong(f"nobody takes connections any more: {error}") from error
    with suppress(OSError):
        text = random.choice(texts)
        if random.random() < 0.7:
            connection.sendall(text[: random.randrange(len(text) + 1)])
        match random.randrange(4):
            case 0:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            case 1:
                connection.shutdown(socket.SHUT_WR)
            case 2:
                return connection
    connection.close()
    return None


GREETINGS = (
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(60),
    b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 96, b"\xff" * 96, b"mtdist\x00\x01" + bytes(80), b"mtdist", b"\n",
    b"\x10\xff\xff\xff\x7f", b"\x10\x0c\0\4MQTT\4\2\0\x3c\0\0", b"\xc0\0", bytes(3000),
)  # fmt: skip


class Watch:
    """How large a process is, compared with the beginning."""

    def __init__(self, pid: int | None = None) -> None:
        self.proc = Path(f"/proc/{pid or os.getpid()}")
        self.memory, self.files = self._now()

    def _now(self) -> tuple[int, int]:
        pages = int((self.proc / "statm").read_text().split()[1])
        return pages * resource.getpagesize(), len(list((self.proc / "fd").iterdir()))

    def check(self) -> None:
        memory, files = self._now()
        if memory - self.memory > ROOM:
            raise Wrong(f"the server grew from {self.memory:,} to {memory:,} bytes")
        if files - self.files > FILES:
            raise Wrong(f"the server has {files} files open, at first {self.files}")


def all_of(acts: Sequence[Callable[[], object]], random: Random) -> None:
    """In an order of this seed."""
    for act in random.sample(list(acts), len(acts)):
        act()
