"""What the texts of the lessons say besides what their checks measure: each claim is tried here."""

from __future__ import annotations

import importlib
import inspect
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, product
from math import ceil, log2
from types import SimpleNamespace
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed.pipelining import orders, timing
from minitorch_dist.distributed.pipelining.orders import Action, B, F, Pipe, gpipe
from minitorch_dist.distributed.schedules import bounds
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.testing import exact
from minitorch_dist.testing.strictness import strict
from mtd.course import all_reduces, lab, lesson, pipelines
from mtd.course.layers import SquareLayer
from mtd.course.path import LessonAnswer


@contextmanager
def solved(number: float) -> Iterator[Any]:
    """The module of a lesson's solution."""
    one = lesson.find(number)
    with LessonAnswer.ours(one).searched():
        yield importlib.import_module(one.file.removesuffix(".py"))


@pytest.mark.parity
def test_group_stands_before_tag_as_in_torch() -> None:
    """Lesson 5."""
    theirs = pytest.importorskip("torch.distributed")
    for module in (dist, theirs):
        for name, peer in (("send", "dst"), ("recv", "src")):
            arguments = [*inspect.signature(getattr(module, name)).parameters]
            assert arguments[:4] == ["tensor", peer, "group", "tag"]


def overtaken() -> list[float] | None:
    """Rank 0 receives from anybody, then from rank 2, which sends after it has heard from rank 1."""
    one = torch.ones(1)
    if dist.get_rank() == 1:
        dist.send(one, 0)
        dist.send(one, 2)
    elif dist.get_rank() == 2:
        dist.recv(one, 1)
        dist.send(2 * one, 0)
    else:
        found = []
        for source in (None, 2):
            dist.recv(one, source)
            found.append(one.item())
        return found
    return None


def test_room_can_make_a_deadlock_where_a_receive_names_no_source() -> None:
    """Lesson 7: with rendezvous it ends; with room, and a slow cable from 1 to 0, it does not."""
    slow = ["delay=1s,src=1,dst=0"]
    with strict():
        assert sim.run(overtaken, 3).results[0] == [1.0, 2.0]
        assert sim.run(overtaken, 3, faults=slow).results[0] == [1.0, 2.0]
    with pytest.raises(dist.PeerLost, match="rank 0 needs in recv"):
        sim.run(overtaken, 3, faults=slow)


def test_a_circle_with_a_receive_from_anybody_may_open() -> None:
    """Lesson 7: rank 0 waits for anybody, rank 1 for rank 0; rank 2 opens the circle."""

    def program() -> float:
        one = torch.zeros(1)
        if dist.get_rank() == 2:
            dist.send(torch.ones(1), 0)
        elif dist.get_rank() == 1:
            dist.recv(one, 0)
            dist.send(one, 0)
        else:
            dist.recv(one)
            dist.send(one + 1, 1)
            dist.recv(one, 1)
        return one.item()

    assert sim.run(program, 3).results == [2.0, 2.0, 0.0]


def test_of_six_ranks_partner_seven_would_have_brought_two() -> None:
    """Lesson 14: rank 3 lacks 4 and 5, and nobody else."""

    def program() -> list[int]:
        labels = torch.tensor([64 ** dist.get_rank()])
        all_reduces.doubling_for_powers_only(labels)
        return [labels.item() // 64**rank % 64 for rank in range(6)]

    assert sim.run(program, 6).results[3] == [1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("size", [2, 4, 8])
def test_the_bus_bandwidth_of_a_ring_is_half_where_bytes_cost_as_much_as_messages(size: int) -> None:
    """Lesson 15: n β = P α gives half of what the link is sold as; much larger n gives nearly all."""
    alpha, rate = 5e-6, 12.5e9  # 100 Gb/s

    def bandwidth(nbytes: int) -> float:
        def program() -> None:
            dist.all_reduce(torch.zeros(nbytes // 8, dtype=torch.float64), algorithm="ring")

        seconds = sim.run(program, size, net=sim.uniform("5us", "12.5GB/s")).time / 1e12
        return 2 * (size - 1) / size * nbytes / seconds

    level = int(size * alpha * rate)
    assert bandwidth(level) == pytest.approx(rate / 2, rel=0.01)
    assert bandwidth(100 * level) > 0.98 * rate
    assert round(1000 * alpha * rate) == 62_500_000


@pytest.mark.filterwarnings("ignore:backward.. is called within no_sync")
def test_a_flag_set_between_forward_and_backward_averages_the_first_piece() -> None:
    """Lesson 18: of a batch in three pieces, that of rank r a (r + 1)-th, only the first is averaged."""

    def program() -> list[float]:
        layer = torch.nn.Linear(1, 1, bias=False)
        model = DistributedDataParallel(layer)
        found = []
        for _ in range(2):
            layer.zero_grad()
            for piece in range(3):
                output = model(torch.full((1, 1), (dist.get_rank() + 1.0) * 10**piece))
                model.require_backward_grad_sync = piece == 2
                output.sum().backward()
            found.append(float(layer.weight.grad.item()))  # type: ignore[union-attr]
        return found

    for rank, found in enumerate(sim.run(program, 2).results):
        assert found == [1.5 + 110.0 * (rank + 1)] * 2, (rank, found)


def test_where_no_gradient_is_old_the_rate_has_a_bound_too() -> None:
    """Lesson 25: τ = 0 and ηa = 1.9: ηaτ < 1, and the error is -0.9 times what it was, not within 1 - ηa of it."""
    rate, error = 1.9, 1.0
    after: Any = (1 - rate) * error
    assert abs(after) > (1 - rate * (1 - rate * 0)) * error


def test_hypothesis_repeats_values_though_it_draws_from_a_million() -> None:
    """Lesson 5.5: which a plain random generator does not."""
    from hypothesis import given, strategies as st

    repeated = []

    @lab.learn
    @given(st.lists(st.integers(0, 999_999), min_size=2, max_size=10))
    def draws(senders: list[int]) -> None:
        repeated.append(len(set(senders)) < len(senders))

    draws()
    assert sum(repeated) > len(repeated) / 10


def test_a_circle_is_no_deadlock_while_messages_are_under_way() -> None:
    """Lesson 7: in the repaired shift of two ranks each waits for the other in its receive, and both get a message."""

    def program() -> float:
        rank, received = dist.get_rank(), torch.empty(1)
        work = dist.isend(torch.ones(1) * rank, 1 - rank)
        dist.recv(received, 1 - rank)
        work.wait()
        return received.item()

    assert sim.run(program, 2, net="sim://?latency=1s").results == [1.0, 0.0]


def even_ranks_send_first(count: int) -> None:
    rank, size, received = dist.get_rank(), dist.get_world_size(), torch.empty(count)
    if rank % 2 == 0:
        dist.send(torch.ones(count), (rank + 1) % size)
        dist.recv(received, (rank - 1) % size)
    else:
        dist.recv(received, (rank - 1) % size)
        dist.send(torch.ones(count), (rank + 1) % size)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_where_even_ranks_send_first_long_messages_take_twice_the_time(size: int) -> None:
    """Lesson 7."""
    with solved(7) as shift, strict():
        turns, both = (
            sim.run(program, size, arguments, net="sim://?latency=1us&rate=1GB/s").time
            for program, arguments in ((even_ranks_send_first, (10**6,)), (shift.shift, (torch.ones(10**6),)))
        )
    assert turns / both == pytest.approx(2, rel=0.01)


def test_receiving_no_byte_says_nothing_about_the_stream() -> None:
    """Lesson 9."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert ours.recv(0) == b""
        theirs.sendall(b"still there")
        assert ours.recv(0) == b"" and ours.recv(64) == b"still there"


@pytest.mark.parametrize("size", [*range(1, 18), 31, 32, 33])
def test_the_last_rounds_child_first_takes_the_fewest_rounds(size: int) -> None:
    """Lesson 11: for every root. Not because most ranks are below that child: of 5, 9 or 17 ranks there is one."""
    with solved(11) as tree:

        def heard(root: int) -> int:
            """Rounds until the last rank has heard."""
            rounds, ready = 0, [(root, 0)]
            for rank, since in ready:
                for place, below in enumerate(reversed(tree.children(rank, size, root)), 1):
                    ready.append((below, since + place))
                rounds = max(rounds, since)
            assert len(ready) == size
            return rounds

        assert {heard(root) for root in range(size)} == {(size - 1).bit_length()}
        if size in (5, 9, 17):
            assert not tree.children(tree.children(0, size, 0)[-1], size, 0)


def test_what_the_root_of_a_tree_sends() -> None:
    """Lesson 12: 1.7 times the least with 8 ranks, 5 times with 1000."""
    for size, times in ((8, 1.7), (1000, 5.0)):
        least = float(bounds.least_bytes("all_reduce", size, 1000))
        assert ceil(log2(size)) * 1000 / least == pytest.approx(times, rel=0.02)


def test_the_bounds_of_messages_in_turn_of_algorithms_that_fold() -> None:
    """Lesson 14: the mirror image, in which the odd rank of a pair folds in, is within them as well."""
    with solved(14) as doubling:
        for size in range(1, 34):
            power = 1 << (size.bit_length() - 1)
            bound = power.bit_length() - 1 + 2 * (size > power)

            def mirrored(tensor: Any, size: int = size) -> None:
                real = dist.get_rank

                def rank() -> int:
                    return size - 1 - real()

                ours = SimpleNamespace(**{name: getattr(dist, name) for name in ("get_world_size", "ReduceOp")})
                ours.get_rank = rank
                ours.send = lambda tensor, to: dist.send(tensor, size - 1 - to)
                ours.isend = lambda tensor, to: dist.isend(tensor, size - 1 - to)
                ours.recv = lambda tensor, source: dist.recv(tensor, size - 1 - source)
                functions = {"dist": ours}
                exec(inspect.getsource(doubling).replace("import minitorch_dist.distributed as dist", ""), functions)
                functions["all_reduce"](tensor)  # type: ignore[operator]

            for all_reduce in (doubling.all_reduce, mirrored) if size < 10 else (doubling.all_reduce,):
                assert lab.in_turn(all_reduce, size, 4) <= bound, (size, all_reduce)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 8, 9, 16, 64, 100])
def test_where_halving_is_the_best_of_three(size: int) -> None:
    """Lesson 15: never with 2, 3, 5, 6 and 7 ranks; with a power of two also for all long tensors."""
    names = ("recursive_doubling", "rabenseifner", "ring")
    with solved(15) as choice:
        best = []
        for eighth in range(-80, 96):
            times = {name: choice.PRICES[name](size, 10 ** (eighth / 8), Links(10**6, 10**6)) for name in names}
            best.append(min(names, key=lambda name: times[name]))
    assert best[0] == "recursive_doubling"
    assert ("rabenseifner" in best) == (size not in (2, 3, 5, 6, 7))
    is_power = size & (size - 1) == 0
    assert best[-1] == ("recursive_doubling" if size == 2 else "rabenseifner" if is_power else "ring")


def test_the_parentheses_of_a_sum_count_and_not_the_order_of_two() -> None:
    """Lesson 16: own number first gives other sums from rank 2 on; doubling the same on all ranks."""
    zero, one, two = 0.6, 0.7, -0.7
    assert (zero + one) + two == (one + zero) + two != (two + zero) + one
    for size in (2, 3, 5, 8):

        def program() -> list[float]:
            tensor = torch.tensor([0.1 * (dist.get_rank() + 1), 1e16 * (-1) ** dist.get_rank()], dtype=torch.float64)
            dist.all_reduce(tensor, algorithm="recursive_doubling")
            return list(tensor.tolist())

        assert len({tuple(found) for found in sim.run(program, size).results}) == 1


def test_with_batch_norm_small_batches_are_not_one_large_one() -> None:
    """Lesson 17: the gradient of two halves differs from that of the whole by more than a tenth."""
    x = torch.tensor([[0.0], [1.0], [4.0], [9.0]], dtype=torch.float64)
    target = torch.tensor([[0.0], [3.0], [0.0], [3.0]], dtype=torch.float64)

    def gradient(parts: int) -> float:
        norm = nn.BatchNorm1d(1, dtype=torch.float64)
        for some, wanted in zip(x.chunk(parts), target.chunk(parts), strict=True):
            (((norm(some) - wanted) ** 2).sum() / 4).backward()
        return float(norm.weight.grad.item())  # type: ignore[union-attr]

    whole, halves = gradient(1), gradient(2)
    assert whole != pytest.approx(halves, rel=0.1)


class Product(nn.Module):
    """Some equal parameters."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList([torch.ones(width, width) for _ in range(count)])

    def forward(self, x: Any) -> Any:
        for weight in self.weights:
            x = x @ weight
        return x


@pytest.mark.parametrize(("count", "width"), [(1, 400), (4, 200), (16, 100)])
def test_what_a_unit_of_fsdp_holds_at_the_peak(count: int, width: int) -> None:
    """Lesson 21: twice its size, and its largest parameter twice more; and of the shards a P-th each."""
    with solved(21) as sharded:

        def program() -> float:
            layers = (Product(count, width).to("cuda") for _ in range(2))
            model = nn.Sequential(*map(sharded.FullyShardedDataParallel, layers))
            x = torch.ones(1, width, device="cuda")
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            model(x).sum().backward()
            return float((torch.cuda.max_memory_allocated() - before) / (4 * count * width**2))

        for extra in sim.run(program, 8, memory="1GB").results:
            assert extra == pytest.approx(2 + 2 / count + (1 + 1 / count) / 8, abs=0.01)


@pytest.mark.parametrize("staleness", [0, 1, 3])
def test_a_worker_that_waits_has_pushed_once_more_than_its_bound(staleness: int) -> None:
    """Lesson 25."""
    with solved(25) as server:
        clocks = [0, 0]
        while server.may_read(clocks, 1, staleness):
            clocks[1] += 1
        assert clocks[1] - clocks[0] == staleness + 1


def test_when_messages_cost_1f1b_takes_longer_than_gpipe() -> None:
    """Lesson 27: 4 stages, 16 micro-batches: 57 ms each when they are free; at 1 ms a message 63 and 85."""
    with solved(27) as lesson_27:
        for net, times in ((pipelines.FREE, [57, 57]), (sim.uniform("1ms", "1000TB/s"), [63, 85])):
            makes = (gpipe, lesson_27.one_forward_one_backward)
            assert [pipelines.timed(lesson_27.Stage, make, Pipe(4, 16), net).total for make in makes] == times


def eager_one_forward_one_backward(rank: int, pipe: Pipe) -> list[Action]:
    """1F1B with nearly twice as many forwards in its warm-up, so that an answer has time to travel."""
    ahead = min(2 * (pipe.ranks - rank) - 1, pipe.microbatches)
    order = [Action(rank, F, number) for number in range(ahead)]
    for number in range(pipe.microbatches):
        order.append(Action(rank, B, number))
        order += [Action(rank, F, later) for later in [number + ahead] if later < pipe.microbatches]
    return order


def test_a_longer_warm_up_hides_the_messages_and_holds_more() -> None:
    """Lesson 27: with 2(S-s)-1 forwards first, 63 ms at 1 ms a message, and 7, 5, 3, 1 instead of 4, 3, 2, 1."""
    with solved(27) as lesson_27:
        net, pipe = sim.uniform("1ms", "1000TB/s"), Pipe(4, 16)
        usual = pipelines.timed(lesson_27.Stage, lesson_27.one_forward_one_backward, pipe, net)
        eager = pipelines.timed(lesson_27.Stage, eager_one_forward_one_backward, pipe, net)
    assert (usual.total, usual.held) == (85, [4, 3, 2, 1])
    assert (eager.total, eager.held) == (63, [7, 5, 3, 1])


def test_the_first_stage_ends_one_less_than_the_stages_after_the_last() -> None:
    """Lesson 26: in steps of a backward."""
    with solved(26) as stages:
        for ranks, count in product((2, 3, 5), (1, 4)):
            found = pipelines.timed(stages.Stage, gpipe, Pipe(ranks, count))
            ends = [rank.spans[-1].end for rank in found.ranks]
            assert all(before - after == 2 for before, after in pairwise(ends))


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_in_rows_a_block_sends_the_bytes_of_whole_activations(size: int) -> None:
    """Lesson 31: 8 (P-1)/P n with attention and an MLP, and in rows as much, besides the gradients of two biases."""
    tokens, width = 24, 24

    with solved(31) as cut:

        def program(in_rows: bool) -> None:
            layers = [nn.Linear(width, width, dtype=torch.float64) for _ in range(6)]
            query, key, value, first = map(cut.Columns, layers[:4])
            output, second = map(cut.Rows, layers[4:])
            blocks = (
                cut.Attention(query, key, value, output, width, torch.relu, in_rows),
                cut.MLP(first, second, in_rows),
            )
            rows = tokens // size if in_rows else tokens
            x = torch.ones(rows, width, dtype=torch.float64, requires_grad=True)
            for block in blocks:
                x = x + block(x)
            x.sum().backward()

        net = sim.Hockney(0, "100Gb/s")
        whole, rows = (
            max(rank.bytes_sent for rank in sim.run(program, size, (in_rows,), net=net).ranks)
            for in_rows in (False, True)
        )
    assert whole == 8 * (size - 1) / size * tokens * width * 8
    assert rows == whole + 2 * 2 * (size - 1) / size * width * 8


def test_all_ranks_have_the_gradient_of_a_sum_where_each_computes_one_loss() -> None:
    """Lesson 31: torch's all_reduce with a gradient adds up the losses of all ranks; a sum for one loss does not."""
    from minitorch_dist.distributed.nn import functional

    def program() -> list[float]:
        found = []
        with solved(31) as cut:
            for add_up in (cut.Leave.apply, functional.all_reduce):
                x = torch.ones(1, requires_grad=True)
                add_up(x).sum().backward()
                found.append(x.grad.item())  # type: ignore[union-attr]
        return found

    for size in (1, 2, 5):
        assert sim.run(program, size).results == [[1.0, float(size)]] * size


def held_in_outputs(build: Any, count: int) -> float:
    """Lesson 33: at most in a step, in outputs of one of so many layers."""

    def program() -> float:
        model = build([SquareLayer(2).to("cuda") for _ in range(count)])
        x = torch.ones(4096, 2, dtype=torch.float64, device="cuda")
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        model(x).sum().backward()
        return (torch.cuda.max_memory_allocated() - before) / x.nbytes

    return float(sim.run(program, 1, memory="1GB").results[0])


def test_segments_that_become_shorter_hold_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lesson 33: 2√n with equal segments; 13 instead of 16 of 64 layers."""
    with solved(33) as recompute:
        for count in (16, 64):
            assert held_in_outputs(recompute.Segments, count) == pytest.approx(2 * count**0.5, rel=0.02)
        monkeypatch.setattr(recompute, "cuts", lambda count: [0, 11, 21, 30, 38, 45, 51, 56, 60, 63, 64])
        assert round(held_in_outputs(recompute.Segments, 64)) == 13


def trained_in(dtype: Any, mixed: Any = None) -> float:
    """Lesson 33: the loss after 400 steps of 2⁻¹¹, with master copies or without."""
    model, samples = exact.Model().to(torch.float32), exact.data(37)
    x, y, rate = samples.x.to(dtype), samples.y.float(), 2.0**-11
    masters = mixed(model, lambda each: torch.optim.SGD(each, lr=rate), dtype, 1.0) if mixed else None
    optimizer = torch.optim.SGD(model.to(dtype).parameters(), lr=rate)
    for _ in range(400):
        exact.loss(model(x).float(), y).backward()
        if masters:
            masters.step()
        else:
            optimizer.step()
            optimizer.zero_grad()
    return float(exact.loss(model(x).float(), y).item())


def test_without_a_master_copy_training_stands_still() -> None:
    """Lesson 33: a loss of 0.97 in float32, 0.99 in bfloat16 with copies, 1.36 without."""
    with solved(33) as recompute:

        def program() -> list[float]:
            half = torch.bfloat16
            return [trained_in(torch.float32), trained_in(half, recompute.Mixed), trained_in(half)]

        (found,) = sim.run(program, 1).results
    assert [round(loss, 2) for loss in found] == [0.97, 0.99, 1.36]


def test_what_halves_can_say() -> None:
    """Lesson 33: 1 - 1/1024 and 256 + 1 in bfloat16, 60000 + 60000 and 6e-8 in float16."""
    one, large = torch.ones(1, dtype=torch.bfloat16), torch.full((1,), 256.0, dtype=torch.bfloat16)
    assert (one - 2.0**-10).item() == 1.0 and (one - 2.0**-8).item() < 1 and (large + 1).item() == 256.0
    many = torch.full((1,), 60000.0, dtype=torch.float16)
    assert (many + many).isinf().item() and torch.tensor([2.9e-8]).half().item() == 0
    assert torch.tensor([6e-8]).half().item() == 2.0**-24


def test_a_checkpoint_updates_the_statistics_of_a_layer_twice() -> None:
    """Lesson 33: in ours and in the library's, as in torch."""
    with solved(33) as recompute:
        for checkpoint in (recompute.checkpoint, torch.utils.checkpoint.checkpoint):
            norm = nn.BatchNorm1d(1)
            checkpoint(norm, torch.tensor([[1.0], [3.0]])).sum().backward()
            assert norm.num_batches_tracked.item() == 2  # type: ignore[operator]


def test_zero_bubble_beside_1f1b() -> None:
    """Lesson 34: 27 and 33 ms, and with messages of 1 ms 54 and 85, where 7 micro-batches are held."""
    with solved(34) as lesson_34:
        free = orders.everyones(lesson_34.zero_bubble, Pipe(4, 8))
        assert timing.times(free, Pipe(4, 8), pipelines.LONG).total == 27
        usual = orders.everyones(orders.one_forward_one_backward, Pipe(4, 8))
        assert timing.times(usual, Pipe(4, 8), pipelines.LONG).total == 33
        pipe = Pipe(4, 16)
        far = orders.everyones(lambda rank, pipe: lesson_34.zero_bubble(rank, pipe, 1), pipe)
        found = timing.times(far, pipe, pipelines.LONG, 1)
        assert found.total == 54 and [found.in_flight(rank) for rank in range(4)] == [7] * 4


def ahead_in_1f1b(apart: int) -> orders.Make:
    """1F1B where each stage is so many forwards further ahead than the next one."""

    def make(rank: int, pipe: Pipe) -> list[Action]:
        ahead = min(1 + (pipe.ranks - 1 - rank) * apart, pipe.microbatches)
        order = [Action(rank, F, k) for k in range(ahead)]
        for k in range(pipe.microbatches):
            order.append(Action(rank, B, k))
            order += [Action(rank, F, later) for later in [k + ahead] if later < pipe.microbatches]
        return order

    return make


@pytest.mark.parametrize("quarters", [0, 1, 2, 4, 6, 7, 8, 12, 13])
def test_how_far_ahead_hides_messages_in_1f1b(quarters: int) -> None:
    """Lesson 34: 1 + ⌈2d/3⌉ for each hop. Then the last stage never waits, and one less is slower."""
    cost = {F: 4, B: 8}
    apart = 1 + ceil(2 * quarters / 4 / 3)
    for ranks, count in ((2, 16), (3, 20), (5, 40)):
        pipe = Pipe(ranks, count)
        least = 12 * count + (ranks - 1) * (12 + 2 * quarters)

        def total(apart: int, pipe: Pipe = pipe) -> int:
            return timing.times(orders.everyones(ahead_in_1f1b(apart), pipe), pipe, cost, quarters).total

        assert total(apart) == least and (apart == 1 or total(apart - 1) > least)


def test_two_stages_on_a_rank_halve_the_bubble() -> None:
    """Lesson 34."""
    bubbles = []
    for local in (1, 2):
        pipe = Pipe(4, 8, local)
        bubbles.append(timing.times(orders.everyones(orders.interleaved, pipe), pipe, pipelines.LONG).bubble)
    assert bubbles[1] * 2 == bubbles[0]


def test_the_balance_loss_is_one_where_all_is_equal_and_the_number_of_experts_where_one_has_all() -> None:
    """Lesson 32; and its gradient is largest for the weight of the expert that is chosen most often."""
    with solved(32) as experts:
        equal = torch.full((8, 4), 0.25, dtype=torch.float64)
        assert experts.balance(equal, [[token % 4] for token in range(8)]).item() == 1
        assert experts.balance(equal, [[token % 4, (token + 1) % 4] for token in range(8)]).item() == 1
        one = torch.zeros(8, 4, dtype=torch.float64)
        one[:, 2] = 1
        assert experts.balance(one, [[2]] * 8).item() == 4
        weights = equal.clone().requires_grad_()
        experts.balance(weights, [[0]] * 5 + [[1]] * 3).backward()
        grad: Any = weights.grad
        assert grad[0].tolist() == sorted(grad[0].tolist(), reverse=True) and grad[0, 0] > grad[0, 1] > 0


@pytest.mark.parametrize(("wants", "factor", "ms"), [("all", 4.0, 48), ("spread", 4.0, 12), ("all", 1.25, 16)])
def test_a_layer_of_experts_takes_as_long_as_its_fullest_rank(wants: str, factor: float, ms: int) -> None:
    """Lesson 32: 4 ranks of one expert, 12 tokens each, 1 ms for a token, free messages."""

    class Slow(nn.Module):
        def forward(self, rows: Any) -> Any:
            sim.compute(f"{len(rows)}ms")
            return rows

    with solved(32) as experts:

        def program() -> None:
            router = torch.eye(4) if wants == "spread" else torch.ones(4, 4)
            layer = experts.Experts(router, [Slow() for _ in range(4)], 1, factor, torch.relu)
            layer(torch.eye(4).repeat(3, 1))

        assert sim.run(program, 4, net=pipelines.FREE).time // 10**9 == ms


def loss_of_talking_every(lesson_35: Any, every: int, rate: float, momentum: float) -> float:
    """Lesson 35: 4 ranks, 240 steps; with every=0 gradients are averaged in each step."""

    def program() -> float:
        rank, model = dist.get_rank(), exact.Model()
        inner = torch.optim.SGD(model.parameters(), lr=2.0**-7)
        outer = lesson_35.DiLoCo(model.parameters(), inner, every or 10**6, rate, momentum)
        for step in range(240):
            model.zero_grad()
            share = exact.data(37, step % 8).shares(4)[rank]
            (exact.loss(model(share.x), share.y) * 4.0).backward()
            for p in [] if every else model.parameters():
                dist.all_reduce(p.grad)
                p.grad /= 4
            outer.step()
        whole = [exact.data(37, seed) for seed in range(8)]
        return float(sum(exact.loss(model(one.x), one.y).item() for one in whole) / 8)

    return float(sim.run(program, 4).results[0])


def test_what_the_loss_does_if_all_talk_seldom() -> None:
    """Lesson 35: 1.006 with DDP and with an average every 8 steps; DiLoCo 0.964 every 8, and 1.010 every 40."""
    with solved(35) as lesson_35:
        cases = ((0, 1.0, 0.0), (8, 1.0, 0.0), (8, 0.7, 0.9), (40, 0.7, 0.9))
        found = [loss_of_talking_every(lesson_35, *case) for case in cases]
    assert [round(loss, 3) for loss in found] == [1.006, 1.006, 0.964, 1.010]


def test_bytes_to_all_others_are_no_less_than_floats_round_a_ring_with_eight() -> None:
    """Lesson 35: (P-1) n bytes, and 2 (P-1)/P of 4 n."""
    for size in (2, 4, 8, 16):
        assert ((size - 1) < 2 * (size - 1) / size * 4) == (size < 8)


def test_without_what_is_missing_a_small_number_never_arrives() -> None:
    """Lesson 35."""
    with solved(35) as lesson_35:
        levels, scale = lesson_35.to_bytes(torch.tensor([1.0, 0.0039]))
        assert (levels * scale)[1].item() == 0 and 0.0039 < 1 / 127 / 2
