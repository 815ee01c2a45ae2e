"""Members of a store that ask for what costs its server most, all of it legal; and the cost.

    python -m tests.transports.members            a line for each: bytes, processor time, memory, an honest client

The store has a process of its own, whose processor time and highest memory the system counts. Beside the members an
honest client works, looks at each answer, and notes the slowest.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from transports import frames
from transports.clock import SYSTEM
from transports.keys import job_key
from transports.sockets.auth_listener import dial
from transports.sockets.handshake import Claim
from transports.stores import protocol, server
from transports.stores.protocol import StoreRequest
from transports.stores.tcp import TCPStore

ROOT = Path(__file__).resolve().parents[2]
SECONDS, SECONDS_A_BYTE = 1.0, 2e-6  # of processor time, for bytes that were sent and taken
BYTES, BYTES_A_BYTE = (32 << 20, 100)  # of memory; Python's own, and the buffers of sockets, come and go
COPIES = 4  # of a long value, on its way and where it is kept
PATIENCE = 60.0  # seconds for an honest client, on a machine with other work
PROGRAM = """
import sys
from transports.stores.tcp import TCPStore
store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
print(store.port, flush=True)
sys.stdin.read()
store.close()
"""


class Process:
    """A server in a process of its own, and what it has cost so far."""

    def __init__(self, program: str = PROGRAM) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None and self._process.stdin is not None
        self.said = self._process.stdout.readline().decode().strip()
        self.pid = self._process.pid

    def seconds(self) -> float:
        return seconds_of(self.pid)

    def memory(self) -> int:
        return memory_of(self.pid)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        assert self._process.stdout is not None and self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def seconds_of(pid: int) -> float:
    """Processor time of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / 100


def memory_of(pid: int) -> int:
    """The most memory that it had since `forget_peak`."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) << 10


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


@dataclass
class Bill:
    """The bytes that members sent and took, and their cost."""

    sent: int = 0
    values: int = 0  # of that, bytes of long values
    taken: int = 0
    seconds: float = 0.0
    memory: int = 0
    slowest: float = 0.0  # answer to an honest client

    @property
    def is_fair(self) -> bool:
        work = SECONDS + SECONDS_A_BYTE * (self.sent + self.taken)
        values = min(self.values, self.sent)
        room = BYTES + BYTES_A_BYTE * (self.sent - values) + COPIES * values
        return self.seconds <= work and self.memory <= room

    def __str__(self) -> str:
        return (
            f"{self.sent:>11,} bytes sent {self.taken:>12,} taken {self.seconds:>6.2f} s "
            f"{self.memory / (1 << 20):>7.1f} MiB  honest {self.slowest:6.3f} s{'' if self.is_fair else '  TOO MUCH'}"
        )


# ------------------------------------------------------------------------------------- the members


def request(
    operation: str, keys: list[str] | None = None, values: list[bytes] | None = None, seconds: float = 0.0
) -> bytes:
    return protocol.pack_request(StoreRequest(operation, keys or [], values or [], seconds))


@dataclass
class Crowd:
    """Members of one store, and what they have sent and taken."""

    port: int
    bill: Bill = field(default_factory=Bill)
    sockets: list[socket.socket] = field(default_factory=list)

    def member(self, takes: int = 0) -> socket.socket:
        """A connection that has proved to hold the key; `takes` makes its buffer small."""
        found = dial("127.0.0.1", self.port, job_key(server.KEY), Claim(0, 0), SYSTEM, SYSTEM.deadline(PATIENCE))
        if takes:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes)
        found.settimeout(PATIENCE)
        self.bill.sent += 88
        self.sockets.append(found)
        return found

    def say(self, member: socket.socket, data: bytes, seconds: float = 5.0) -> bool:
        """Send it; False if the store takes no more of it, or has hung up."""
        member.settimeout(seconds)
        left = memoryview(data)
        try:
            while left:
                count = member.send(left[: 1 << 20])
                self.bill.sent += count
                left = left[count:]
        except OSError:
            return False
        return True

    def take(self, member: socket.socket, answers: int = 1) -> None:
        """Read so many answers."""
        member.settimeout(PATIENCE)
        for _ in range(answers):
            head = self._exactly(member, frames.LENGTH)
            self._exactly(member, frames.unpack(head)[1])

    def _exactly(self, member: socket.socket, length: int) -> bytes:
        found = bytearray()
        while len(found) < length:
            piece = member.recv(min(length - len(found), 1 << 20))
            if not piece:
                raise EOFError("the store hung up")
            found += piece
            self.bill.taken += len(piece)
        return bytes(found[: frames.LENGTH])

    def put(self, key: str, nbytes: int) -> None:
        """A long value."""
        self.ask(self.member(), request("set", [key], [bytes(nbytes)]))
        self.bill.values += nbytes

    def ask(self, member: socket.socket, data: bytes, answers: int = 1) -> None:
        if self.say(member, data, PATIENCE):
            self.take(member, answers)

    def leave(self) -> None:
        while self.sockets:
            self.sockets.pop().close()


def names(random: Random, count: int) -> list[str]:
    start = f"{random.randrange(1 << 20):x}/"
    return [f"{start}{number}" for number in range(count)]


def wait_for_many(crowd: Crowd, random: Random, scale: float) -> None:
    """A wait for many missing keys that is over at once, and one that is over soon."""
    keys = names(random, int(30_000 * scale))
    member = crowd.member()
    for seconds in (0.0, 0.01):
        crowd.ask(member, request(random.choice(("wait", "get")), keys, seconds=seconds))


def wait_beside_sets(crowd: Crowd, random: Random, scale: float) -> None:
    """Some wait for many missing keys, while another sets other keys."""
    for _ in range(5):
        crowd.say(crowd.member(), request("wait", names(random, int(20_000 * scale)), seconds=600))
    member = crowd.member()
    for name in names(random, 200):
        crowd.ask(member, request("set", [name], [b"1"]))


def keys_come_one_by_one(crowd: Crowd, random: Random, scale: float) -> None:
    """A wait for many keys, which come one after the other, the last one first."""
    keys = names(random, int(5_000 * scale))
    waiter, member = crowd.member(), crowd.member()
    crowd.say(waiter, request("wait", keys, seconds=600))
    crowd.ask(member, b"".join(request("set", [key], [b"1"]) for key in reversed(keys)), len(keys))
    crowd.take(waiter)


def never_read(crowd: Crowd, random: Random, scale: float) -> None:
    """Many ask for one large value again and again, and take nothing."""
    crowd.put("large", int((20 << 20) * scale))
    for _ in range(int(30 * scale)):
        crowd.say(crowd.member(1 << 12), request("get", ["large"]) * 20, 0.1)


def one_value_many_times(crowd: Crowd, random: Random, scale: float) -> None:
    """One request asks a thousand times for one value, more than an answer can hold."""
    crowd.put("large", int((8 << 20) * scale))
    member = crowd.member()
    crowd.ask(member, request("get", ["large"] * 1000))
    crowd.ask(member, request("get", ["large"] * 20))
    for _ in range(int(10 * scale)):
        crowd.say(crowd.member(1 << 12), request("get", ["large"] * 30), 0.1)


def small_requests_in_a_row(crowd: Crowd, random: Random, scale: float) -> None:
    """Thousands of small requests in one packet, of several members."""
    count = int(2000 * scale)
    members = [crowd.member() for _ in range(8)]
    for member in members:
        crowd.say(member, request("add", ["many"], [b"1"]) * count)
    for member in members:
        with suppress(OSError):
            crowd.take(member, count)


def come_and_go(crowd: Crowd, random: Random, scale: float) -> None:
    """A key that many wait for is set and deleted in turn; it is never all that they wait for."""
    for _ in range(int(100 * scale)):
        crowd.say(crowd.member(), request("wait", ["flip", "never"], seconds=600))
    member = crowd.member()
    for _ in range(int(500 * scale)):
        crowd.ask(member, request("set", ["flip"], [b"1"]) + request("delete_key", ["flip"]), 2)


def wait_and_leave(crowd: Crowd, random: Random, scale: float) -> None:
    """They wait for many keys, and leave; or say half a request, and stay."""
    for _ in range(20):
        member = crowd.member()
        data = request("wait", names(random, int(5_000 * scale)), seconds=600)
        crowd.say(member, data if random.random() < 0.7 else data[: len(data) // 2])
        if random.random() < 0.7:
            member.close()


def wait_and_talk(crowd: Crowd, random: Random, scale: float) -> None:
    """They wait for ever, say more than is read meanwhile, and hang up."""
    for _ in range(5):
        member = crowd.member()
        crowd.say(member, request("wait", ["never"], seconds=1e300))
        crowd.say(member, request("set", ["k"], [bytes(1 << 18)]), 0.1)
        if random.random() < 0.5:
            member.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        member.close()
    time.sleep(1.0 * scale)


def odd_chunks(crowd: Crowd, random: Random, scale: float) -> None:
    """Requests that come a few bytes at a time."""
    data = b"".join(request("set", [name], [b"1"]) for name in names(random, int(50 * scale)))
    member = crowd.member()
    while data:
        cut = random.randrange(1, 9)
        if not crowd.say(member, data[:cut]):
            break
        data = data[cut:]


def queues(crowd: Crowd, random: Random, scale: float) -> None:
    """Many queues, and many who pop from one."""
    for _ in range(int(50 * scale)):
        crowd.say(crowd.member(), request("queue_pop", ["q"], seconds=600))
    member = crowd.member()
    crowd.ask(member, b"".join(request("queue_push", [n], [b"1"]) for n in names(random, 500)), 500)
    for _ in range(100):
        crowd.ask(member, request("queue_push", ["q"], [b"1"]))


Attack = Callable[[Crowd, Random, float], None]
ATTACKS: tuple[Attack, ...] = (
    wait_for_many, wait_beside_sets, keys_come_one_by_one, never_read, one_value_many_times,
    small_requests_in_a_row, come_and_go, wait_and_leave, wait_and_talk, odd_chunks, queues,
)  # fmt: skip


# ------------------------------------------------------------------------------------ an honest client


class Honest:
    """Works in a thread of its own, looks at each answer, and notes how long the slowest took."""

    def __init__(self, work: Callable[[int], None]) -> None:
        self._work, self._is_over = work, False
        self.rounds, self.slowest = 0, 0.0
        self.trouble: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._is_over:
                self.rounds += 1
                before = time.monotonic()
                self._work(self.rounds)
                self.slowest = max(self.slowest, time.monotonic() - before)
                time.sleep(0.002)
        except BaseException as error:
            self.trouble = error

    def wait(self) -> None:
        """A little."""
        self._thread.join(0.01)

    def end(self) -> None:
        """Its last round is right, too; AssertionError if one was not."""
        self._is_over = True
        self._thread.join(3 * PATIENCE)
        if self._thread.is_alive():
            raise AssertionError("an honest client waits for ever")
        if self.trouble is not None:
            raise AssertionError(f"an honest client was hindered: {self.trouble}") from self.trouble


@contextmanager
def honest_client(port: int, name: str) -> Iterator[Honest]:
    store = TCPStore("127.0.0.1", port, timeout=PATIENCE)
    before = store.add(f"{name} count", 0)

    def work(turn: int) -> None:
        if turn % 5 == 0:
            store.queue_push(f"{name} queue", f"{turn}")
            assert store.queue_pop(f"{name} queue") == f"{turn}".encode()
        store.set(f"{name} value", f"{turn}")
        assert store.get(f"{name} value") == f"{turn}".encode()
        assert store.add(f"{name} count", 1) == before + turn

    honest = Honest(work)
    try:
        yield honest
        honest.end()
    finally:
        honest._is_over = True
        store.close()


def cost_of(attack: Attack, process: Process, random: Random, scale: float = 1.0) -> Bill:
    """Let it come, with an honest client beside it; AssertionError if that one gets a wrong answer, or none."""
    crowd = Crowd(int(process.said))
    forget_peak(process.pid)
    seconds, memory = process.seconds(), process.memory()
    with honest_client(crowd.port, f"honest {random.randrange(1 << 30)}") as honest:
        try:
            attack(crowd, random, scale)
        finally:
            crowd.bill.seconds = process.seconds() - seconds
            crowd.bill.memory = process.memory() - memory
            crowd.leave()
    crowd.bill.slowest = honest.slowest
    return crowd.bill


def main(arguments: list[str]) -> None:
    for attack in ATTACKS:
        if arguments and attack.__name__ not in arguments:
            continue
        process = Process()
        try:
            said = f"{cost_of(attack, process, Random(1))}"
        except (AssertionError, OSError, EOFError) as error:
            said = f"FAILED: {error}"[:150] + f"; {process.seconds():.1f} s, {process.memory() >> 20} MiB"
        print(f"{attack.__name__:24} {said}", flush=True)
        process.close()


if __name__ == "__main__":
    main(sys.argv[1:])
