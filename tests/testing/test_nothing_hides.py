"""P ranks are one rank: a fault of any size in any step is noticed, and no right wrapper is accused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy, fully_shard
from minitorch_dist.distributed.optim import ZeroRedundancyOptimizer
from minitorch_dist.distributed.pipelining import PipelineStage, ScheduleGPipe
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from minitorch_dist.nn.modules.container import Sequential
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.optim import SGD
from minitorch_dist.testing import check_same_as_one_rank, exact
from minitorch_dist.testing.replicas import BATCHES, unlike_steps

SIZES = (2, 3, 5, 8)
LAST = len(BATCHES) - 1
MOMENTUM = 0.875

# ------------------------------------------------------------------------------------- planted faults


def to_bits(values: Any, bits: int) -> Any:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 2.0**bits) / 2.0**bits, exponent)


Fault = Callable[[int, int, Any], None]


def averaging(fault: Fault | None = None, divisor: Callable[[int], int] = lambda size: size) -> Any:
    """DDP by hand, with momentum; `fault(step, number, gradient)` bends an averaged gradient."""

    def train(batches: list[exact.Data]) -> Any:
        model = exact.Model()
        optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
        for step, batch in enumerate(batches):
            optimizer.zero_grad()
            (exact.loss(model(batch.x), batch.y) * float(dist.get_world_size())).backward()
            for number, p in enumerate(model.parameters()):
                dist.all_reduce(p.grad)
                p.grad /= divisor(dist.get_world_size())
                if fault is not None:
                    fault(step, number, p.grad.array)
            optimizer.step()
            exact.snap(model.parameters())
        return model

    return train


def alone(batches: list[exact.Data]) -> Any:
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
    for batch in batches:
        exact.step(model, optimizer, batch)
    return model


def rounded_to(dtype: Any) -> Fault:
    def fault(step: int, number: int, grad: Any) -> None:
        mtd_dtype = getattr(mtd, dtype)
        grad[...] = mtd.from_numpy(grad.copy()).to(mtd_dtype).double().numpy()

    return fault


def scaled(by: float, only: int | None = None) -> Fault:
    def fault(step: int, number: int, grad: Any) -> None:
        if only in (None, step):
            grad *= by

    return fault


def of_14_bits(step: int, number: int, grad: Any) -> None:
    grad[...] = to_bits(grad, 14)


def one_element(step: int, number: int, grad: Any) -> None:
    """One element of one parameter in the last step, by a part in a thousand million."""
    if (step, number) == (LAST, 2):
        grad[np.abs(grad).argmax(), 0] *= 1 + 1e-9


def loses(sample: int, step: int) -> Any:
    """Rank 0 drops a sample of its share."""
    right = averaging()

    def train(batches: list[exact.Data]) -> Any:
        if dist.get_rank() == dist.get_world_size() - 1:  # the last share is never empty
            full = batches[step]
            left = exact.Data(full.x[1:], full.y[1:]) if sample == 0 else full.part(0, full.samples - 1)
            batches = [*batches[:step], left, *batches[step + 1 :]]
        return right(batches)

    return train


def faster(by: float) -> Any:
    def train(batches: list[exact.Data]) -> Any:
        model = DDP(exact.Model())
        optimizer = SGD(model.parameters(), lr=exact.RATE * by, momentum=MOMENTUM)
        for batch in batches:
            exact.step(model, optimizer, batch, ranks=dist.get_world_size())
        return model

    return train


def drifting_speed(batches: list[exact.Data]) -> Any:
    """The momentum of one weight loses a part in ten million after the second step."""
    model = DDP(exact.Model())
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
    for step, batch in enumerate(batches):
        exact.step(model, optimizer, batch, ranks=dist.get_world_size())
        if step == 1:
            speed = optimizer.state[model.module.w1]["momentum_buffer"]
            speed.array[0, 3] *= 1 - 1e-7
    return model


FAULTS = {
    "14 bits": averaging(of_14_bits),
    "float32": averaging(rounded_to("float32")),
    "float16": averaging(rounded_to("float16")),
    "bfloat16": averaging(rounded_to("bfloat16")),
    "1 + 1e-4": averaging(scaled(1 + 1e-4)),
    "1 + 1e-4 in the last step": averaging(scaled(1 + 1e-4, LAST)),
    "1 - 1e-12 in the last step": averaging(scaled(1 - 1e-12, LAST)),
    "one element": averaging(one_element),
    "divided by one rank less": averaging(divisor=lambda size: size - 1 or 2),
    "not divided": averaging(divisor=lambda size: 1),
    "a rate 1e-5 too large": faster(1 + 1e-5),
    "a rate 1e-9 too small": faster(1 - 1e-9),
    "a momentum that drifts": drifting_speed,
    **{f"a sample of batch {step} lost": loses(0, step) for step in range(len(BATCHES))},
    "the last sample lost": loses(-1, LAST),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_any_size_is_noticed(fault: str) -> None:
    for size in SIZES:
        with pytest.raises(AssertionError, match=rf"{size} ranks: .* on one rank alone"):
            check_same_as_one_rank(FAULTS[fault], [size], alone=alone)


def test_one_rank_that_leaves_out_a_last_small_step_is_noticed() -> None:
    """Its rounded weight may be the right one, and the other ranks have had the right number."""

    def train(batches: list[exact.Data]) -> Any:
        def fault(step: int, number: int, grad: Any) -> None:
            if (step, number, dist.get_rank()) == (LAST, 3, 1):
                grad[...] = 0

        return averaging(fault)(batches)

    for size in SIZES:
        with pytest.raises(AssertionError, match=r"b2.* on rank 1"):
            check_same_as_one_rank(train, [size], alone=alone)


def sharded_with(bend: Callable[[int, Any], None] | None, rate: float = exact.RATE) -> Any:
    """Parameters in shards: no rank has the whole model before a rounding."""

    def train(batches: list[exact.Data]) -> Any:
        model: Any = fully_shard(exact.Model())
        optimizer = SGD(model.parameters(), lr=rate, momentum=MOMENTUM)
        for step, batch in enumerate(batches):
            optimizer.zero_grad()
            (exact.loss(model(batch.x), batch.y) * float(dist.get_world_size())).backward()
            for p in model.parameters():
                if bend is not None:
                    bend(step, p.grad.to_local().array)
            optimizer.step()
            exact.snap(model.parameters())
        return [p.full_tensor().detach() for p in model.parameters()]

    return train


def bend_one_shard(step: int, grad: Any) -> None:
    if step == LAST and dist.get_rank() == 1 and grad.size:
        grad.reshape(-1)[-1] *= 1 + 1e-6


def round_shards(step: int, grad: Any) -> None:
    grad[...] = to_bits(grad, 24)


@pytest.mark.parametrize(
    "train",
    [sharded_with(bend_one_shard), sharded_with(round_shards), sharded_with(None, exact.RATE * (1 + 1e-5))],
    ids=["one shard, last step", "24 bits", "rate"],
)
def test_faults_of_shards_are_noticed(train: Any) -> None:
    for size in SIZES:
        with pytest.raises(AssertionError, match=r"rounding|rounds it"):
            check_same_as_one_rank(train, [size], alone=alone)


@pytest.mark.slow
@pytest.mark.parametrize("step", range(len(BATCHES)))
def test_each_sample_is_noticed(step: int) -> None:
    """One after the other, in every batch: none has a gradient of 0, and none hides in the rounding."""
    whole = [exact.data(count, seed) for seed, count in enumerate(BATCHES)]

    def seen(batches: list[exact.Data]) -> Any:
        with exact.watched() as found:
            alone(batches)
        return found

    right = seen(whole)
    for lost in range(BATCHES[step]):
        kept = [number for number in range(BATCHES[step]) if number != lost]
        some = exact.Data(whole[step].x[kept], whole[step].y[kept])
        found = seen([*whole[:step], some, *whole[step + 1 :]])
        assert unlike_steps(["w1", "b1", "w2", "b2"], right, [found]), lost


# -------------------------------------------------------------------------------------- right wrappers


def in_any_order(batches: list[exact.Data]) -> Any:
    """Gradients of all ranks are gathered, and added up in an order that each step draws anew."""
    model, rank, size = exact.Model(), dist.get_rank(), dist.get_world_size()
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
    for step, batch in enumerate(batches):
        optimizer.zero_grad()
        exact.loss(model(batch.x), batch.y).backward()
        for p in model.parameters():
            every = [mtd.empty_like(p.grad) for _ in range(size)]
            dist.all_gather(every, p.grad)
            order = np.random.Generator(np.random.PCG64([step, rank])).permutation(size)
            p.grad = sum((every[other] for other in order), mtd.zeros_like(p.grad))
        optimizer.step()
        exact.snap(model.parameters())
    return model


def divides_first(batches: list[exact.Data]) -> Any:
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
    for batch in batches:
        optimizer.zero_grad()
        (exact.loss(model(batch.x), batch.y) * float(dist.get_world_size())).backward()
        for p in model.parameters():
            p.grad /= dist.get_world_size()
            dist.all_reduce(p.grad)
        optimizer.step()
        exact.snap(model.parameters())
    return model


def by_ddp(bucket_cap_mb: float, pieces: int = 1) -> Any:
    def train(batches: list[exact.Data]) -> Any:
        model = DDP(exact.Model(), bucket_cap_mb=bucket_cap_mb)
        optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
        for batch in batches:
            optimizer.zero_grad()
            *others, last = batch.shares(pieces)
            with model.no_sync():
                for piece in others:
                    loss = exact.loss(model(piece.x), piece.y)
                    (loss * float(dist.get_world_size())).backward()
            (exact.loss(model(last.x), last.y) * float(dist.get_world_size())).backward()
            optimizer.step()
            exact.snap(model.parameters())
        return model

    return train


def by_zero(batches: list[exact.Data]) -> Any:
    model = DDP(exact.Model())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), SGD, lr=exact.RATE, momentum=MOMENTUM)
    for batch in batches:
        exact.step(model, optimizer, batch, ranks=dist.get_world_size())
    return model


def by_fsdp(strategy: ShardingStrategy) -> Any:
    def train(batches: list[exact.Data]) -> Any:
        model: Any = FSDP(exact.Model(), sharding_strategy=strategy)
        optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
        for batch in batches:
            exact.step(model, optimizer, batch, ranks=dist.get_world_size())
        with FSDP.summon_full_params(model):
            return exact.weights(model)

    return train


def by_hybrid_shards(batches: list[exact.Data]) -> Any:
    """Shards within each pair of ranks, replicas across the pairs."""
    size = dist.get_world_size()
    inner = 2 if size % 2 == 0 else 1
    mesh = init_device_mesh("cpu", (size // inner, inner), mesh_dim_names=("dp", "shard"))
    model: Any = fully_shard(exact.Model(), mesh=mesh)
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
    for batch in batches:
        exact.step(model, optimizer, batch, ranks=size)
    return [p.full_tensor().detach() for p in model.parameters()]


def by_hand(batches: list[exact.Data]) -> Any:
    """Hidden units divided among the ranks; every rank sees all samples, and the outputs are added up."""
    rank, size = dist.get_rank(), dist.get_world_size()
    whole = [exact.data(count, seed) for seed, count in enumerate(BATCHES)]
    model = exact.Model()
    mine = slice(16 * rank // size, 16 * (rank + 1) // size)
    parts = [model.w1[:, mine], model.b1[mine], model.w2[mine], model.b2]
    w1, b1, w2, b2 = (Parameter(part.detach().clone()) for part in parts)
    optimizer = SGD([w1, b1, w2, b2], lr=exact.RATE, momentum=MOMENTUM)
    for batch in whole:
        optimizer.zero_grad()
        part = (batch.x @ w1 + b1).relu() @ w2
        total = part.detach().clone()
        dist.all_reduce(total)
        exact.loss(part + (total - part.detach()) + b2, batch.y).backward()
        optimizer.step()
        exact.snap([w1, b1, w2, b2])
    every: list[Any] = [None] * size
    dist.all_gather_object(every, [w1.detach(), b1.detach(), w2.detach()])
    joined = [
        mtd.cat([row[0] for row in every], 1),
        mtd.cat([row[1] for row in every]),
        mtd.cat([row[2] for row in every]),
    ]
    return [*joined, b2.detach()]


def of_linears() -> Any:
    whole = exact.Model()
    net: Any = Sequential(mtd.nn.Linear(2, 16), mtd.nn.ReLU(), mtd.nn.Linear(16, 1)).double()
    for layer, w, b in ((net[0], whole.w1, whole.b1), (net[2], whole.w2, whole.b2)):
        layer.weight.data = w.detach().t().contiguous()
        layer.bias.data = b.detach().clone()
    return net


def by_tensor_parallel(batches: list[exact.Data]) -> Any:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    net = parallelize_module(of_linears(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    optimizer = SGD(net.parameters(), lr=exact.RATE, momentum=MOMENTUM)
    for seed, count in enumerate(BATCHES):
        exact.step(net, optimizer, exact.data(count, seed))
    found = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in net.parameters()]
    return [p.detach().t().contiguous() if p.dim() == 2 else p.detach() for p in found]


class Half(Module):
    def __init__(self, number: int) -> None:
        super().__init__()
        whole = exact.Model()
        self.w, self.b = (whole.w1, whole.b1) if number == 0 else (whole.w2, whole.b2)
        self.number = number

    def forward(self, x: Any) -> Any:
        found = x @ self.w + self.b
        return found if self.number else found.relu()


def by_pipeline(batches: list[exact.Data]) -> Any:
    """Two stages on the first two ranks; others look on."""
    rank = dist.get_rank()
    group = dist.new_group([0, 1])
    halves = [Half(0), Half(1)]
    if rank < 2:
        part = halves[rank]
        schedule = ScheduleGPipe(
            PipelineStage(part, rank, 2, "cpu", group=group), 3, loss_fn=exact.loss, scale_grads=False
        )
        optimizer = SGD(part.parameters(), lr=exact.RATE, momentum=MOMENTUM)
        for seed, count in enumerate(BATCHES):
            whole = exact.data(count, seed)
            optimizer.zero_grad()
            schedule.step(*([] if rank else [whole.x]), target=whole.y if rank else None)
            optimizer.step()
            exact.snap(part.parameters())
    for number, half in enumerate(halves):
        for p in half.parameters():
            dist.broadcast(p.detach(), src=number)
    return [p.detach() for half in halves for p in half.parameters()]


RIGHT = {
    "sums in any order": in_any_order,
    "divide, then sum": divides_first,
    "sum, then divide": averaging(),
    "DDP, one bucket": by_ddp(25),
    "DDP, a bucket for each": by_ddp(1e-6),
    "DDP, three pieces": by_ddp(25, 3),
    "ZeRO 1": by_zero,
    "ZeRO 2": by_fsdp(ShardingStrategy.SHARD_GRAD_OP),
    "ZeRO 3": by_fsdp(ShardingStrategy.FULL_SHARD),
    "fully_shard": sharded_with(None),
    "shards and replicas": by_hybrid_shards,
    "tensor parallel by hand": by_hand,
    "tensor parallel": by_tensor_parallel,
}


@pytest.mark.parametrize("wrapper", RIGHT)
def test_a_right_wrapper_is_not_accused(wrapper: str) -> None:
    check_same_as_one_rank(RIGHT[wrapper], (1, *SIZES), alone=alone)


def test_a_pipeline_is_not_accused() -> None:
    check_same_as_one_rank(by_pipeline, SIZES, alone=alone)


@pytest.mark.parametrize("wrapper", ["DDP, one bucket", "tensor parallel by hand"])
def test_adam_is_not_accused(wrapper: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its steps round, in the same way on every rank."""

    def adam(parameters: Any, lr: float, momentum: float) -> Any:
        return mtd.optim.Adam(parameters, lr=lr)

    monkeypatch.setitem(globals(), "SGD", adam)
    check_same_as_one_rank(RIGHT[wrapper], (1, *SIZES), alone=alone)


def test_rounding_by_other_means_is_said() -> None:
    def train(batches: list[exact.Data]) -> Any:
        model = DDP(exact.Model())
        optimizer = SGD(model.parameters(), lr=exact.RATE)
        for batch in batches:
            optimizer.zero_grad()
            (exact.loss(model(batch.x), batch.y) * float(dist.get_world_size())).backward()
            optimizer.step()
            for p in model.parameters():
                p.array[...] = exact.rounded(p.array)
        return model

    with pytest.raises(AssertionError, match=r"rounded by other means than exact.snap\?"):
        check_same_as_one_rank(train, [3])


def test_one_rank_that_rounds_by_other_means_is_said_too() -> None:
    def alone(batches: list[exact.Data]) -> Any:
        model = exact.Model()
        optimizer = SGD(model.parameters(), lr=exact.RATE)
        for batch in batches:
            optimizer.zero_grad()
            exact.loss(model(batch.x), batch.y).backward()
            optimizer.step()
            for p in model.parameters():
                p.array[...] = exact.rounded(p.array)
        return model

    def train(batches: list[exact.Data]) -> Any:
        model = DDP(exact.Model())
        optimizer = SGD(model.parameters(), lr=exact.RATE)
        for batch in batches:
            exact.step(model, optimizer, batch, ranks=dist.get_world_size())
        return model

    with pytest.raises(AssertionError, match=r"nothing on one rank alone.*cannot be compared"):
        check_same_as_one_rank(train, [3], alone=alone)


def by_a_server(batches: list[exact.Data]) -> Any:
    """Rank 0 alone steps and rounds; the others get its weights."""
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=MOMENTUM)
    for batch in batches:
        optimizer.zero_grad()
        exact.loss(model(batch.x), batch.y).backward()
        for p in model.parameters():
            dist.reduce(p.grad, dst=0)
        if dist.get_rank() == 0:
            optimizer.step()
            exact.snap(model.parameters())
        for p in model.parameters():
            dist.broadcast(p.detach(), src=0)
    return model


def test_a_server_and_its_workers_are_not_accused() -> None:
    check_same_as_one_rank(by_a_server, (1, *SIZES), alone=alone)


def test_rounding_twice_changes_nothing() -> None:
    def train(batches: list[exact.Data]) -> Any:
        model = DDP(exact.Model())
        optimizer = SGD(model.parameters(), lr=exact.RATE)
        for batch in batches:
            exact.step(model, optimizer, batch, ranks=dist.get_world_size())
            exact.snap(model.parameters())
        return model

    check_same_as_one_rank(train, (1, 3))


@pytest.mark.parametrize("transport", ["queue://", "tcp://"])
@pytest.mark.slow
def test_over_other_wires(transport: str) -> None:
    check_same_as_one_rank(in_any_order, (3,), transport=transport, alone=alone)
    with pytest.raises(AssertionError, match="3 ranks: before step 1 rounds it"):
        check_same_as_one_rank(of_14, (3,), transport=transport, alone=alone)


def of_14(batches: list[exact.Data]) -> Any:
    return averaging(of_14_bits)(batches)
