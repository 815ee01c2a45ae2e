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
from transports import conformance
from transports.clock import SYSTEM

KIT = ["connect", "interleaved", "threads_send", "reuse", "arguments", "farewell", "close_twice"]
BODIES = [b"", b"a", b"letters", bytes(9), b"the last one"]


@lamp("correct")
def correct():
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
    out = {
        function.__name__.replace("_", " "): error_of(function)
        for function in lamps
        if error_of(function)
    }
    if out:
        raise AssertionError(
            f"first repair what {' and '.join(out)} say{'s' * (len(out) == 1)}"
        ) from next(iter(out.values()))


@functools.cache
def error_of(function):
    """None where its lamp is on."""
    try:
        function()
    except Exception as error:
        return error
    return None


@lamp("exactly once")
def once():
    """Part of the transports' conformance kit over a wire that loses and doubles, in virtual time; 1, 2, 3 and 5 ranks."""
    first(correct)
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
    first(correct)
    with lossy_wires.world("broker", wires) as launch:
        conforms(launch, [3])


@lamp("a folder", star=2)
def folder():
    """The same over files: one log for each pair of ranks."""
    first(correct, never_torn)
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
