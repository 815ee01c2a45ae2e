"""Ranks that share nothing but a folder: an answer has to keep the transports' contract, and is then timed, in virtual time."""

import importlib
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from mtd.course.contest import NotAdmitted
from mtd.course.loading import beside
from transports import conformance, rendezvous
from transports.clock import PICO
from transports.conformance.bench import Tray, pattern
from transports.contract import Transport, flat
from transports.errors import CLOSED, PeerLost, TransportClosed
from transports.virtual.clock import VirtualClock

simple = beside(__file__, "simple")

ABOUT = "messages over a shared folder: time ÷ what nothing can beat"
COLUMN = "files"
UNIT = "times that the folder was asked for something"
PROOF = """The folder answers a rank one request at a time, and a log has one writer. In each round a rank begins at least one append,
since its messages of this round did not exist before. It reads the log of each rank that it hears at least once, and all bytes
that it sends and receives pass the folder. That is one sum. And a message of a round exists only when one of the round before has
been read. So each round takes at least an append and a read after it, or the time for which a rank computes. The larger counts."""
APPEND, LIST, READ = 1.0, 0.4, 0.5  # ms, whatever is written or read
PER_MS = 100_000  # bytes
PAUSE = 0.0001  # seconds between two looks of a rank that waits
BEAT = 0.002  # between two calls of `write` while it does something else
KIT = ["connect", "interleaved", "threads_send", "reuse", "arguments", "farewell", "close_twice"]
MESSAGE, GOODBYE = b"\0", b"\1"  # the first byte of what the judge gives as header
MOST_BESIDE = 64  # bytes that a log may have for each message, besides header and payload


@dataclass(frozen=True)
class Task:
    name: str
    ranks: int
    rounds: int
    peers: int  # to how many ranks behind it each rank sends in a round
    count: int  # messages for each of them
    nbytes: int  # of a message
    ms: float  # that a rank computes between sending and waiting


RACES = (
    Task("one message a round", 4, 8, 1, 1, 20_000, 0.0),
    Task("all to all", 8, 2, 7, 1, 400, 0.0),
    Task("many small ones", 3, 3, 1, 40, 100, 0.0),
    Task("between two sums", 2, 6, 1, 2, 1_000, 3.0),
)


@dataclass(frozen=True)
class Outcome:
    time: float  # ms
    memory: float
    said: str


# ------------------------------------------------------------------------------------ the folder


class Folder:
    """The logs that all ranks of a world share."""

    def __init__(self):
        self.logs, self.writers, self.asked = {}, {}, 0


class End:
    """One rank's way to the folder, and to its inbox: an answer gets this."""

    def __init__(self, transport, folder):
        self.rank, self.world_size = transport.rank, transport.world_size
        self.lock, self.deliver = transport.turn, transport.deliver
        self._clock, self._folder = transport.clock, folder
        self._busy = transport.clock.condition()  # the folder answers a rank one request at a time

    def __deepcopy__(self, memo):
        return self

    def _wait(self, ms):
        with self._busy:
            self._folder.asked += 1
            self._clock.sleep(ms / 1000)

    def now(self):
        """Milliseconds."""
        return self._clock.now() * 1000 / PICO

    def append(self, log, data):
        """Write these bytes at the end of a log. All of them can be read when this returns."""
        if not isinstance(log, str) or not isinstance(data, bytes):
            raise NotAdmitted(
                f"append takes a name and bytes, not {log!r} and a {type(data).__name__}"
            )
        if self._folder.writers.setdefault(log, self.rank) != self.rank:
            raise NotAdmitted(
                f"ranks {self._folder.writers[log]} and {self.rank} both append to the log {log!r}. In a shared "
                "folder they may overwrite each other, so a log has one writer"
            )
        self._wait(APPEND + len(data) / PER_MS)
        self._folder.logs.setdefault(log, bytearray()).extend(data)

    def sizes(self):
        """How many bytes each log has, by its name."""
        self._wait(LIST)
        return {log: len(data) for log, data in self._folder.logs.items()}

    def read(self, log, start=0):
        """The bytes of a log from this one on; none where there is no such log."""
        if not isinstance(start, int) or start < 0:
            raise NotAdmitted(f"read begins at a byte of the log, not at {start!r}")
        data = bytes(self._folder.logs.get(log, b"")[start:])
        self._wait(READ + len(data) / PER_MS)
        return data


class AnswerTransport(Transport):
    """A transport by the three functions of an answer."""

    scheme = "answer"

    def __init__(self, rank, world_size, clock, folder, function):
        super().__init__(rank, world_size, "", clock)
        self.turn, self.state, self.lost = clock.condition(), "not connected", {}
        self.deliveries = self.reported = 0
        self.post, self.write, self.look = read(function(End(self, folder)))
        self.trouble = None

    def connect(self, store, inbox, timeout=None):
        self.inbox = inbox
        rendezvous.exchange(
            store, self.scheme, self.rank, self.world_size, b"", self.clock, timeout
        )
        self.state = "open"
        self.helper = self.clock.start(self.go_on, f"writer of rank {self.rank}")

    def go_on(self):
        """Let messages that `send` keeps back go also while the rank does something else."""
        try:
            with self.turn:
                while self.state == "open":
                    self.write()
                    self.turn.wait(BEAT)
        except Exception as error:  # the rank says it, when it comes here
            self.trouble = error

    def send(self, dst, header, payload):
        view = flat(header, payload)
        self.demand_open()
        if not 0 <= dst < self.world_size:
            raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
        if dst in self.lost:
            raise self.lost[dst]
        self.post(dst, MESSAGE + header, bytes(view))

    def deliver(self, src, header, payload):
        """Hand a message to the inbox of this rank."""
        if not isinstance(header, bytes) or not isinstance(payload, bytes):
            raise NotAdmitted("deliver takes a rank, and header and payload as bytes")
        if header[:1] == GOODBYE:
            self.lost[src] = PeerLost(src, CLOSED)
        if self.state == "open" and src in self.lost:
            self.inbox.lost(src, self.lost[src])
        elif self.state == "open":
            sink = self.inbox.sink(src, header[1:], len(payload))
            if payload:
                sink.write(memoryview(payload))
        self.deliveries += 1

    def progress(self, timeout, done=None):
        deadline = self.clock.deadline(timeout)
        with self.turn:
            seen = self.reported if done is None else self.deliveries
            while True:
                self.demand_open()
                self.write()
                self.look()
                if self.deliveries > seen or deadline.is_over() or (done and done()):
                    found, self.reported = self.deliveries > self.reported, self.deliveries
                    return found
                self.turn.wait(PAUSE)

    def demand_open(self):
        if self.trouble is not None:
            raise self.trouble
        if self.state != "open":
            raise TransportClosed(f"the transport of rank {self.rank} is {self.state}")

    def close(self):
        """Say goodbye to all others, and let all go that was kept back."""
        was_open, self.state = self.state == "open", "closed"
        if was_open:
            with self.turn:
                self.turn.notify_all()
            self.helper.join()
            for peer in range(self.world_size):
                if peer != self.rank and peer not in self.lost:
                    self.post(peer, GOODBYE, b"")
            with self.turn:
                self.write()


def read(answer):
    try:
        send, write, look = answer
    except (TypeError, ValueError):
        send = write = look = None
    if not (callable(send) and callable(write) and callable(look)):
        raise NotAdmitted(f"an answer is three functions, send, write and look, not {answer!r}")
    return send, write, look


@contextmanager
def world(function):
    """How to run a program on ranks with this answer, in virtual time; and the folders that they used."""
    clock, folders, turns = VirtualClock(), {}, Counter()

    def make(rank, size, place):
        turns[place, rank] += 1  # a rank may make one transport after another
        folder = folders.setdefault((place, turns[place, rank]), Folder())
        return AnswerTransport(rank, size, clock, folder, function)

    def refuse(*arguments):
        raise NotAdmitted(
            "the folder of a race is reached by end.append and end.read, and not by files"
        )

    theirs = importlib.import_module("wires")  # that of the answer, which may be the learner's
    with (
        patch.object(theirs.Writer, "__init__", refuse),
        patch.object(theirs.Reader, "__init__", refuse),
    ):
        yield conformance.in_threads(make, clock), folders


# ---------------------------------------------------------------------------------- is it right?


def demand_right(function):
    """NotAdmitted says what is wrong: alone, with two threads, with messages that lie there, and by the contract's kit."""
    for check in (sends_to_itself, in_two_threads, written_once):
        check(function)
    with world(function) as (launch, _):
        try:
            conformance.check(launch, [3], KIT, 60.0)
        except conformance.NotConforming as error:
            name, said = re.search(r"check '(\w+)', .*?: (.*)", error.complaints[0]).groups()
            asked = " ".join(re.sub(r"Line \d: ", "", conformance.CHECKS[name][1].__doc__).split())
            raise NotAdmitted(f"3 ranks: {said.split('; ')[0]} (the contract: {asked})") from None


@contextmanager
def connected(end, tray):
    transport = end.make()
    transport.connect(end.store, tray, 20)
    try:
        yield transport
    finally:
        transport.close()


def sends_to_itself(function):
    def program(end):
        tray = Tray(lambda _: False)
        with connected(end, tray) as transport:
            transport.send(0, b"header", b"payload")
            for _ in range(3):
                transport.progress(0.0)
        if tray.count(0) != 1:
            raise NotAdmitted("rank 0 sent a message to itself, and it did not come")

    with world(function) as (launch, _):
        launch(1, program)


def in_two_threads(function):
    """Both send to their own rank at once, and the inbox takes one message after the other."""

    def program(end):
        inside, met, clock = [], [], end.make().clock

        class Door(Tray):
            def sink(self, *message):
                """Stay for a while: where one lock lets one thread in, the other does not come."""
                met.extend(inside)
                inside.append(message)
                clock.sleep(1.0)
                inside.remove(message)
                return super().sink(*message)

        with connected(end, Door(lambda _: False)) as transport:
            both = [
                transport.clock.start(lambda: transport.send(0, b"header", b""), f"sender {number}")
                for number in range(2)
            ]
            for thread in both:
                thread.join()
            transport.progress(0.0)
        if met:
            raise NotAdmitted(
                "two threads of rank 0 call send(0, …) at once, and both are in deliver at the same time: "
                "their messages mix"
            )

    with world(function) as (launch, _):
        launch(1, program)


def written_once(function):
    """Ten messages each way lie in the folder before anybody waits: all are delivered, and no byte is there twice."""

    def program(end):
        tray = Tray(lambda _: False)
        with connected(end, tray) as transport:
            for _ in range(10):
                transport.send(1 - end.rank, b"header", bytes(1000))
            for _ in range(20):
                transport.progress(0.0)
                transport.clock.sleep(0.01)
        if tray.count(1 - end.rank) != 10:
            raise NotAdmitted(
                f"10 messages lay in a log, and {tray.count(1 - end.rank)} of them came in 20 calls of look"
            )

    with world(function) as (launch, folders):
        launch(2, program)
    ((_, folder),) = folders.items()
    found, most = sum(map(len, folder.logs.values())), 20 * (1007 + MOST_BESIDE)
    if found > most:
        raise NotAdmitted(
            f"20 messages of 1007 bytes make logs of {found} bytes together: {most} are the most"
        )


# --------------------------------------------------------------------------------- how long it takes


def play(function, task):
    if task == RACES[0]:  # all races are of one answer
        demand_right(function)
    with world(function) as (launch, folders):
        spans = launch(task.ranks, lambda end: raced(end, task))
    begun, ended = zip(*spans, strict=True)
    time = round((max(ended) - min(begun)) * 1000 / PICO, 9)
    asked = sum(folder.asked for folder in folders.values())
    return Outcome(time, asked, f"{time:.1f} ms, {asked} operations")


def raced(end, task):
    """In each round send to the next ranks, compute, and wait for the ranks before; when it began, and when it was over."""
    tray = Tray(lambda _: False)
    before = [(end.rank - step) % task.ranks for step in range(1, task.peers + 1)]
    with connected(end, tray) as transport:
        return timed(transport, tray, before, task)


def timed(transport, tray, before, task):
    clock, begun, rank = transport.clock, transport.clock.now(), transport.rank
    deadline = clock.deadline(100.0)
    for turn in range(1, task.rounds + 1):
        for step in range(1, task.peers + 1):
            for number in range(task.count):
                payload = pattern(97 * rank + 31 * step + 7 * turn + number, task.nbytes)
                transport.send((rank + step) % task.ranks, b"", payload)
        clock.sleep(task.ms / 1000)
        while any(tray.count(src) < turn * task.count for src in before):
            if deadline.is_over():
                raise NotAdmitted(
                    f"rank {rank} waits for a message of round {turn}, and it does not come"
                )
            transport.progress(1.0)
    return begun, clock.now()


def least(task):
    """Milliseconds; PROOF says why."""
    one_way = task.count * task.nbytes / PER_MS
    own = task.rounds * (APPEND + 2 * task.peers * one_way) + task.peers * READ
    return max(own, task.rounds * max(task.ms, APPEND + READ + 2 * one_way))


# ------------------------------------------------------------------------------------ simple answers


SIMPLE = {
    "a log a pair, all read": simple.a_log_for_each_pair,
    "a log a pair, listed first": simple.only_what_has_grown,
    "kept until one waits": simple.kept_until_one_waits,
}
