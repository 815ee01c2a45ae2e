"""Messages find their receives, in whatever order and in whatever pieces they come."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout, PeerFailed, PeerLost
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.mail.receives import PostedReceive
from minitorch_dist.distributed.mail.wire import DTYPES, Fingerprint
from minitorch_dist.distributed.reductions import COMBINES
from tests.distributed.wires import Wires

FLOAT = np.dtype(np.float32)


def fingerprint(array: np.ndarray, operation: str = "all_reduce") -> Fingerprint:
    return Fingerprint(operation, array.dtype, array.shape, "sum")


def begun(wires: Wires, what: Fingerprint) -> list[CollectiveOperation]:
    return [channel.begin(what, f"train.py:{channel.rank}") for channel in wires.channels()]


# ------------------------------------------------------------------------------- where bytes go


@given(st.data())
def test_every_dtype_and_op_reduces_on_arrival_however_it_is_cut(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([d for d in DTYPES[1:] if d.kind != "c"]))
    ops = [op for op in COMBINES if dtype.kind in "biu" or not op.startswith("b")]
    op = data.draw(st.sampled_from(ops))
    size = data.draw(st.integers(0, 9))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    mine, theirs = (rng.integers(0, 2 if dtype.kind == "b" else 50, size).astype(dtype) for _ in "ab")
    operand = rng.integers(0, 2, size).astype(dtype) if data.draw(st.booleans()) else None
    wires = Wires(3)
    operations = begun(wires, fingerprint(mine))
    into = mine.copy()
    early = data.draw(st.booleans())
    cuts = data.draw(st.lists(st.integers(0, 11), max_size=6))
    operations[2].send(1, theirs, 4)
    if early:
        wires.deliver(2, 1, *cuts)
    receive = operations[1].receive(2, into, 4, COMBINES[op], operand)
    if not early:
        wires.deliver(2, 1, *cuts)
    assert receive.done
    expected = COMBINES[op](mine if operand is None else operand, theirs, out=np.empty_like(mine))
    assert into.tobytes() == expected.tobytes()


@given(st.lists(st.integers(0, 11), max_size=6), st.booleans(), st.booleans())
def test_a_copy_goes_straight_into_its_place(cuts: list[int], direct: bool, early: bool) -> None:
    wires = Wires(3)
    whole = np.zeros(10, ml_dtypes.bfloat16)
    sent = np.arange(4).astype(whole.dtype)
    operations = begun(wires, fingerprint(sent))
    operations[0].send(2, sent)
    if early:
        wires.deliver(0, 2, *cuts, direct=direct)
    receive = operations[2].receive(0, whole[3:7])
    if not early:
        wires.deliver(0, 2, *cuts, direct=direct)
    operations[2].wait(receive)
    assert whole.tolist() == [0, 0, 0, 0, 1, 2, 3, 0, 0, 0]


@given(st.randoms(use_true_random=False))
def test_any_order_of_posting_and_arriving(random: object) -> None:
    """Segments of one step keep their order, steps and sources do not disturb one another."""
    wires = Wires(3)
    operations = begun(wires, fingerprint(np.zeros(1)))
    arrays = {}
    posts = [(src, step, n) for src in (1, 2) for step in range(3) for n in range(2)]
    sends = list(posts)
    posts.sort(key=lambda p: (random.random(), p))
    sends.sort(key=lambda p: (random.random(), p))
    for numbers in (posts, sends):  # two segments of one step stay in order
        for src in (1, 2):
            for step in range(3):
                places = sorted(numbers.index((src, step, n)) for n in range(2))
                for n in range(2):
                    numbers[places[n]] = (src, step, n)
    todo = [("post", p) for p in posts] + [("send", s) for s in sends]
    order = sorted(range(len(todo)), key=lambda i: random.random())
    queues = {"post": iter(posts), "send": iter(sends)}
    for kind in [todo[i][0] for i in order]:
        src, step, n = next(queues[kind])
        if kind == "post":
            arrays[src, step, n] = np.zeros(1)
            operations[0].receive(src, arrays[src, step, n], step)
        else:
            operations[src].send(0, np.array([100.0 * src + 10 * step + n]), step)
            wires.deliver(src, 0)
    assert {k: v.item() for k, v in arrays.items()} == {
        (src, step, n): 100 * src + 10 * step + n for src, step, n in posts
    }


def test_it_may_be_asked_for_in_the_middle() -> None:
    wires = Wires(3)
    operations = begun(wires, fingerprint(np.zeros(4)))
    operations[1].send(0, np.arange(4.0))
    header, payload = wires.pending[1, 0].popleft()
    sink = wires.boxes[0].sink(1, header, len(payload))
    sink.write(memoryview(payload)[:13])
    into = np.full(4, 10.0)
    receive = operations[0].receive(1, into, combine=np.add)
    assert not receive.done
    sink.write(memoryview(payload)[13:])
    assert receive.done and into.tolist() == [10, 11, 12, 13]


def test_a_receive_without_an_array_takes_what_comes() -> None:
    wires = Wires(3)
    operations = begun(wires, fingerprint(np.zeros(1)))
    for early in (True, False):
        operations[1].send(0, b"hello")
        operations[1].send(0, b"")
        if early:
            wires.deliver_all()
        first, second = operations[0].receive(1, None), operations[0].receive(1, None)
        wires.deliver_all()
        assert (bytes(first.octets), bytes(second.octets)) == (b"hello", b"")
        assert first.done and second.done


# ------------------------------------------------------------------------------- what goes wrong


def run(operation: CollectiveOperation, *sources: int) -> None:
    """A naive step: send to and receive from each of these."""
    with operation:
        receives = [operation.receive(source, np.zeros(2, FLOAT)) for source in sources]
        for to in sources:
            operation.send(to, np.zeros(2, FLOAT))
        operation.wait(*receives)


def test_a_mismatch_is_told_with_both_sides_whoever_comes_first() -> None:
    for other in (
        Fingerprint("all_reduce", FLOAT, (2, 1), "sum"),
        Fingerprint("all_reduce", np.dtype(np.int32), (2,), "sum"),
        Fingerprint("all_reduce", FLOAT, (2,), "max"),
        Fingerprint("broadcast", FLOAT, (2,), root=1),
    ):
        wires = Wires(3)
        a, b, c = wires.channels()
        this = Fingerprint("all_reduce", FLOAT, (2,), "sum")
        operations = a.begin(this, "train.py:41"), b.begin(other, "train.py:44")
        operations[1].send(0, np.zeros(2, FLOAT), 1)  # a step that rank 0 does not wait for
        with pytest.raises(DistMismatch) as caught:
            run(operations[0], 1, 2)
        for said in (
            f"{this}".partition(" ")[0],
            "#0",
            "train.py:41",
            "train.py:44",
            "rank 0",
            "rank 1",
            str(other).partition(" ")[2],
            "'default_pg'",
        ):
            assert said in str(caught.value)
        for channel in (b, c):  # everybody is told, and nobody waits for a timeout
            with pytest.raises(DistMismatch, match=r"train.py:41.*train.py:44"):
                run(operations[1] if channel is b else channel.begin(this, "train.py:41"), 0)
            with pytest.raises(DistMismatch, match="cannot be used"):
                channel.begin(this)


def test_a_mismatch_with_what_came_before_we_began() -> None:
    wires = Wires(3)
    a, b, _ = wires.channels()
    b.begin(Fingerprint("barrier"), "early.py:1").send(0, b"")
    wires.deliver_all()
    with pytest.raises(DistMismatch, match=r"all_reduce #0 .*at late.py:2.*barrier #0 at early.py:1"):
        run(a.begin(Fingerprint("all_reduce", FLOAT, (2,), "sum"), "late.py:2"), 2)


def test_a_mismatch_with_what_we_have_finished() -> None:
    wires = Wires(3)
    a, b, _ = wires.channels()
    with a.begin(Fingerprint("broadcast", FLOAT, (2,), root=0), "train.py:7"):
        pass  # a root that only sends is done before it hears of the mistake
    b.begin(Fingerprint("barrier"), "train.py:9").send(0, b"")
    wires.deliver_all()
    with pytest.raises(DistMismatch, match=r"has finished broadcast #0.*is in barrier #0"):
        a.begin(Fingerprint("barrier"))


def test_sizes_that_differ() -> None:
    wires = Wires(3)
    a, b, _ = wires.channels()
    splits = Fingerprint("all_to_all_single", FLOAT)
    operation = a.begin(splits, "a.py:1")
    b.begin(splits, "b.py:2").send(0, np.zeros(3, FLOAT))
    with pytest.raises(DistMismatch, match=r"rank 1 sent 12 bytes, but rank 0 expects 8"):
        run(operation, 1)


def test_a_timeout_says_who_waits_for_whom_and_what_that_one_did_last() -> None:
    wires = Wires(3)
    a, b, _ = wires.channels()
    first = Fingerprint("barrier")
    with b.begin(first, "train.py:5") as operation:
        operation.send(0, b"")
    with a.begin(first, "train.py:5") as operation:
        operation.wait(operation.receive(1, None))
    with pytest.raises(DistTimeout) as caught:
        run(a.begin(Fingerprint("all_reduce", FLOAT, (2,), "sum"), "train.py:8"), 1)
    assert isinstance(caught.value, TimeoutError)
    said = re.sub(r"waited \d+\.\d s", "waited N s", str(caught.value))
    assert (
        "rank 0 waited N s for rank 1 in all_reduce #1 (float32[2], SUM) at train.py:8 of group "
        "'default_pg'; rank 1 was last heard in barrier #0 at train.py:5 of group 'default_pg'"
    ) in said
    assert re.search(r"Timed out waiting \d+ms for recv operation to complete", said)  # torch's words
    with pytest.raises(PeerFailed, match=r"rank 0 has failed in all_reduce #1.*waited"):
        run(b.begin(Fingerprint("all_reduce", FLOAT, (2,), "sum"), "train.py:8"), 2)


@pytest.mark.parametrize("when", ["before", "waiting", "half", "send"])
def test_a_lost_peer_is_named_with_what_needed_it(when: str) -> None:
    wires = Wires(5)
    channels = wires.channels()
    operations = [c.begin(Fingerprint("all_reduce", FLOAT, (2,)), "train.py:8") for c in channels]
    if when == "before":
        wires.kill(3)
    with pytest.raises(PeerLost) as caught, operations[0] as operation:
        receive = operation.receive(3, np.zeros(2, FLOAT)) if when != "send" else None
        if when == "half":
            operations[3].send(0, np.zeros(2, FLOAT))
            header, payload = wires.pending[3, 0].popleft()
            wires.boxes[0].sink(3, header, len(payload)).write(memoryview(payload)[:3])
        wires.kill(3)
        if receive is None:
            operation.send(3, np.zeros(2, FLOAT))
        else:
            operation.wait(receive)
    assert caught.value.rank == 3
    for said in ("rank 3 is lost (it was killed", "rank 0", "all_reduce #0 (float32[2])", "train.py:8", "'default_pg'"):
        assert said in str(caught.value)
    with pytest.raises(PeerLost, match=r"rank 3 is lost.*rank 0 needs|rank 3 is lost.*rank 0 sends"):
        run(operations[1], 4)  # it does not need rank 3 itself, but the operation does


def test_the_cause_is_heard_though_it_came_behind_much_else() -> None:
    """Rank 0 leaves because rank 1 is lost, and says so; rank 2, which only sends, is told why."""
    wires = Wires(3)
    first, _, last = begun(wires, fingerprint(np.zeros(2, FLOAT)))
    wires.ends[2].unasked, wires.ends[2].batch = True, 1
    for step in range(5):
        first.send(2, np.zeros(2, FLOAT), step)
    with pytest.raises(PeerLost, match="rank 1 is lost"), first:
        wires.boxes[0].lost(1, PeerLost(1, "it was killed"))
        first.wait(first.receive(1, np.zeros(2, FLOAT)))
    wires.dead.add(0)
    with pytest.raises(PeerLost, match=r"rank 1 is lost \(it was killed\), which rank 0 needs"), last:
        last.send(0, np.zeros(2, FLOAT))


def test_what_came_before_the_end_of_a_peer_counts() -> None:
    wires = Wires(3)
    operations = begun(wires, fingerprint(np.zeros(2)))
    operations[1].send(0, np.ones(2))
    wires.deliver_all()
    wires.kill(1)
    into = np.zeros(2)
    with operations[0] as operation:
        operation.wait(operation.receive(1, into))
    assert into.tolist() == [1, 1]


def test_a_peer_that_ends_is_no_matter_to_who_does_not_need_it() -> None:
    wires = Wires(3)
    operations = begun(wires, fingerprint(np.zeros(2, FLOAT)))
    wires.kill(1)
    operations[2].send(0, np.zeros(2, FLOAT))
    run(operations[0], 2)


def test_a_peer_that_speaks_another_language_counts_as_lost() -> None:
    wires = Wires(3)
    operations = begun(wires, fingerprint(np.zeros(2, FLOAT)))
    other = operations[0].receive(2, np.zeros(2, FLOAT))
    receive = operations[0].receive(1, np.zeros(2, FLOAT))
    operations[2].send(0, np.zeros(2, FLOAT))
    wires.deliver_all()
    wires.boxes[0].sink(1, b"\xff" * 50, 3).write(memoryview(b"abc"))
    assert other.done and other.error is None
    with pytest.raises(PeerLost, match=r"rank 1 is lost .*sent a header of version 255"):
        operations[0].wait(receive)
    assert "0 early" in repr(wires.boxes[0]) and "lost [1]" in repr(wires.boxes[0])


def test_what_happens_can_be_written_down() -> None:
    wires = Wires(3)
    events: list[object] = []

    class Journal:
        def __getattr__(self, name: str) -> object:
            return lambda doing, *rest: events.append((name, doing.fingerprint.operation, *rest))

        def now(self) -> int:
            return 7

        def arriving(self, target: PostedReceive, sink: PostedReceive, *rest: object) -> PostedReceive:
            events.append(("arriving", *rest[::2]))
            return sink

        def received(self, doing: CollectiveOperation, receive: PostedReceive) -> None:
            events.append(("received", doing.fingerprint.operation, receive.sender))

        def waiting(self, doing: CollectiveOperation, source: int) -> AbstractContextManager[None]:
            events.append(("waiting", doing.fingerprint.operation, source))
            return nullcontext()

    for box in wires.boxes[:2]:
        box.recorder = Journal()  # type: ignore[assignment]
    a, b, _ = begun(wires, fingerprint(np.zeros(2)))
    with b as operation:
        operation.send(0, np.zeros(2), 4)
    with a as operation:
        operation.wait(operation.receive(1, np.zeros(2), 4))
    op = "all_reduce"
    assert events == [
        ("began", op),
        ("sent", op, 0, 4, 16, 7),
        ("ended", op, None),
        ("began", op),
        ("waiting", op, 1),
        ("arriving", 1, 16),
        ("received", op, 1),
        ("ended", op, None),
    ]


def test_an_exception_of_the_program_reaches_the_others() -> None:
    wires = Wires(3)
    operations = begun(wires, fingerprint(np.zeros(2, FLOAT)))
    with pytest.raises(ZeroDivisionError), operations[0]:
        _ = 1 // 0
    with pytest.raises(PeerFailed, match=r"rank 0 has failed in all_reduce #0.*division"):
        run(operations[2], 1)


def test_what_came_before_the_failed_operation_may_still_be_begun() -> None:
    wires = Wires(2)
    first, second = wires.channels()
    for channel in (first, first):
        channel.begin(Fingerprint("all_reduce", FLOAT, (3,), "sum"))
    second.noticed(0, b"1\nfailed\n-1\nall_reduce #1\nits inputs were wrong")
    second.begin(Fingerprint("all_reduce", FLOAT, (3,), "sum"))  # number 0, in which rank 0 took part
    with pytest.raises(PeerFailed, match="its inputs were wrong"):
        second.begin(Fingerprint("all_reduce", FLOAT, (3,), "sum"))
