"""Lesson 28: each message once and in order whatever the wire does, and no half record is ever read."""

import functools
import itertools
import re
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import wires

from mtd.course import MeasuredCost, lab, lamp, lossy_wires, real_wires
from mtd.course.property_trial import accepts, rejects
from transports import conformance
from transports.clock import SYSTEM
from transports.conformance.bench import Tray

KIT = ["connect", "interleaved", "threads_send", "reuse", "arguments", "farewell", "close_twice"]
BODIES = [b"", b"a", b"letters", bytes(9), b"the last one"]


@lamp("correct")
def right():
    """Every way in which three messages can come, up to six arrivals, each flagged as a repeat or not."""
    for length in range(7):
        for came in itertools.product(range(3), repeat=length):
            for flags in ((False,) * length, (True,) * length):
                follow(came, flags)
    for came in ((0, 0, 1), (2, 1, 0, 2), (1, 1, 0, 0)):
        for flags in itertools.product((False, True), repeat=len(came)):
            follow(came, flags)


def follow(came, flags):
    """Let these messages come, and compare after each with those that can be read by then."""
    once, read, so_far = wires.Once(), [], []
    for number, again in zip(came, flags):
        ready = once.take(number, f"message {number}", again)
        assert not isinstance(ready, str), f"take gives {ready!r}, expected a list of messages"
        read += ready
        so_far.append(number)
        can = [f"message {n}" for n in range(3) if {*range(n + 1)} <= {*so_far}]
        assert read == can, (
            f"when {so_far} had come{' (flagged as repeats)' if any(flags) else ''}, {read or 'nothing'} had been "
            f"read, but {can or 'nothing'} can be read"
        )
        assert once.expected == len(can), (
            f"after {so_far} the sender is told that {once.expected} is expected next, but it is {len(can)}. It does "
            "not send a message again that it believes to have come"
        )


def first(*lamps):
    """These lamps come first: what follows would say the same in other words, or hang."""
    out = [function.__name__.replace("_", " ") for function in lamps if not is_on(function)]
    assert not out, f"first mend what {' and '.join(out)} say{'s' * (len(out) == 1)}"


@functools.cache
def is_on(function):
    try:
        function()
    except Exception:
        return False
    return True


@lamp("exactly once")
def once():
    """Part of the transports' conformance kit over a wire that loses and doubles, in virtual time; 1, 2, 3 and 5 ranks."""
    first(right)
    with lossy_wires.world("lossy", wires, seed=7) as launch:
        conforms(launch, [1, 2, 3, 5], patience=5.0)


def conforms(launch, sizes, patience=30.0):
    """The kit, and of all that it finds the first complaint of one rank."""
    for size in sizes:
        try:
            conformance.check(launch, [size], KIT, patience)
        except conformance.NotConforming as error:
            name, said = re.search(r"check '(\w+)', .*?: (.*)", error.complaints[0]).groups()
            asked = re.sub(r"Line \d: ", "", conformance.CHECKS[name][1].__doc__.strip())
            said = re.split(r"; (?=rank \d+: )", said)[0]
            raise AssertionError(
                f"{lab.ranks(size)}: {said}\n    the contract says: {asked}"
            ) from None


@lamp("never torn", star=2)
def never_torn():
    """A log that was cut at every byte, with and without a hole behind it; every byte of it spoilt; and after a restart."""
    whole = b"".join(map(wires.record, BODIES))
    ends = list(itertools.accumulate(len(wires.record(body)) for body in BODIES))
    for cut in range(len(whole) + 1):
        for data in (whole[:cut], whole[:cut].ljust(len(whole), b"\0")):
            there = sum(data[:end] == whole[:end] for end in ends)
            what = f"a log that ends {'with zeros from' if len(data) > cut else 'at'} byte {cut} (records end at {ends})"
            judge(data, there, [0, *ends][there], what)
    for at in range(len(whole)):
        data = bytes([*whole[:at], whole[at] ^ 1, *whole[at + 1 :]])
        there = sum(end <= at for end in ends)
        judge(
            data,
            there,
            [0, *ends][there],
            f"a log whose byte {at} is spoilt (records end at {ends})",
        )
    for cut in range(len(whole)):
        restarted(whole[:cut], sum(end <= cut for end in ends), cut)


def judge(data, there, end, what):
    try:
        found, place = wires.records(data)
    except Exception as error:
        said = traceback.format_exception_only(error)[0].strip()  # struct.error, not error
        raise AssertionError(f"reading {what} raised {said}") from error
    wanted = f"{there} of the {len(BODIES)} records, {BODIES[:there]}" if there else "nothing"
    assert found == BODIES[:there], f"of {what} {found or 'nothing'} was read, expected {wanted}"
    assert place == end, (
        f"of {what} {found or 'nothing'} was read, and that is right. But the next place is {place}, expected {end}"
    )
    second = len(wires.record(BODIES[0]))
    if there > 1:
        assert wires.records(data, second) == (BODIES[1:there], end), (
            f"of {what}, from byte {second} on, other records are read"
        )


def restarted(data, there, cut):
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "log"
        path.write_bytes(data)
        writer = wires.Writer(path)
        writer.append(b"more")
        writer.close()
        found = wires.Reader(path).new()
    assert found == [*BODIES[:there], b"more"], (
        f"a writer was killed at byte {cut} and started again, and wrote b'more': {found} was read"
    )


@lamp("a broker", star=2)
def broker():
    """The same over MQTT, QoS 1, through a broker of its own; every third message comes twice."""
    first(right)
    with lossy_wires.world("broker", wires) as launch:
        conforms(launch, [3])


@lamp("a folder", star=2)
def folder():
    """The same over files: one log for each pair of ranks."""
    first(right, never_torn)
    with lossy_wires.world("folder", wires) as launch:
        conforms(launch, [1, 3])


KILLED = """
import os, sys, wires
write = os.write
os.write = lambda file, data: [write(file, data[at : at + 999]) for at in range(0, len(data), 999)]
writer, number = wires.Writer(sys.argv[1]), int(sys.argv[2])
while True:
    writer.append(b"%d " % number * 5000)
    number += 1
"""


@lamp("killed", star=2)
def killed():
    """Real processes: a writer is killed with signal 9 while it writes, three times, and another goes on."""
    first(never_torn)
    with tempfile.TemporaryDirectory() as room:
        path, read = Path(room) / "log", 0
        reader = wires.Reader(path)
        for _ in range(3):
            read = until_killed(path, reader, read)


def until_killed(path, reader, read):
    """Read at least three more records of a writer, kill it, and read its other whole records."""
    deadline, goal = SYSTEM.deadline(60), read + 3
    with subprocess.Popen([sys.executable, "-c", KILLED, path, str(read)]) as writer:
        try:
            while read < goal:
                assert not deadline.is_over(), (
                    f"the writer wrote nothing that could be read; {read} records so far"
                )
                assert writer.poll() is None, "the writer ended by itself"
                read = numbered(reader.new(), read)
                SYSTEM.sleep(0.001)
        finally:
            writer.send_signal(signal.SIGKILL)
    return numbered(reader.new(), read)


def numbered(bodies, read):
    for body in bodies:
        assert body == b"%d " % read * 5000, (
            f"record {read} is torn: {body[:12]!r} … {body[-12:]!r}, {len(body)} bytes"
        )
        read += 1
    return read


@lamp("your transport", star=2)
def transport():
    """The same part of the kit over your own transport: 1, 2, 3 and 5 ranks. Each message is on the disk once."""
    first(never_torn)
    launch = conformance.in_threads(end_of_yours, SYSTEM)
    launch(1, sends_to_itself)
    launch(1, in_two_threads)
    written_once(launch)
    conforms(launch, [1, 2, 3, 5], patience=10.0)


def end_of_yours(rank, size, folder):
    """A transport in a folder of its own: a rank may make one after another."""
    turn = next(n for n in itertools.count() if not (Path(folder) / f"{n}-{rank}").exists())
    (Path(folder) / f"{turn}-{rank}").mkdir()
    place = Path(folder) / str(turn)
    place.mkdir(exist_ok=True)
    return wires.FolderTransport(rank, size, place)


def sends_to_itself(end):
    transport, tray = end.make(), Tray(lambda _: False)
    transport.connect(end.store, tray, 20)
    try:
        transport.send(0, b"header", b"payload")
        for _ in range(3):
            transport.progress(0.0)
    finally:
        transport.close()
    assert tray.count(0) == 1, "rank 0 sent a message to itself, and it did not come"


def in_two_threads(end):
    """Both send to their own rank at once, and the inbox takes one message after the other."""
    changed, begun, inside, met = SYSTEM.condition(), [], [], []

    class Door(Tray):
        def sink(self, *message):
            """Wait for the other thread; where one lock lets one thread in, that one cannot come."""
            with changed:
                inside.append(message)
                if len(inside) == 2:
                    met.append(message)
                changed.notify_all()
                wait_until(lambda: len(begun) == 2, 20.0)
                wait_until(lambda: met or self.begun, 1.0)
            tub = super().sink(*message)
            with changed:
                inside.pop()
            return tub

    def wait_until(is_so, seconds):
        deadline = SYSTEM.deadline(seconds)
        while not is_so() and not deadline.is_over():
            changed.wait(deadline.left())

    def send():
        with changed:
            begun.append(1)
            changed.notify_all()
        transport.send(0, b"header", b"payload")

    transport = end.make()
    transport.connect(end.store, Door(lambda _: False), 20)
    for thread in [SYSTEM.start(send, f"sender {number}") for number in range(2)]:
        thread.join()
    transport.close()
    assert not met, (
        "two threads of rank 0 call send(0, …) at once, and both are in deliver at the same time: their messages mix"
    )


def written_once(launch):
    """Ten messages each way lie in the logs before anybody looks: all are delivered, and no byte is there twice."""
    with tempfile.TemporaryDirectory() as folder:

        def program(end):
            transport, tray = wires.FolderTransport(end.rank, 2, folder), Tray(lambda _: False)
            transport.connect(end.store, tray, 20)
            for _ in range(10):
                transport.send(1 - end.rank, b"header", bytes(1000))
            end.store.set(f"rank {end.rank} has sent", b"")
            end.store.wait([f"rank {1 - end.rank} has sent"], 20)
            for _ in range(20):
                transport.progress(0.0)
            found = tray.count(1 - end.rank)
            transport.close()
            assert found == 10, (
                f"10 messages lay in a log, and {found} of them came in 20 calls of progress"
            )

        launch(2, program)
        sizes = {path.name: path.stat().st_size for path in Path(folder).glob("*.log")}
    least, most = 10 * 1006, 10 * (1006 + 64)
    for name in ("0-1.log", "1-0.log"):
        found = sizes.get(name, 0)
        assert least <= found <= most, (
            f"10 messages of 1006 bytes make {name} {found} bytes long: {least} are the least, and {most} the most"
        )


@lamp("accepts right ones", star=2)
def property_spares():
    """Three right ways to read a log pass your property."""
    accepts(wires.property_of_records, RIGHT)


@lamp("rejects wrong ones", star=3)
def property_kills():
    """Seven wrong ones fail it, each by an assert of yours."""
    rejects(wires.property_of_records, WRONG)


def up_to_what_is_torn(data, start=0):
    """Record by record, up to the first one that is not whole."""
    found = []
    while (body := first_of(data[start:])) is not None:
        found.append(body)
        start += wires.HEAD.size + len(body)
    return found, start


def first_of(data):
    """The body of the first record, if that is whole."""
    if len(data) < wires.HEAD.size:
        return None
    length, _ = wires.HEAD.unpack_from(data)
    end = wires.HEAD.size + length
    body = data[wires.HEAD.size : end]
    return body if wires.record(body) == data[:end] else None


def one_and_the_rest(data, start=0):
    """The first record, and then the same for the rest."""
    body = first_of(data[start:])
    if body is None:
        return [], start
    found, end = one_and_the_rest(data, start + wires.HEAD.size + len(body))
    return [body, *found], end


def places_first(data, start=0):
    """All places at which a record begins, and then their bodies."""
    places = [start]
    while (body := first_of(data[places[-1] :])) is not None:
        places.append(places[-1] + wires.HEAD.size + len(body))
    return [first_of(data[place:]) for place in places[:-1]], places[-1]


def believes_the_length(data, start=0):
    """Compares no checksum, so a hole reads like records."""
    found = []
    while start + wires.HEAD.size <= len(data):
        length, _ = wires.HEAD.unpack_from(data, start)
        body = data[start + wires.HEAD.size :][:length]
        if len(body) < length:
            break
        found.append(body)
        start += wires.HEAD.size + length
    return found, start


def skips_what_is_torn(data, start=0):
    """Goes on behind a record that is not whole yet."""
    found, end = up_to_what_is_torn(data, start)
    return found, max(end, len(data))


def all_or_nothing(data, start=0):
    """Reads nothing of a log that ends with half a record."""
    found, end = up_to_what_is_torn(data, start)
    return (found, end) if end == len(data) else ([], start)


def only_the_first(data, start=0):
    """Reads one record, and says that it has read them all."""
    found, end = up_to_what_is_torn(data, start)
    return found[:1], end


def from_the_start(data, start=0):
    """Counts the place of the next record from where it began to read, and not from the file's first byte."""
    found, end = up_to_what_is_torn(data, start)
    return found, end - start


def empty_is_the_end(data, start=0):
    """Takes an empty record for the end of the log."""
    found, end = up_to_what_is_torn(data, start)
    if b"" not in found:
        return found, end
    found = found[: found.index(b"")]
    return found, start + sum(wires.HEAD.size + len(body) for body in found)


def forgets_the_place(data, start=0):
    """Says each time that it has read nothing yet, so all records are read again."""
    return up_to_what_is_torn(data, start)[0], start


RIGHT = (up_to_what_is_torn, one_and_the_rest, places_first)
WRONG = (
    believes_the_length, skips_what_is_torn, all_or_nothing, only_the_first, from_the_start, empty_is_the_end,
    forgets_the_place,
)  # fmt: skip


@lamp("memory")
def memory():
    """After 2000 messages, half of them doubled or swapped, nothing of them needs to be remembered."""
    rule = wires.Once()
    for number in range(0, 2000, 4):
        for came in (number, number + 2, number + 1, number, number + 1, number + 3):
            rule.take(came, "x")
    kept = sum(len(value) for value in vars(rule).values() if hasattr(value, "__len__"))
    return MeasuredCost(1 + kept, 1, unit=" numbers remembered", where="after 2000 messages")


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


def arrivals_of_eight():
    return len(lossy_wires.delivered("lossy", wires, 8))


def bytes_of_a_record():
    return len(wires.record(b"hello"))


def picture():
    """Eight messages from rank 0 to rank 1, over three wires: what came, and what was read then."""
    lines = []
    for kind in lossy_wires.KINDS:
        came = lossy_wires.delivered(kind, wires, 8)[:17]
        lines += [
            f"{kind:<7} came " + "".join(f"{number:>4}" for number, _ in came),
            f"{'':7} read " + "".join(f"{''.join(map(str, read)) or '·':>4}" for _, read in came),
            "",
        ]
    return "\n".join(line.rstrip() for line in lines)
