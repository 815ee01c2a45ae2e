"""The time of torch's operations on simulated devices, with numbers and without."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from minitorch_dist import sim
from minitorch_dist.sim.device import Product
from tests.pytorch import programs

NET = "sim://?latency=5us&rate=400Gb/s"
DEVICE = sim.Device("plain", peak={"float32": "10T"}, bandwidth="1TB/s", launch="1us")


def _product(rows: int, terms: int, columns: int) -> None:
    left, right = torch.empty(rows, terms), torch.empty(terms, columns)
    left @ right


@pytest.mark.parametrize("shapes", [False, True])
@pytest.mark.parametrize("sizes", [(64, 32, 16), (1, 1, 1), (256, 512, 128)])
def test_a_product_takes_what_the_device_says(sizes: tuple[int, int, int], shapes: bool) -> None:
    rows, terms, columns = sizes
    nbytes = 4 * (rows * terms + terms * columns + rows * columns)
    wanted = DEVICE.time(nbytes, "float32", [Product(2 * rows * terms * columns, (rows, columns, terms))])
    report = sim.run(partial(_product, *sizes), 1, net=NET, device=DEVICE, shapes=shapes)
    used = report.ranks[0].device
    assert used is not None and used.operations["mm"] == (1, wanted)
    assert used.flops == 2 * rows * terms * columns


def _views_and_sums() -> None:
    table = torch.zeros(8, 8)
    table.T[2:4].reshape(2, 8).unsqueeze(0)
    table.add_(1.0)


def test_views_cost_nothing_and_a_write_in_place_reads_and_writes() -> None:
    used = sim.run(_views_and_sums, 1, net=NET, device=DEVICE).ranks[0].device
    assert used is not None and "t" not in used.operations and "slice" not in used.operations
    assert used.operations["add_"] == (1, DEVICE.time(2 * 8 * 8 * 4))


def _fsdp() -> float:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("nccl")
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))  # rows that all ranks share evenly
    fully_shard(net, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    words: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(words, dist.get_rank())
    assert words == list(range(dist.get_world_size()))
    return _step(net)


def _step(net: nn.Module) -> float:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        loss = net(torch.ones(8, 6)).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


@pytest.mark.parametrize("size", [1, 2, 8])
def test_without_numbers_the_time_and_the_bytes_are_the_same(size: int) -> None:
    full = sim.run(_fsdp, size, net=NET, device="h100")
    bare = sim.run(_fsdp, size, net=NET, device="h100", shapes=True)
    assert bare.time == full.time > 0
    assert [rank.bytes_sent for rank in bare.ranks] == [rank.bytes_sent for rank in full.ranks]
    assert all(result != result for result in bare.results) and all(result == result for result in full.results)


def _buckets(steps: int, **options: Any) -> None:
    dist.init_process_group("nccl")
    net = nn.Sequential(*[nn.Linear(512, 512) for _ in range(4)])
    module = nn.parallel.DistributedDataParallel(net, bucket_cap_mb=1, **options)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(steps):
        module(torch.ones(64, 512)).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=not options)


# With numbers, copies out of the buckets begin when all sums are there (see `virtual_futures`). At 5.6 us a launch that is 9 % of this step.
WITHOUT_LAUNCHES = sim.gpu("h100", launch=0)


@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True}])
def test_ddp_without_numbers_takes_the_steps_that_it_takes_with_them(options: dict[str, Any]) -> None:
    steps = []
    for shapes in (False, True):
        one, two = (
            sim.run(_buckets, 4, (count,), options, net=NET, device=WITHOUT_LAUNCHES, shapes=shapes).ranks[1]
            for count in (3, 4)
        )
        assert two.device is not None and two.device.hidden > 0
        steps.append((two.bytes_sent - one.bytes_sent, two.messages - one.messages, two.time - one.time))
    assert steps[0][:2] == steps[1][:2]
    assert steps[1][2] == pytest.approx(steps[0][2], rel=0.02)


def _convolutions(has_channels_last: bool) -> None:
    dist.init_process_group("nccl")
    layout = torch.channels_last if has_channels_last else torch.contiguous_format
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(200, 4))
    module = nn.parallel.DistributedDataParallel(net.to(memory_format=layout))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        module(torch.ones(2, 3, 9, 9).to(memory_format=layout)).sum().backward()
        optimizer.step()


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("layout", [False, True])
def test_ddp_without_numbers_takes_tensors_of_any_layout(layout: bool, size: int) -> None:
    sent = [
        [rank.bytes_sent for rank in sim.run(_convolutions, size, (layout,), net=NET, shapes=shapes).ranks]
        for shapes in (False, True)
    ]
    assert size == 1 or min(sent[1]) > 0
    # With numbers ranks also compare their shapes and their order of buckets, once.
    assert all(0 <= full - lean < 4096 for full, lean in zip(*sent, strict=True))


def test_hooks_of_ddp_need_numbers() -> None:
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

    def train() -> None:
        dist.init_process_group("nccl")
        nn.parallel.DistributedDataParallel(programs.model()).register_comm_hook(None, fp16_compress_hook)

    with pytest.raises(NotImplementedError, match="leave shapes out"):
        sim.run(train, 2, net=NET, shapes=True)


def test_computing_hides_messages_of_ddp() -> None:
    def train() -> None:
        dist.init_process_group("nccl")
        net = nn.Sequential(*[nn.Linear(512, 512) for _ in range(4)])
        _big(nn.parallel.DistributedDataParallel(net, bucket_cap_mb=1))

    report = sim.run(train, 2, net=NET, device=DEVICE)
    assert all(rank.device is not None and rank.device.hidden > 0 for rank in report.ranks)


def _big(net: nn.Module) -> None:
    for _ in range(2):
        net(torch.ones(64, 512)).sum().backward()


def _prefetching() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("nccl")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    net = nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(4)])
    for layer in net:
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    net(torch.ones(8192, 1024)).sum().backward()


def test_a_device_without_numbers_gathers_ahead_as_a_gpu_does() -> None:
    (rank, *_) = sim.run(_prefetching, 4, net="sim://?latency=1us&rate=100GB/s", device=DEVICE, shapes=True).ranks
    used = rank.device
    assert used is not None and used.communication + used.waiting < used.hidden / 3
    products = 3 * 4 - 1  # forwards, and backwards but for the gradient of the input
    assert used.operations["mm"][0] == products


def test_what_is_not_written_takes_no_time_and_what_is_shared_counts_once() -> None:
    def train() -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Shard, distribute_tensor

        dist.init_process_group("nccl")
        torch.empty(1000)
        whole = torch.ones(800)
        whole.copy_(torch.empty(800))
        part = distribute_tensor(whole, init_device_mesh("cpu", (dist.get_world_size(),)), [Shard(0)])
        part.mul_(2.0)

    used = sim.run(train, 8, net=NET, device=DEVICE, shapes=True).ranks[3].device
    assert used is not None and "empty" not in used.operations
    assert used.operations["copy_"][1] == DEVICE.time(2 * 800 * 4)
    assert used.operations["mul_"] == (1, DEVICE.time(2 * 100 * 4))


@pytest.mark.parametrize("device", [None, "h100"])
def test_modules_without_numbers_are_converted(device: str | None) -> None:
    def convert() -> tuple[Any, ...]:
        net = nn.Linear(8, 4)
        net(torch.ones(2, 8)).sum().backward()
        net.to("cpu").to(torch.bfloat16)
        assert net.weight.grad is not None
        return net.weight.dtype, net.weight.grad.dtype, net.half()(torch.ones(2, 8).half()).dtype

    found = sim.run(convert, 1, shapes=True, device=device).results
    assert found == [(torch.bfloat16, torch.bfloat16, torch.float16)]


def _all_or_one() -> None:
    dist.init_process_group("nccl")  # whose failures torch notes with nccl's version
    x = torch.ones(10)
    if dist.get_rank() == 0:
        dist.all_reduce(x)  # one line
    else:
        dist.broadcast(x, 0)  # and another one
    (x @ x).item()


@pytest.mark.parametrize("options", [{}, {"shapes": True, "device": "h100"}])
def test_a_mismatch_names_the_lines_also_where_the_device_comes_to_it_later(options: dict[str, Any]) -> None:
    first = _all_or_one.__code__.co_firstlineno
    with pytest.raises(dist.DistBackendError) as failed:
        sim.run(_all_or_one, 3, net=NET, **options)
    words = "\n".join([str(failed.value), *failed.value.__notes__])
    assert f"test_time.py:{first + 4}" in words and f"test_time.py:{first + 6}" in words


def test_clocks_of_a_program_are_virtual() -> None:
    import time

    def measure() -> float:
        begin = time.perf_counter()
        torch.ones(4096, 4096) @ torch.ones(4096, 4096)
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    runs = [sim.run(measure, 1, device="h100", shapes=shapes) for shapes in (False, True)]
    assert [run.results for run in runs] == [[pytest.approx(run.time / 1e12)] for run in runs]
    assert runs[0].results == runs[1].results and runs[0].time > 0
