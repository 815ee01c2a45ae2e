"""send, recv and their kin, on tensors, between threads."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch, sim
from transports.clock import SYSTEM

DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
          torch.float16, torch.bfloat16, torch.float32, torch.float64]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_round_the_ring_everybody_sends_first(size: int) -> None:
    def rank() -> list[Any]:
        me = dist.get_rank()
        got = torch.zeros(1000)
        if size == 1:
            work = dist.isend(torch.full((1000,), 7.0), 0), dist.irecv(got, 0)
            for one in work:
                one.wait()
        else:
            dist.send(torch.full((1000,), float(me)), (me + 1) % size)
            assert dist.recv(got, (me - 1) % size) == (me - 1) % size
        return [got.unique().tolist()]

    expected = [[[7.0]]] if size == 1 else [[[float((r - 1) % size)]] for r in range(size)]
    assert launch(rank, size) == expected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_shape(dtype: torch.dtype) -> None:
    shapes = [(), (0,), (3,), (2, 0, 3), (2, 3)]

    def rank() -> None:
        for shape in shapes:
            sent = torch.arange(6)[: max(1, torch.zeros(shape).numel())].to(dtype)
            sent = sent[: torch.zeros(shape).numel()].reshape(shape)
            if dist.get_rank() == 2:
                dist.send(sent, 0)
            elif dist.get_rank() == 0:
                got = torch.zeros(shape, dtype=dtype)
                dist.recv(got, 2)
                assert torch.equal(got, sent)

    launch(rank, 3)


def test_strided_tensors_are_sent_and_filled() -> None:
    def rank() -> None:
        if dist.get_rank() == 0:
            dist.send(torch.arange(12.0).reshape(3, 4).t(), 1)
        elif dist.get_rank() == 1:
            base = torch.zeros(8, 6)
            dist.recv(base[::2, ::2], 0)
            assert torch.equal(base[::2, ::2], torch.arange(12.0).reshape(3, 4).t())
            assert base[1::2].sum() == 0 and base[:, 1::2].sum() == 0
            with pytest.raises(RuntimeError, match="refers to a single memory location"):
                dist.recv(torch.zeros(1).expand(4), 0)

    launch(rank, 3)


def test_what_was_received_counts_as_a_write() -> None:
    def rank() -> None:
        x = torch.ones(3, requires_grad=True)
        if dist.get_rank() == 0:
            dist.send(x, 1)
        elif dist.get_rank() == 1:
            y = x * 2
            saved = torch.ones(3)
            z = y * saved
            version = saved._version
            dist.recv(saved, 0)
            assert saved._version == version + 1
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                z.sum().backward()

    launch(rank, 3)


def test_tags_in_any_order_and_messages_of_one_tag_in_theirs() -> None:
    def rank() -> None:
        if dist.get_rank() == 0:
            for n, tag in enumerate([5, 6, 5, 0]):
                dist.send(torch.tensor([n]), 1, tag=tag)
        elif dist.get_rank() == 1:
            got = torch.zeros(1, dtype=torch.int64)
            for n, tag in [(3, 0), (1, 6), (0, 5), (2, 5)]:
                dist.recv(got, 0, tag=tag)
                assert got.item() == n

    launch(rank, 3)


def test_from_anybody() -> None:
    def rank() -> set[int]:
        size = dist.get_world_size()
        if dist.get_rank():
            dist.send(torch.tensor([dist.get_rank() * 10]), 0)
            return set()
        got, seen = torch.zeros(1, dtype=torch.int64), set()
        for _ in range(size - 1):
            src = dist.recv(got)
            assert got.item() == src * 10
            seen.add(src)
        return seen

    assert launch(rank, 5)[0] == {1, 2, 3, 4}


def test_long_sends_go_on_beside_and_keep_their_order() -> None:
    def rank() -> None:
        me, n = dist.get_rank(), 40_000
        if me == 0:
            works = [dist.isend(torch.full((n,), float(i)), 2) for i in range(5)]
            dist.send(torch.full((n,), 5.0), 2)
            assert all(work.is_completed() for work in works)  # what was sent before went first
            assert works[0].wait() and works[0].is_success()
        elif me == 2:
            got = torch.zeros(n)
            for i in range(6):
                dist.recv(got, 0)
                assert got.unique().tolist() == [float(i)]

    launch(rank, 3)


def test_a_batch_in_any_order() -> None:
    def rank() -> list[float]:
        me, size = dist.get_rank(), dist.get_world_size()
        got = [torch.zeros(2), torch.zeros(2)]
        ops = [
            dist.P2POp(dist.isend, torch.full((2,), me + 0.5), (me + 1) % size),
            dist.P2POp(dist.irecv, got[0], (me - 1) % size),
            dist.P2POp(dist.irecv, got[1], me, tag=3),
            dist.P2POp(dist.isend, torch.full((2,), float(me)), me, tag=3),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        return [got[0][0].item(), got[1][0].item()]

    assert launch(rank, 3) == [[2.5, 0], [0.5, 1], [1.5, 2]]


def test_works_and_their_futures() -> None:
    def rank() -> None:
        if dist.get_rank() == 0:
            got = torch.zeros(2)
            work = dist.irecv(got, 1)
            assert not work.is_success()
            future = work.get_future().then(lambda f: f.value()[0] * 2)
            dist.send(torch.zeros(1), 1)  # only now does rank 1 send
            assert future.wait().tolist() == [2, 4]
            assert work.is_completed() and work.exception() is None
            assert work.result()[0] is got and work.source_rank() == 1
            with pytest.raises(RuntimeError, match="sourceRank"):
                dist.isend(got, 0, tag=9).source_rank()
        elif dist.get_rank() == 1:
            dist.recv(torch.zeros(1), 0)
            dist.send(torch.tensor([1.0, 2.0]), 0)

    launch(rank, 3)


def test_what_does_not_fit_is_told_with_both_lines() -> None:
    def rank() -> None:
        if dist.get_rank() == 0:
            dist.send(torch.zeros(3), 1)
            dist.send(torch.zeros(4, dtype=torch.float64), 1)
            dist.send(torch.zeros(4), 1)
        elif dist.get_rank() == 1:
            got = torch.full((4,), 9.0)
            with pytest.raises(
                dist.DistMismatch,
                match=r"rank 0 sent 12 bytes.*expects 16.*recv \(float32\[4\]\) at test_messages.py:\d+ of.*rank 0 is in send \(float32\[3\]\) at test_messages.py:\d+",
            ):
                dist.recv(got, 0)
            with pytest.raises(dist.DistMismatch, match=r"does not fit.*recv \(float32\[4\].*send \(float64\[4\]"):
                dist.recv(got, 0)
            assert got.tolist() == [9] * 4
            dist.recv(got, 0)  # and nothing is out of step
            assert got.tolist() == [0] * 4

    launch(rank, 3)


def test_wrong_arguments_in_torchs_words() -> None:
    def rank() -> None:
        me, t = dist.get_rank(), torch.zeros(1)
        with pytest.raises(ValueError, match="destination rank should not be the same as the rank"):
            dist.send(t, me)
        with pytest.raises(ValueError, match="Must specify global_rank or group_rank"):
            dist.send(t)
        with pytest.raises(ValueError, match="Can't specify both group_rank and global_rank"):
            dist.send(t, 1, group_dst=1)
        with pytest.raises(ValueError, match="Global rank 7 is not part of group"):
            dist.isend(t, 7)
        with pytest.raises(ValueError, match="Group rank 7 is not part of group"):
            dist.irecv(t, group_src=7)
        with pytest.raises(TypeError, match=r"Expected parameter `tensor` of type torch.Tensor"):
            dist.send([t], (me + 1) % 3)
        with pytest.raises(RuntimeError, match="Tag must be nonnegative"):
            dist.isend(t, me, tag=-1)
        with pytest.raises(ValueError, match="Invalid ``op``"):
            dist.P2POp(dist.send, t, 1)
        with pytest.raises(ValueError, match="Invalid ``p2p_op_list``"):
            dist.batch_isend_irecv([1])
        with pytest.raises(IndexError, match="is empty"):
            dist.batch_isend_irecv([])

    launch(rank, 3)


def test_a_timeout_says_where() -> None:
    def rank() -> None:
        if dist.get_rank() == 1:
            with pytest.raises(
                dist.DistTimeout,
                match=r"rank 1 waited \d+\.\d s for rank 0 in recv with tag 3 \(float32\[1\]\) at test_messages.py:\d+ of group 'default_pg'; nothing was heard",
            ):
                dist.irecv(torch.zeros(1), 0, tag=3).wait(0.1)
            dist.send(torch.zeros(1), 0)
        elif dist.get_rank() == 0:
            dist.recv(torch.zeros(1), 1)

    launch(rank, 3)


def test_a_peer_that_has_left() -> None:
    def rank() -> None:
        if dist.get_rank() == 2:
            with pytest.raises(
                dist.PeerLost,
                match=r"rank 0 is lost \(it has left, without any collective of this group\), which rank 2 needs in recv \(float32\[1\]\) at test_messages.py",
            ):
                dist.recv(torch.zeros(1), 0)
            with pytest.raises(dist.PeerLost, match=r"which rank 2 sends to in send"):
                dist.send(torch.zeros(1), 0)
            dist.send(torch.zeros(1), 1)
        elif dist.get_rank() == 1:
            dist.recv(torch.zeros(1), 2)

    launch(rank, 3)


def test_lists_of_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = ["foo", 12, {1: (2.5, None)}, torch.arange(3)]

    def rank() -> None:
        if dist.get_rank() == 0:
            dist.send_object_list(sent, 1)
            dist.send_object_list(sent[:2], 1)
            dist.send(torch.zeros(3), 1)
        elif dist.get_rank() == 1:
            got: list[Any] = [None] * 4
            assert dist.recv_object_list(got) == 0
            assert got[:3] == sent[:3] and got[3].tolist() == [0, 1, 2]
            with pytest.raises(dist.DistMismatch, match=r"a list of 2 objects, but .* of 4 to fill"):
                dist.recv_object_list(got, 0)
            with pytest.raises(dist.DistMismatch, match=r"recv_object_list \(uint8\) at test_messages.*send \("):
                dist.recv_object_list(got, 0)

    torch.launch(rank, 3)
    monkeypatch.setenv("MINITORCH_DIST_ALLOW_PICKLE", "0")
    with pytest.raises(dist.DistError, match="MINITORCH_DIST_ALLOW_PICKLE=0 forbids"):
        torch.launch(lambda: dist.send_object_list([object()], (dist.get_rank() + 1) % 3), 3)


def test_who_waits_long_says_so_and_again(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_SLOW", "0.05")

    def rank() -> None:
        if dist.get_rank() == 1:
            dist.recv(torch.zeros(1), 2)
        elif dist.get_rank() == 2:
            while len(caplog.records) < 3:
                SYSTEM.sleep(0.01)
            dist.send(torch.zeros(1), 1)

    torch.launch(rank, 3)
    for message, seconds in zip(caplog.messages, ("0.1", "0.1", "0.2"), strict=False):
        assert message.startswith(f"still waiting: rank 1 waited {seconds} s for rank 2 in recv (float32")


def test_a_receive_whose_time_is_over_takes_no_later_message() -> None:
    def rank() -> None:
        if dist.get_rank() == 1:
            first, second = torch.zeros(1), torch.zeros(1)
            work = dist.irecv(first, 2)
            with pytest.raises(dist.DistTimeout):
                work.wait(0.01)
            assert work.is_completed() and not work.is_success()
            dist.send(first, 2)
            dist.recv(second, 2)
            assert (first.item(), second.item()) == (0, 7)
            with pytest.raises(dist.DistTimeout):
                work.wait()
        elif dist.get_rank() == 2:
            dist.recv(torch.zeros(1), 1)
            dist.send(torch.tensor([7.0]), 1)

    torch.launch(rank, 3)


@pytest.mark.parametrize("no_rank", [1.0, "1", 1.5])
def test_a_rank_is_a_whole_number(no_rank: Any) -> None:
    """As in torch, also where a call of this kind has been made before, and also as a tag."""

    def program() -> None:
        x, peer = torch.ones(2), 1 - dist.get_rank()
        wrong = no_rank if peer else type(no_rank)(0)
        for _ in range(2):
            for call in (dist.send, dist.isend, dist.recv, dist.irecv, dist.broadcast, dist.reduce):
                with pytest.raises(TypeError):
                    call(x, wrong)
            for call in (dist.send, dist.recv):
                with pytest.raises(TypeError, match="a tag is an integer"):
                    call(x, peer, tag=1.0)
            first, second = (dist.send, dist.recv) if peer else (dist.recv, dist.send)
            first(x, peer, tag=1)
            second(x, peer, tag=1)
            dist.broadcast(x, 0)

    sim.run(program, 2)
