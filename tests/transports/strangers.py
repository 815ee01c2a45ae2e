"""Crowds of strangers before every listener, and what they cost: memory, files, and the time of members.

    python -m tests.transports.strangers 20000        all on loopback; prints a line for each listener

A stranger hangs up at once, stays and says nothing, sends garbage, or begins a handshake and stops.
At most OPEN of them are connected at the same time. Meanwhile a member comes again and again.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from transports.broker import launch
from transports.broker.credentials import credentials
from transports.conformance.bench import Tray
from transports.keys import VARIABLE
from transports.sockets import auth_listener, handshake, mesh
from transports.stores.store import HashStore
from transports.stores.tcp import TCPStore
from transports.tcp import TcpTransport

OPEN = 600  # strangers at once
TLS_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # the beginning of one
SAYINGS = (None, b"", b"GET / HTTP/1.1\r\n\r\n", handshake.MAGIC + b"half", TLS_HELLO, b"\x10\x7f")
VISITS = 20  # of a member, among the strangers


class Cost(NamedTuple):
    """What a crowd did to a listener."""

    megabytes: float  # by which its process has grown
    files: int  # the most that were open in it
    slowest: float  # seconds that a member took to come and to be served
    visits: int


def memory(pid: int) -> float:
    """Megabytes of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - names are enough


def crowd(port: int, count: int, pid: int, visit: Callable[[], None]) -> Cost:
    """Send `count` strangers to a port of the process `pid`, with visits of a member in between."""
    there: deque[socket.socket] = deque()
    before, most, slowest, visits = memory(pid), 0, 0.0, 0
    for number in range(count):
        stranger = socket.socket()
        stranger.setblocking(False)
        stranger.connect_ex(("127.0.0.1", port))
        saying = SAYINGS[number % len(SAYINGS)]
        if saying is None:
            stranger.close()
        else:
            there.append(stranger)
            say(stranger, saying)
        while len(there) > OPEN:
            there.popleft().close()
        if number % 50 == 0:
            most = max(most, files(pid))
        if number % max(1, count // VISITS) == count // VISITS // 2:
            start = time.monotonic()
            visit()
            visits, slowest = visits + 1, max(slowest, time.monotonic() - start)
    for stranger in there:
        stranger.close()
    return Cost(memory(pid) - before, most, slowest, visits)


def say(stranger: socket.socket, text: bytes) -> None:
    try:
        if text:
            stranger.send(text)
    except OSError:  # it is not connected yet, or was shown out
        pass


def before_a_store(count: int) -> Cost:
    script = (
        "import sys; from transports.stores.tcp import TCPStore\n"
        "store = TCPStore('localhost', 0, is_master=True)\n"
        "print(store.port, flush=True); sys.stdin.read(); store.close()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        port = int(process.stdout.readline())

        def visit() -> None:
            store = TCPStore("localhost", port, timeout=60)
            assert store.add("visits", 1) > 0
            store.close()

        found = crowd(port, count, process.pid, visit)
        process.stdin.close()
    return found


def before_a_broker(count: int) -> Cost:
    """The class's host stands behind such a broker, too."""
    name, password = (text.encode() for text in credentials())
    body = b"\0\4MQTT\4\xc2\0\0\0\6member" + b"".join(len(text).to_bytes(2, "big") + text for text in (name, password))
    with launch.start() as broker:
        port = int(broker.address.rpartition(":")[2])

        def visit() -> None:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as member:
                member.sendall(b"\x10" + bytes([len(body)]) + body)
                assert member.recv(4) == b"\x20\2\0\0"

        return crowd(port, count, broker.pid, visit)


def before_a_world(count: int) -> Cost:
    """Rank 0 of a `tcp` world lets in; rank 1 knows where, and comes when the crowd is there."""
    store, may_come = HashStore(), threading.Event()
    ranks = [TcpTransport(rank, 2) for rank in range(2)]

    def dial_late(*arguments: Any) -> socket.socket:
        may_come.wait()
        return auth_listener.dial(*arguments)

    mesh.dial = dial_late
    threads = [threading.Thread(target=rank.connect, args=(store, Tray(lambda _: True), 600)) for rank in ranks]
    for thread in threads:
        thread.start()
    port = int(store.get("tcp/0").split()[1])
    try:
        found = crowd(port, count, os.getpid(), lambda: None)
        start = time.monotonic()
        may_come.set()
        for thread in threads:
            thread.join()
        found = found._replace(slowest=time.monotonic() - start, visits=1)
        for rank in ranks:
            rank.close()
    finally:
        mesh.dial = auth_listener.dial
    return found


LISTENERS: dict[str, Callable[[int], Cost]] = {
    "a TCPStore": before_a_store,
    "a broker": before_a_broker,
    "a rank of a tcp world": before_a_world,
}


def main() -> None:
    os.environ.setdefault(VARIABLE, "the key of the strangers' listeners")
    count = int(sys.argv[1])
    for name, before in LISTENERS.items():
        start = time.monotonic()
        cost = before(count)
        print(
            f"{count} strangers before {name}: {cost.megabytes:.1f} MiB more, at most {cost.files} files, "
            f"{cost.visits} visits of a member, the slowest {cost.slowest:.2f} s "
            f"({time.monotonic() - start:.0f} s in all)",
            flush=True,
        )


if __name__ == "__main__":
    main()
