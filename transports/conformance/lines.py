"""Lines 1 to 4 of the contract, as programs: each runs on every rank of a world at once."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from functools import partial

from transports.conformance.bench import RankCheck, draw, pattern
from transports.contract import MAX_HEADER
from transports.errors import ConnectError

KB = 1024
LATE = 0.05  # seconds by which the last rank comes late
SHORT, OVERDUE = 0.02, 1.0  # seconds of waiting, and beyond them
IDLE, TURNS = 0.05, 20  # seconds of doing nothing, and how often
SIZES = (0, 1, 7, 64 * KB - 1, 64 * KB, 64 * KB + 1, 0, 5_000_000, 1)


def connect(desk: RankCheck) -> None:
    """Line 1: when connect returns, everybody can be sent to, oneself included; also the one who comes last."""
    last = desk.world_size - 1
    if desk.rank < last:
        desk.store.set(f"comes/{desk.rank}", b"")
    else:
        for peer in range(last):
            desk.wait_for(f"comes/{peer}")
        desk.clock.sleep(LATE)
        desk.store.set("begun", b"")
    desk.connect()
    desk.demand(desk.store.check(["begun"]), f"connect returned before rank {last} had begun to connect")
    for peer in range(desk.world_size):
        desk.send(peer, desk.rank, b"hello")
    for peer in range(desk.world_size):
        header, data = desk.receive(peer, 1)[0]
        desk.demand(
            header == b"%d" % peer and data == b"hello",
            f"rank {peer} sent b'{peer}', b'hello' after connect; {header!r}, {data!r} arrived",
        )


def missing(desk: RankCheck) -> None:
    """Line 1: connect names the ranks that do not come."""
    absent = desk.world_size - 1
    if absent and desk.rank != absent:
        connect, returned = desk.transport.connect, f"connect returned although rank {absent} never came"
        error = desk.demand_error(ConnectError, lambda: connect(desk.store, desk.tray, 0.2), returned)
        unnamed = f"connect raised, but does not name the missing rank {absent}: {error}"
        desk.demand(f"{absent}" in f"{error}".partition(";")[0], unnamed)


def both_first(desk: RankCheck) -> None:
    """Line 2: everybody sends much before anybody receives."""
    payload = pattern(desk.rank, 5_000_000)
    for turn in range(2):
        for step in range(desk.world_size):
            desk.send((desk.rank + step) % desk.world_size, turn, payload)
    for peer in range(desk.world_size):
        for _, data in desk.receive(peer, 2):
            desk.demand(data == pattern(peer, 5_000_000), f"wrong bytes came from rank {peer}")


def sizes(desk: RankCheck) -> None:
    """Line 3: whole, once, in order; empty ones too; sinks with and without space."""
    dst, src = desk.right, desk.left
    headers = [bytes([n]) * length for n, length in enumerate((0, 1, 300, MAX_HEADER))]
    for seed, nbytes in enumerate(SIZES):
        desk.send(dst, seed, pattern(seed + desk.rank, nbytes), headers[seed % 4])
    got = desk.receive(src, len(SIZES))
    for seed, nbytes in enumerate(SIZES):
        header, data = got[seed]
        desk.demand(
            header == headers[seed % 4],
            f"message {seed} from rank {src} came with another header than it was sent with: "
            "messages of one sender stay in order, and headers whole",
        )
        desk.demand(
            data == pattern(seed + src, nbytes),
            f"message {seed} of {nbytes} bytes from rank {src} came with {len(data)} bytes"
            + (", and they are others" if len(data) == nbytes else ""),
        )
    desk.meet("sent")
    nothing_more(desk, {src: len(SIZES)})


def interleaved(desk: RankCheck) -> None:
    """Line 3: many senders, sizes and turns at random."""
    size, messages = desk.world_size, 60
    for turn in range(messages):
        for step in range(size):
            dst = (desk.rank + draw(size, desk.rank, turn) + step) % size
            nbytes = draw(1 << draw(15, turn, dst), desk.rank, dst, turn)
            desk.transport.send(dst, b"%d" % turn, pattern(turn + desk.rank, nbytes))
            if draw(4, turn, step) == 0:
                desk.transport.progress(0)
    for src in range(size):
        for turn, (header, data) in enumerate(desk.receive(src, messages)):
            nbytes = draw(1 << draw(15, turn, desk.rank), src, desk.rank, turn)
            desk.demand(
                header == b"%d" % turn, f"the {turn}th message from rank {src} says it is the {header.decode()}th"
            )
            desk.demand(data == pattern(turn + src, nbytes), f"wrong bytes came from rank {src}")
    desk.meet("sent")
    nothing_more(desk, dict.fromkeys(range(size), messages))


def threads_send(desk: RankCheck) -> None:
    """Line 3: threads of one rank send at once; each message arrives whole."""
    dst, src = desk.right, desk.left

    def run(thread: int) -> None:
        for turn in range(20):
            seed = 100 * thread + turn
            desk.transport.send(dst, b"%d" % seed, pattern(seed, 1 + 9973 * turn))

    threads = [desk.clock.start(partial(run, n), f"sender {n}") for n in range(3)]
    got = desk.receive(src, 60)
    for thread in threads:
        thread.join(desk.patience)
        desk.demand(not thread.is_alive(), "a send in another thread did not return")
    seeds = [int(header) for header, _ in got]
    for header, data in got:
        seed = int(header)
        desk.demand(data == pattern(seed, 1 + 9973 * (seed % 100)), "messages of threads were mixed")
    for number in range(3):
        own = [seed for seed in seeds if seed // 100 == number]
        desk.demand(own == sorted(own), f"messages of one thread came out of order: {own}")


def threads_wait(desk: RankCheck) -> None:
    """Many threads call progress, each for a message of its own; none sleeps through its own."""
    dst, src = desk.right, desk.left
    reached, late = [0] * 4, list[int]()

    def wait(thread: int) -> None:
        deadline = desk.clock.deadline(desk.patience)
        for turn in range(25):
            need = 4 * turn + thread + 1

            def done(need: int = need) -> bool:
                return desk.tray.count(src) >= need

            while not done():
                desk.transport.progress(deadline.left(), done)
                if deadline.is_over():
                    late.append(thread)
                    return
            reached[thread] = need

    threads = [desk.clock.start(partial(wait, n), f"waiter {n}") for n in range(4)]
    for turn in range(100):
        desk.transport.send(dst, b"", pattern(turn, turn))
    for thread in threads:
        thread.join(2 * desk.patience)
    desk.demand(
        not late and reached == [97, 98, 99, 100],
        f"threads that wait in progress slept on while their messages came: they had seen {reached} "
        "of 97, 98, 99, 100. `done` has to be asked once nothing can arrive unnoticed",
    )


def arguments(desk: RankCheck) -> None:
    """A message that cannot be sent is refused before anything is sent."""
    send, me = desk.transport.send, desk.rank
    for dst in (desk.world_size, -1):
        text = f"send to rank {dst} of {desk.world_size} did not raise ValueError"
        desk.demand_error(ValueError, partial(send, dst, b"", b"x"), text)
    text = f"a header of {MAX_HEADER + 1} bytes did not raise ValueError"
    desk.demand_error(ValueError, partial(send, me, bytes(MAX_HEADER + 1), b""), text)
    numbers = array("d", [1.0, 2.0, 3.0])
    for payload in (memoryview(numbers), memoryview(array("d")), bytearray(b"abc")):
        send(me, b"", payload)
    got = [bytes(data) for _, data in desk.receive(me, 3)]
    is_right = got == [numbers.tobytes(), b"", b"abc"]
    desk.demand(is_right, f"of a view of doubles, nothing, and a bytearray arrived {got}")


def patience(desk: RankCheck) -> None:
    """progress returns at once with 0, after its timeout with nothing, and tells what it did."""
    desk.meet("connected")
    drain(desk)
    desk.demand(not desk.transport.progress(0), "progress(0) says True, but nothing had come")
    desk.demand(not desk.transport.progress(0.01), "progress(0.01) says True, but nothing had come")
    _returns_in_time(desk)
    desk.meet("in time")
    if desk.rank == 0 and not desk.clock.is_virtual:
        _sleeps(desk)
    desk.meet("slept")
    deadline = desk.clock.deadline(desk.patience)
    desk.beside(lambda: desk.transport.progress(None, lambda: True), "progress with done")
    desk.transport.send(desk.rank, b"", b"x")
    told = False
    while not told and not deadline.is_over():
        told = desk.transport.progress(0.05)
    desk.demand(told, "a message was delivered, but progress never said True")


def _returns_in_time(desk: RankCheck) -> None:
    """A machine may be busy for once, so the best of three tries counts."""
    for _ in range(3):
        took = desk.clock.deadline(None)
        desk.transport.progress(SHORT, lambda: False)
        if took.elapsed() <= SHORT + OVERDUE:
            return
    desk.demand(False, f"progress({SHORT}) with nothing to deliver took {took.elapsed():.1f} s")


def _sleeps(desk: RankCheck) -> None:
    """A rank that waits leaves the processor to others. Beside programs that compute, a loop gets only a part of it; so
    the measure is a loop of our own, in turns."""
    waiting = looping = 0.0
    for _ in range(TURNS):
        waiting += _computed(desk, lambda left: desk.transport.progress(left, lambda: False))
        looping += _computed(desk, lambda left: None)
        if waiting < 0.2 * looping:
            return
    desk.demand(
        waiting < 0.5 * looping,
        f"progress computes while it waits: {waiting:.2f} s of processor time, and a loop {looping:.2f} s",
    )


def _computed(desk: RankCheck, act: Callable[[float], object]) -> float:
    """Seconds for which this thread computes, while it calls `act` again and again for a moment."""
    deadline, before = desk.clock.deadline(IDLE), time.thread_time()
    while not deadline.is_over():
        act(deadline.left() or 0.0)
    return time.thread_time() - before


def reuse(desk: RankCheck) -> None:
    """Line 4: the buffer may be overwritten when send returns."""
    kept: list[tuple[int, bytearray]] = []
    for nbytes in (1, 5000, 1_000_000):
        buffer = bytearray(pattern(nbytes, nbytes))
        for step in range(desk.world_size):
            desk.transport.send((desk.rank + step) % desk.world_size, b"", buffer)
            desk.demand(buffer == pattern(nbytes, nbytes), "send has changed the caller's buffer")
        buffer[:] = bytes(nbytes)
        for src in range(desk.world_size):
            desk.receive(src, 1)
            (_, data), *rest = desk.tray.messages[src]
            desk.tray.messages[src] = rest
            kept.append((src, data))
            desk.demand(
                data == pattern(nbytes, nbytes),
                f"rank {src} overwrote its buffer after send, and the message changed with it",
            )
    desk.meet("received")
    for src, data in kept:
        desk.demand(
            data == pattern(len(data), len(data)),
            f"a message from rank {src} changed after it was delivered: its memory is the receiver's",
        )


def drain(desk: RankCheck) -> None:
    """Let whatever is on its way arrive."""
    for _ in range(3):
        desk.transport.progress(0.01)


def nothing_more(desk: RankCheck, expected: dict[int, int]) -> None:
    drain(desk)
    counts = {src: len(messages) for src, messages in desk.tray.messages.items()}
    desk.demand(counts == expected, f"each message comes once; expected were {expected}, and came {counts}")
