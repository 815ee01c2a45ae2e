"""A device that takes time: the closed formula is the virtual time, for operations, DDP and pipelines."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel
from minitorch_dist.distributed.pipelining import PipelineStage, ScheduleGPipe
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.sim import device, topology_links
from minitorch_dist.sim.device_time import Spans, spread
from minitorch_dist.tensors import flops
from minitorch_dist.tensors.core import observers
from minitorch_dist.utils.checkpoint import checkpoint
from mtd import device_calibration, estimates

SIZES = (1, 2, 3, 5, 8)
every_size = pytest.mark.parametrize("size", SIZES)
PEAKS = {"float64": 1e12, "float32": 2e12, "bfloat16": 8e12, "float16": 4e12}
TOY = sim.Device("toy", PEAKS, "1TB/s")  # a byte takes a picosecond
MULTIPLIES = sim.Device("multiplies", {"float32": "1T"}, 1e30)  # everything but products is free
FREE = sim.uniform(0, 0)


def took(function: Any, on: sim.Device = TOY) -> int:
    """Picoseconds of one rank, without what it did to get there."""

    def rank() -> int:
        run = function()
        before = sim.now()
        run()
        return round((sim.now() - before) * 1e12)

    return int(sim.run(rank, 1, device=on).results[0])


# ------------------------------------------------------------------------------------ operations


@pytest.mark.parametrize("dtype", PEAKS)
@pytest.mark.parametrize("width", [1, 7, 64])
def test_a_chain_of_products_takes_the_roofline_of_each(dtype: str, width: int) -> None:
    kind = getattr(torch, dtype)
    rows, depth = 48, 3

    def chain() -> Any:
        x, w = torch.zeros(rows, width, dtype=kind), torch.zeros(width, width, dtype=kind)

        def run() -> None:
            y = x
            for _ in range(depth):
                y = y @ w

        return run

    nbytes = (2 * rows * width + width * width) * kind.itemsize
    operations = Fraction(2 * rows * width * width * 10**12) / Fraction(PEAKS[dtype])
    assert took(chain) == depth * round(max(operations, nbytes))


def test_a_launch_is_paid_for_each_operation_and_each_product() -> None:
    on = sim.Device("launches", {"float32": "1T"}, 1e30, launch="3us")

    def step() -> Any:
        x = torch.ones(4, 4, requires_grad=True)
        w = torch.ones(4, 4, requires_grad=True)
        return lambda: (x @ w).tanh().backward(torch.ones(4, 4))

    forward, tanh, products = 1, 1, 2
    assert took(step, on) == (forward + tanh + tanh + products) * 3_000_000 + 3 * 128


@pytest.mark.parametrize("dtype", PEAKS)
def test_elementwise_work_takes_its_bytes(dtype: str) -> None:
    kind = getattr(torch, dtype)
    for operation, passes in (
        (lambda x, y: x + y, 3),
        (lambda x, y: x * y, 3),
        (lambda x, y: x.exp(), 2),
        (lambda x, y: x.add_(y), 3),
        (lambda x, y: x.mul_(2), 2),
        (lambda x, y: x.copy_(y), 2),
        (lambda x, y: x.zero_(), 1),
        (lambda x, y: x.clone(), 2),
    ):

        def ready(operation: Any = operation) -> Any:
            x, y = torch.ones(30, 5, dtype=kind), torch.ones(30, 5, dtype=kind)
            return lambda: operation(x, y)

        assert took(ready) == passes * 150 * kind.itemsize


def test_views_and_what_is_empty_cost_nothing() -> None:
    def ready() -> Any:
        x, empty = torch.ones(6, 4), torch.ones(0, 4)

        def run() -> None:
            x.t().reshape(4, 6)[1:].unsqueeze(0).expand(3, 3, 6).detach().transpose(0, 1)
            x.view(-1).chunk(3)
            empty + empty
            _ = empty.exp()

        return run

    assert took(ready) == 0


def test_a_few_rows_of_a_large_table_cost_these_rows() -> None:
    def ready() -> Any:
        table, which = torch.ones(1000, 8), torch.tensor([3, 5])
        return lambda: nn.functional.embedding(which, table)

    assert took(ready) == 2 * (2 * 8 * 4)


def test_backward_takes_twice_the_forward() -> None:
    def model() -> Any:
        layers = nn.Sequential(*[nn.Linear(32, 32, bias=False) for _ in range(3)])
        return layers, torch.ones(16, 32, requires_grad=True)

    def forward() -> Any:
        layers, x = model()
        return lambda: layers(x)

    def backward() -> Any:
        layers, x = model()
        out = layers(x)
        return lambda: out.backward(torch.ones(16, 32))

    once = took(forward, MULTIPLIES)
    assert once == 3 * 2 * 16 * 32 * 32
    assert took(backward, MULTIPLIES) == 2 * once


def test_an_optimizers_step_takes_what_it_reads_and_writes() -> None:
    for make, passes in (
        (lambda p: torch.optim.SGD(p, lr=0.1), 3),  # reads p and g, writes p
        (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), 5),  # and reads and writes v
    ):

        def ready(make: Any = make) -> Any:
            p = nn.Parameter(torch.ones(100))
            p.grad = torch.ones(100)
            optimizer = make([p])
            optimizer.step()
            return optimizer.step

        assert took(ready) == passes * 400


def test_the_efficiency_depends_on_the_smallest_size() -> None:
    on = sim.Device("curved", {"float32": "1T"}, 1e30, top=0.5, half=16)

    def ready() -> Any:
        x, y = torch.ones(64, 16), torch.ones(16, 32)
        return lambda: x @ y

    assert on.efficiency((64, 32, 16)) == 0.25
    assert took(ready, on) == 4 * 2 * 64 * 32 * 16


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 10**9), st.integers(0, 10**12))
def test_more_work_never_takes_less(m: int, n: int, k: int, nbytes: int) -> None:
    on = sim.gpu("H100-SXM", top=0.8, half=128)
    product = device.Product(2 * m * n * k, (m, n, k))
    time = on.time(nbytes, "bfloat16", [product])
    assert time >= on.time(nbytes) and time >= on.time(0, "bfloat16", [product])
    more = device.Product(4 * m * n * k, (2 * m, n, k))
    assert on.time(nbytes, "bfloat16", [more]) >= time


# --------------------------------------------------------------------------- overlap and pipelines


class Two(nn.Module):
    """Two layers; the second has its gradient first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width, bias=False)
        self.second = nn.Linear(width, width, bias=False)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x))


@every_size
@pytest.mark.parametrize("rows", [8, 4096])
def test_ddp_hides_what_the_formula_says(size: int, rows: int) -> None:
    width, net = 120, sim.uniform("1us", "1GB/s")

    def train() -> list[int]:
        model = DistributedDataParallel(Two(width), bucket_cap_mb=width * width * 4 / 2**20)
        x, times = torch.ones(rows, width), []
        for _ in range(3):
            dist.barrier()
            before = sim.now()
            model(x).backward(torch.ones(rows, width))
            times.append(round((sim.now() - before) * 1e12))
            model.zero_grad()
        return times

    report = sim.run(train, size, net=net, device=MULTIPLIES, engine="greenlet")
    product = 2 * rows * width * width
    nbytes, links = width * width * 4, topology_links.links_of(net, 0)
    sent = 0
    if size > 1:
        schedule = choice.choose("all_reduce", size, nbytes, links)
        sent = estimates.time_of(schedule, size, nbytes, net)
    second = 2 * product + 2 * product  # forward, then the second layer's weight and input
    first = second + product  # the input of the first needs no gradient
    expected = max(first, second + sent) + sent
    for times in report.results:
        assert times[-1] == expected


@pytest.mark.parametrize("size", [2, 3])
def test_fsdp_hides_what_it_prefetches(size: int) -> None:
    """All bytes move in any case; with more to compute, more of that time is hidden."""

    def train(rows: int) -> None:
        model = nn.Sequential(*[FullyShardedDataParallel(nn.Linear(60, 60)) for _ in range(4)])
        whole = FullyShardedDataParallel(model)
        whole(torch.ones(rows, 60)).sum().backward()

    hidden, moving = [], []
    for rows in (4, 64, 1024):
        report = sim.run(train, size, (rows,), net=sim.uniform("1us", "1GB/s"), device=MULTIPLIES)
        use = report.ranks[0].device
        assert use is not None
        hidden.append(use.hidden)
        moving.append(use.hidden + use.communication)
    assert moving[0] == moving[1] == moving[2]
    assert 0 < hidden[0] < hidden[1] < hidden[2]


@every_size
@pytest.mark.parametrize("count", [1, 4, 8])
def test_a_gpipe_has_the_bubble_of_the_formula(size: int, count: int) -> None:
    width, rows = 16, 4

    class Stage(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shift = nn.Parameter(torch.zeros(width))  # so the product's input needs a gradient
            self.layer = nn.Linear(width, width, bias=False)

        def forward(self, x: Any) -> Any:
            return self.layer(x + self.shift)

    def rank() -> int:
        here = dist.get_rank()
        stage = PipelineStage(Stage(), here, size, "cpu")
        schedule = ScheduleGPipe(stage, count, loss_fn=lambda out, target: (out - target).sum())
        x = torch.ones(rows * count, width)
        for _ in range(2):  # the first time, shapes are told from stage to stage
            dist.barrier()
            before = sim.now()
            if here == 0:
                schedule.step(x, **({"target": x} if size == 1 else {}))
            elif here == size - 1:
                schedule.step(target=x)
            else:
                schedule.step()
            dist.barrier()
            took = sim.now() - before
        return round(took * 1e12)

    report = sim.run(rank, size, net=FREE, device=MULTIPLIES)
    work = 3 * 2 * rows * width * width * count
    for total in report.results:
        assert Fraction(total - work, total) == Fraction(size - 1, count + size - 1)


@every_size
def test_the_engines_agree(size: int) -> None:
    def train() -> float:
        torch.manual_seed(dist.get_rank())
        model = DistributedDataParallel(Two(16))
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.randn(8, 16)).sum().backward()
            optimizer.step()
        return sim.now()

    reports = {
        engine: sim.run(train, size, device=sim.gpu("A100-80-SXM"), engine=engine)
        for engine in ("threads", "greenlet", "lockstep")
    }
    one = reports["threads"]
    assert reports["greenlet"].digest == one.digest and reports["greenlet"].ranks == one.ranks
    assert reports["lockstep"].results == one.results  # it sends no messages, so its digest differs


# ------------------------------------------------------------------------------------- the run


def work(times: int = 1) -> None:
    x = torch.ones(64, 64)
    for _ in range(times):
        x = x @ x


def test_speeds_and_faults_slow_operations_down() -> None:
    def ends(**how: Any) -> list[int]:
        return [rank.time for rank in sim.run(work, 2, device=MULTIPLIES, **how).ranks]

    alone = 2 * 64**3
    assert ends() == [alone, alone]
    assert ends(speeds={1: 0.5}) == [alone, 2 * alone]
    assert ends(faults=[sim.slow(0, x=3)]) == [3 * alone, alone]


def test_ranks_may_have_devices_of_their_own() -> None:
    fast = sim.Device("fast", {"float32": "4T"}, 1e30)
    alone = 2 * 64**3
    for devices in ([fast, MULTIPLIES], lambda rank: (fast, MULTIPLIES)[rank]):
        report = sim.run(work, 2, device=devices)
        assert [rank.time for rank in report.ranks] == [alone // 4, alone]
        assert "fast" in str(report) and "multiplies" in str(report)
    with pytest.raises(ValueError, match="1 devices were given for 2 ranks"):
        spread([fast], 2)
    with pytest.raises(TypeError, match=r"rank 0 is 'h100'.*sim\.gpu"):
        spread(lambda rank: "h100", 1)  # type: ignore[arg-type,return-value]


def test_contention_makes_work_longer_while_a_collective_is_under_way() -> None:
    on = sim.Device("contended", {"float32": "1T"}, 1e30, contention=1.5)

    def rank() -> list[int]:
        times = []
        for is_beside in (False, True):
            waiting = dist.all_reduce(torch.ones(10**6), async_op=True) if is_beside else None
            sim.compute("1us")  # the worker has begun
            before = sim.now()
            work()
            times.append(round((sim.now() - before) * 1e12))
            if waiting is not None:
                waiting.wait()
        return times

    alone = 2 * 64**3
    for found in sim.run(rank, 2, device=on).results:
        assert found == [alone, alone * 3 // 2]


def test_what_is_too_large_for_the_device_is_refused_with_its_holders() -> None:
    small = sim.Device("small", {"float32": "1T"}, "1TB/s", memory="10KB")

    def rank() -> None:
        kept = torch.ones(1000, device="cuda")
        kept + kept + kept

    with pytest.raises(torch.cuda.OutOfMemoryError, match=r"total capacity of 10 KB"):
        sim.run(rank, 1, device=small)
    assert sim.run(rank, 1, device=small, memory="1MB").ranks[0].peak_bytes == 12_000


def test_the_report_adds_up() -> None:
    def rank() -> None:
        if dist.get_rank() == 0:
            sim.compute("10us")
        waiting = dist.all_reduce(torch.ones(1000), async_op=True)
        work(3)
        waiting.wait()

    report = sim.run(rank, 3, device=MULTIPLIES)
    for each in report.ranks:
        use = each.device
        assert use is not None
        assert use.compute + use.communication + use.waiting == each.time
        assert min(use.compute, use.communication, use.hidden, use.waiting) >= 0
        assert use.flops == 3 * 2 * 64**3 and use.operations["Mm"][0] == 3
        assert use.mfu == pytest.approx(use.flops / each.time)
    assert "MFU" in str(report) and "communic." in str(report)


@pytest.mark.parametrize("engine", ["threads", "greenlet"])
def test_waiting_is_told_from_communication(engine: str) -> None:
    """Rank 0 computes for 10 µs and sends; rank 1 waits for it, and computes while a second one comes."""

    def rank() -> None:
        x = torch.zeros(1000)
        if dist.get_rank() == 0:
            sim.compute("10us")
            dist.send(x, 1)
            dist.send(x, 1)
        else:
            dist.recv(x, 0)
            sim.compute("2us")
            dist.recv(x, 0)

    report = sim.run(rank, 2, net=sim.uniform("1us", "4GB/s"), device=MULTIPLIES, engine=engine)
    use = report.ranks[1].device
    assert use is not None
    message = 2_000_000  # α + βm
    spans = (use.waiting, use.communication, use.hidden, use.compute)
    assert spans == (10_000_000, message, message, 2_000_000)


def test_computing_again_is_no_part_of_mfu() -> None:
    def train(again: bool) -> None:
        layer, x = nn.Linear(8, 8, bias=False), torch.ones(4, 8, requires_grad=True)
        out = checkpoint(layer, x, use_reentrant=False) if again else layer(x)
        out.sum().backward()

    for again in (False, True):
        use = sim.run(train, 1, (again,), device=MULTIPLIES).ranks[0].device
        assert use is not None
        assert (use.flops, use.again) == (3 * 2 * 4 * 8 * 8, again * 2 * 4 * 8 * 8)
        assert use.compute == use.flops + use.again


def test_time_is_told_by_module(tmp_path: Path) -> None:
    def train() -> None:
        model = nn.Sequential(nn.Linear(8, 16, bias=False), nn.Linear(16, 4, bias=False))
        model(torch.ones(2, 8)).sum().backward()

    report = sim.run(train, 2, device=MULTIPLIES, journal=tmp_path / "run.mtd")
    first, second = 2 * 2 * 8 * 16, 2 * 2 * 16 * 4
    for rank in report.ranks:
        assert rank.device is not None
        assert rank.device.modules == {
            "Sequential": 2 * first + 3 * second,  # the first input needs no gradient
            "Sequential.0": 2 * first,
            "Sequential.1": 3 * second,
        }
    said = {event.operation for event in report.journal.events if event.what == "compute"}
    assert {"Mm in Sequential.0", "Mm (backward) in Sequential.1"} <= said


def test_a_journal_has_the_operations(tmp_path: Any) -> None:
    report = sim.run(work, 1, device=TOY, journal=tmp_path / "run.mtd")
    said = [str(event) for event in report.journal.events if event.what == "compute"]
    assert said and said[0].startswith("rank 0 computes Mm at test_device.py:")
    report.save_trace(tmp_path / "trace.json")
    spans = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    (product,) = [span for span in spans if span["name"] == "Mm"]
    assert product["cat"] == "compute"
    assert product["dur"] == TOY.time(0, "float32", [device.Product(2 * 64**3)]) / 1e6


def test_nothing_stays_attached() -> None:
    def before_and_after() -> list[Any]:
        attached = [observers.operations, observers.around, observers.nodes.on]
        return [*attached, flops.counters.on, flops.counters._everywhere]

    there = before_and_after()
    sim.run(work, 2, device=TOY)
    with pytest.raises(ZeroDivisionError):
        sim.run(lambda: 1 / 0, 2, device=TOY)
    assert before_and_after() == there
    assert sim.run(work, 2).time == 0
    assert sim.run(work, 2).ranks[0].device is None


def test_sim_compute_knows_the_peak_of_the_device() -> None:
    def rank() -> None:
        sim.compute(flops=5e6)

    assert sim.run(rank, 1, device=MULTIPLIES).time == 5_000_000
    assert sim.run(rank, 1, device=MULTIPLIES, flops="5T").time == 1_000_000


# ---------------------------------------------------------------------------------- known devices


def test_each_number_of_the_file_has_a_source() -> None:
    rows = tomllib.loads(device.KNOWN.read_text("utf-8"))
    assert len(rows) >= 7
    for name, row in rows.items():
        own = {"like"} if "like" in row else {"launch", "contention"}
        assert {"peak", "bandwidth", "memory"} | own <= set(row["sources"]), name
        assert all(len(said) > 10 for said in row["sources"].values()), name
        found = sim.gpu(name)
        is_fitted = "fitted" in row or "like" in row  # then it says on which tables
        assert is_fitted == (found.fitted != device.NOT_FITTED) == (found.efficiency((1, 1, 1)) < 1)
        assert name in str(found) and found.fitted in str(found)


def test_names_and_wrong_words() -> None:
    assert sim.gpu("h100").name == sim.gpu("H100-SXM").name == "H100-SXM"
    assert sim.gpu("h100", tf32=True).peak["float32"] == 494_700_000_000_000
    assert sim.gpu("h100", memory="96GB", contention=1).memory == 96 * 10**9
    with pytest.raises(ValueError, match=r"perhaps H100-SXM"):
        sim.gpu("h10o")
    with pytest.raises(ValueError, match=r"perhaps A100-40-SXM or A100-80-SXM"):
        sim.gpu("a100")
    with pytest.raises(ValueError, match="has no tf32"):
        sim.gpu("MI300X", tf32=True)
    for wrong in (
        {"bandwidth": 0},
        {"bandwidth": "fast"},
        {"peak": {"float32": 0}},
        {"memory": "-1GB"},
        {"launch": "4"},
        {"top": 0},
        {"top": 1.5},
        {"half": -1},
        {"contention": 0.5},
    ):
        with pytest.raises(ValueError):
            sim.Device(**{"name": "x", "peak": {"float32": 1}, "bandwidth": 1, **wrong})


def test_a_dtype_without_a_peak_is_said() -> None:
    def rank() -> None:
        x = torch.ones(2, 2, dtype=torch.int64)
        x @ x

    with pytest.raises(ValueError, match=r"toy multiplies int64, but its peak is known for float64"):
        sim.run(rank, 1, device=TOY)


# ------------------------------------------------------------------------------------------ spans

spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


@given(spans, spans, st.integers(0, 45))
def test_spans_are_a_set_of_instants(mine: list[Any], theirs: list[Any], end: int) -> None:
    found = []
    for each in (mine, theirs):
        kept = Spans()
        for start, stop in each:
            kept.add(start, stop)
        found.append(kept)
        assert all(a[1] < b[0] for a, b in zip(kept.spans, kept.spans[1:], strict=False))
    sets = [{instant for start, stop in each for instant in range(start, stop)} for each in (mine, theirs)]
    before = set(range(end))
    assert [one.until(end) for one in found] == [len(one & before) for one in sets]
    assert found[0].common(found[1], end) == len(sets[0] & sets[1] & before)


def test_arrays_are_only_asked_for_shapes_and_dtypes() -> None:
    class Shape:
        """No array, but what the costs need of one."""

        def __init__(self, *shape: int) -> None:
            self.nbytes, self.dtype = 4 * int(np.prod(shape)), np.dtype(np.float32)

    from minitorch_dist.sim.device_time import dtype_of, traffic

    reads, writes = [Shape(2, 3), Shape(3, 4)], [Shape(2, 4)]
    assert traffic("MmBackward0", reads, writes) == 4 * (6 + 12 + 8)
    assert dtype_of(reads, writes) == "float32"


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "simulator_devices.md"
    part = page.read_text("utf-8").partition("## A device that takes time")[2]
    code = part.partition("```python\n")[2].partition("```")[0]
    found: dict[str, Any] = {}
    exec(compile(code, str(page), "exec"), found)
    use = found["use"]
    assert found["report"].time == use.compute + use.communication + use.waiting
    assert "H100-SXM" in capsys.readouterr().out
    mine = part.partition("mine = ")[2].partition("\n```")[0]
    assert eval(mine, {"sim": sim}).peak["bfloat16"] == 300 * 10**12


# -------------------------------------------------------------------------------------- this machine


@given(
    st.floats(1e9, 1e15),
    st.floats(0, 500),
    st.sampled_from([0.0, 1e-6]),
    st.lists(st.sampled_from([8, 16, 64, 100, 512, 2048]), min_size=2, unique=True),
)
def test_the_fit_finds_the_curve_that_made_the_times(peak: float, half: float, launch: float, sizes: list[int]) -> None:
    made = sim.Device("made", {"float32": round(peak)}, 1e30, half=half)
    times = {size: launch + 2 * size**3 / (made.peak_of("float32") * made.efficiency((size,) * 3)) for size in sizes}
    if launch > 50 * min(times[size] - launch for size in sizes):
        return  # nothing can be seen beside such a launch
    found = device_calibration.fit(times, launch)
    assert found.peak == pytest.approx(peak, rel=1e-3)
    assert found.half == pytest.approx(half, rel=1e-3, abs=1e-3 * max(sizes))


def test_a_curve_needs_two_sizes_and_never_falls() -> None:
    with pytest.raises(ValueError, match="two sizes at least, not of 1"):
        device_calibration.fit({8: 1.0}, 0)
    faster_when_small = device_calibration.fit({10: 2e-6, 100: 4e-3}, 0)
    assert faster_when_small.half == 0 and faster_when_small.peak > 0


def test_a_measured_machine_goes_through_a_file(tmp_path: Path) -> None:
    found = device_calibration.measure(sizes=(4, 8), repeats=1, copied=1 << 12)
    device_calibration.save(found, tmp_path / "cpu.toml")
    again = sim.gpu(str(tmp_path / "cpu.toml"))
    assert again.peak == found.peak and again.launch == found.launch > 0
    assert again.half == found.half and again.bandwidth == pytest.approx(found.bandwidth)
    assert "4 products" in again.fitted and "this machine" in again.sources["peak"]
    assert sim.run(work, 1, device=again).time == again.time(
        3 * 64 * 64 * 4, "float32", [device.Product(2 * 64**3, (64, 64, 64))]
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no file of one device"),
        ("x = 1", "no file of one device"),
        ("[a]\npeak = {float32 = 1}\n[b]\npeak = {float32 = 1}", "no file of one device"),
        ("[a]\npeak = 3", "no file of one device"),
        ("[a]\npeak = {float32 = 1}", "bandwidth of a is missing"),
        ("[a]\npeak = {float32 = 1}\nbandwidth = 1\ncolour = 2", "a device has no colour"),
        ("[a\n", "no file of a device"),
    ],
)
def test_a_file_that_is_none_is_said(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ValueError, match=said):
        sim.gpu(str(tmp_path / "x.toml"))
    with pytest.raises(ValueError, match="there is no file"):
        sim.gpu(str(tmp_path / "missing.toml"))
