"""The ledger counts what is alive: once, by storage, in the right category, and at its peak."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

import minitorch_dist as mtd
from minitorch_dist.nn import functional as F
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors import ledger
from tests.devices.reach import reachable


@pytest.fixture(autouse=True)
def two_devices() -> Iterator[None]:
    with mtd.cuda.simulated(2, "1MB"):
        yield


def live(device: str = "cuda:0") -> int:
    return ledger.snapshot(device).live


def held(device: str = "cuda:0") -> dict[str, int]:
    return {k: n for k, n in ledger.snapshot(device).by_category.items() if n}


# ------------------------------------------------------------------------------------ who is counted


def test_views_cost_nothing_and_keep_the_whole() -> None:
    x = mtd.zeros(10, 10, device="cuda")
    assert live() == 400
    views: list[Any] = [x[0], x.t(), x.reshape(100)[::7], x.expand(5, 10, 10), x.detach(), x.data]
    assert live() == 400
    del x
    assert live() == 400
    views.clear()
    assert live() == 0


def test_freed_at_once_without_the_garbage_collector() -> None:
    gc.disable()
    try:
        x = mtd.ones(100, device="cuda", requires_grad=True)
        loss = (x * x * 2).sum()
        loss.backward()
        del loss
        assert held() == {"activation": 400, "gradient": 400}
        x.grad = None
        del x
        assert live() == 0
    finally:
        gc.enable()


def test_devices_have_books_of_their_own() -> None:
    x = mtd.zeros(5, device="cuda:0")
    y = x.to("cuda:1")
    z = mtd.zeros(100)
    assert (live("cuda:0"), live("cuda:1")) == (20, 20)
    del x
    assert (live("cuda:0"), live("cuda:1")) == (0, 20)
    with mtd.cuda.simulated(2):  # other devices with the same names
        assert live("cuda:1") == 0
    assert y.device != z.device
    with pytest.raises(ValueError, match="only simulated devices keep a ledger, not 'cpu'"):
        ledger.of("cpu")


def test_what_an_operation_keeps_is_counted() -> None:
    x = mtd.ones(1000, device="cuda", requires_grad=True)
    y = x.exp()  # keeps its result
    z = y.sum()
    del y
    assert held() == {"other": 4000, "activation": 4004}
    z.backward()
    assert held() == {"other": 4000, "activation": 4, "gradient": 4000}


def test_tensors_freed_by_another_thread() -> None:
    box = [mtd.zeros(100, device="cuda")]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert live() == 0


def test_threads_share_the_devices_of_their_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_DEVICES", "1x1MB")
    kept: list[Any] = []

    def work() -> None:
        mine = [mtd.ones(10, device=0) for _ in range(3)]
        for n in range(300):
            mine[n % 3] = mine[n % 3] * 2 + mtd.zeros(10, device=0)
        kept.append(mine)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen: list[Any] = []

    def look() -> None:
        seen.extend([ledger.snapshot(0), kept.clear(), ledger.snapshot(0)])

    looking = threading.Thread(target=look)
    looking.start()
    looking.join()
    assert seen[0].live == 4 * 3 * 40 and seen[0].arrays == 12
    assert seen[2].live == 0 and not any(seen[2].by_category.values())


def test_a_pool_of_a_thread_is_not_that_of_another() -> None:
    seen: list[int] = []

    def other() -> None:
        with mtd.cuda.simulated(1):
            x = mtd.zeros(7, device="cuda")
            seen.append(live())
            del x

    mine = mtd.zeros(100, device="cuda")
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [28] and live() == 400 and mine.is_cuda


def test_a_tensor_may_outlive_its_pool() -> None:
    with mtd.cuda.simulated(1):
        x = mtd.ones(3, device="cuda")
    assert (x + 1).tolist() == [2, 2, 2]
    with mtd.cuda.simulated(0):
        assert (x * 2).device is x.device


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["new", "view", "slice", "add", "square", "relu_", "backward", "drop", "detach", "move", "clone"]
        ),
        st.integers(0, 99),
    ),
    min_size=3,
    max_size=25,
)


@given(STEPS)
def test_a_random_program_counts_what_can_be_reached(steps: list[tuple[str, int]]) -> None:
    with mtd.cuda.simulated(2):
        tensors: list[Any] = [mtd.ones(6, device="cuda")]
        for what, n in steps:
            x = tensors[n % len(tensors)]
            if what == "new":
                tensors.append(mtd.ones(3 * (1 + n % 3), device="cuda", requires_grad=n % 2 == 0))
            elif what == "view":
                tensors.append(x.view(1, -1))
            elif what == "slice":
                tensors.append(x[..., 1:3])
            elif what == "add":
                tensors.append(x + 1)
            elif what == "square":
                tensors.append(x * x)
            elif what == "relu_" and not x.requires_grad:
                x.relu_()
            elif what == "backward" and x.requires_grad and hasattr(x, "backward"):
                (x * x).sum().backward()
            elif what == "drop" and len(tensors) > 1:
                del tensors[n % len(tensors)]
            elif what == "detach":
                tensors.append(x.detach())
            elif what == "move":
                tensors.append(x.to(f"cuda:{n % 2}"))
            elif what == "clone":
                tensors.append(x.clone())
            del x
            assert {d: live(d) for d in ("cuda:0", "cuda:1")} == reachable(tensors), what
        tensors.clear()
        assert live("cuda:0") == live("cuda:1") == 0


nn = mtd.nn


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 5)), (8, 20)),
        (
            lambda: nn.Sequential(
                nn.Conv2d(3, 8, 3),
                nn.BatchNorm2d(8),
                nn.ReLU(inplace=True),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(72, 10),
            ),
            (4, 3, 8, 8),
        ),
        (lambda: nn.Sequential(nn.LayerNorm(20), nn.GELU(), nn.Dropout(0.5), nn.Softmax(-1)), (8, 20)),
        (
            lambda: nn.Sequential(
                nn.Conv2d(4, 8, 3, groups=2, padding=1),
                nn.GroupNorm(2, 8),
                nn.SiLU(),
                nn.AvgPool2d(2),
                nn.AdaptiveAvgPool2d(1),
            ),
            (2, 4, 8, 8),
        ),
        (lambda: nn.LSTM(10, 20), (5, 3, 10)),
        (lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), (2, 6, 16)),
    ],
    ids=["mlp", "convolutions", "norms", "groups", "lstm", "transformer"],
)
def test_a_model_and_its_graph_to_the_byte(make: Any, shape: tuple[int, ...]) -> None:
    """What operations keep for their gradients is counted, also where no tensor holds it."""
    with mtd.cuda.simulated(2):
        model = make().to(0)
        x = mtd.randn(shape).to(0)
        out = model(x)
        out = out[0] if isinstance(out, tuple) else out
        loss = F.cross_entropy(out.flatten(1), mtd.zeros(len(out), dtype=mtd.int64).to(0))
        assert live() == reachable([model, x, out, loss])["cuda:0"]
        assert held()["parameter"] == 4 * sum(p.numel() for p in model.parameters())
        loss.backward()
        assert live() == reachable([model, x, out, loss])["cuda:0"]
        assert held()["gradient"] == held()["parameter"]


# ---------------------------------------------------------------------------------------- categories


def test_a_category_block() -> None:
    with ledger.category("communication"):
        bucket = mtd.zeros(25, device="cuda")
        with ledger.category("optimizer"):
            state = mtd.zeros(5, device="cuda")
    assert held() == {"communication": 100, "optimizer": 20}
    assert bucket.is_cuda and state.is_cuda
    with pytest.raises(ValueError, match="no category 'weights'; there are parameter, gradient"):
        ledger.category("weights").__enter__()


@pytest.mark.parametrize(
    ("make", "per_element"),
    [
        (lambda p: mtd.optim.SGD(p, lr=0.1), 0),
        (lambda p: mtd.optim.SGD(p, lr=0.1, momentum=0.9), 4),
        (lambda p: mtd.optim.Adam(p), 8),
        (lambda p: mtd.optim.AdamW(p, amsgrad=True), 12),
        (lambda p: mtd.optim.RMSprop(p), 4),
        (lambda p: mtd.optim.Adagrad(p), 4),
    ],
)
def test_a_training_step_to_the_byte(make: Any, per_element: int) -> None:
    weight = Parameter(mtd.ones(20, 30, device="cuda"))
    bias = Parameter(mtd.ones(30).to("cuda"))
    count = 20 * 30 + 30
    optimizer = make([weight, bias])
    kept = count * per_element  # Adagrad has its state from the start
    for step in range(3):
        loss = (weight * weight + bias).relu().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del loss
        expected = {"parameter": 4 * count, "gradient": 4 * count, "optimizer": kept}
        assert held() == {k: n for k, n in expected.items() if n}, step
    optimizer.zero_grad()
    assert held().get("gradient") is None
    saved = optimizer.state_dict()
    again = make([weight, bias])
    again.load_state_dict(saved)
    del optimizer, saved
    gc.collect()
    assert held().get("optimizer", 0) == kept


def test_a_module_that_moves_takes_its_categories_along() -> None:
    class Scale(mtd.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = Parameter(mtd.ones(50))
            self.register_buffer("seen", mtd.zeros(3))

        def forward(self, x: Any) -> Any:
            return x * self.weight

    model = Scale().to(0)
    assert held() == {"parameter": 200, "other": 12}
    model(mtd.ones(50, device="cuda")).sum().backward()
    assert held() == {"parameter": 200, "gradient": 200, "other": 12}
    model.to("cuda:1")
    assert held() == {}
    assert held("cuda:1") == {"parameter": 200, "gradient": 200, "other": 12}
    model(mtd.ones(50, device="cuda:1")).sum().backward()
    model.weight.data = mtd.zeros(50, device="cuda:1")
    assert held("cuda:1") == {"parameter": 200, "gradient": 200, "other": 12}
    model.cpu()
    assert held("cuda:1") == {}


# -------------------------------------------------------------------------------- peaks and summaries


def test_peaks() -> None:
    a = mtd.zeros(100, device="cuda")
    with ledger.watch("cuda:0") as outer:
        b = mtd.zeros(200, device="cuda")
        del b
        with ledger.watch() as inner:
            c = mtd.zeros(50, device="cuda")
        assert (inner.peak, outer.peak) == (600, 1200)
    del a, c
    mtd.zeros(1000, device="cuda")
    assert (inner.peak, outer.peak) == (600, 1200)  # closed
    assert inner.by_category["other"] == 600
    assert mtd.cuda.max_memory_allocated() == 4000
    mtd.cuda.reset_peak_memory_stats()
    assert mtd.cuda.max_memory_allocated() == mtd.cuda.memory_allocated() == 0


def test_the_breakdown_at_the_peak() -> None:
    weight = Parameter(mtd.ones(100, device="cuda"))
    with ledger.watch("cuda") as seen:
        y = weight.exp().exp()
        y.sum().backward()
        del y
    assert seen.by_category["parameter"] == 400
    assert seen.by_category["activation"] >= 400
    assert seen.by_category["gradient"] >= 400
    assert seen.peak == sum(seen.by_category.values())
    now = ledger.snapshot("cuda")
    assert now.peak_by_category == seen.by_category and now.peak == seen.peak
    assert ledger.of(0).reset_peak() is None
    assert held() == {"parameter": 400, "gradient": 400}


def test_what_cuda_says() -> None:
    x = mtd.zeros(1000, device="cuda")
    y = mtd.zeros(250, device="cuda")
    del y
    assert mtd.cuda.memory_allocated() == mtd.cuda.memory_reserved("cuda:0") == 4000
    assert mtd.cuda.max_memory_allocated(mtd.device("cuda")) == 5000
    assert mtd.cuda.mem_get_info() == (996_000, 1_000_000)
    stats = mtd.cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == 4000
    assert stats["allocated_bytes.all.peak"] == 5000
    assert stats["allocated_bytes.all.allocated"] == 5000
    assert stats["allocated_bytes.all.freed"] == 1000
    assert stats["allocation.all.current"] == 1 and stats["allocation.all.peak"] == 2
    assert stats["allocated_bytes.other.peak"] == 5000
    assert stats["num_ooms"] == 0 and list(stats) == sorted(stats)
    text = mtd.cuda.memory_summary()
    assert "cuda:0: 1 MB, simulated" in text and "other              4 KB         5 KB" in text
    assert "float32[1000]" in text and "test_ledger.py" in text  # who made it
    assert "float32[1000]" not in mtd.cuda.memory_summary(abbreviated=True)
    assert mtd.accelerator.memory_allocated() == mtd.accelerator.max_memory_allocated() - 1000
    mtd.accelerator.reset_peak_memory_stats()
    assert mtd.accelerator.memory_stats()["allocated_bytes.all.peak"] == 4000
    del x


# ----------------------------------------------------------------------------------------- the budget


def test_the_budget_is_exact_and_the_refusal_changes_nothing() -> None:
    x = mtd.zeros(200_000, device="cuda")
    y = mtd.zeros(50_000, device="cuda")  # exactly full
    assert live() == 10**6
    with pytest.raises(mtd.OutOfMemoryError):
        mtd.zeros(1, device="cuda")
    with pytest.raises(RuntimeError, match="out of memory"):
        x + 1
    assert live() == 10**6 and mtd.cuda.memory_stats()["num_ooms"] == 2
    assert mtd.zeros(1, device="cuda:1").is_cuda
    del y
    assert (x[:40_000] + 1).sum().item() == 40_000


def test_the_refusal_shows_who_holds_what() -> None:
    assert mtd.cuda.OutOfMemoryError is mtd.OutOfMemoryError
    assert issubclass(mtd.OutOfMemoryError, RuntimeError)
    weight = Parameter(mtd.zeros(300, 500, device="cuda"))
    with pytest.raises(mtd.OutOfMemoryError) as error:
        weight * 2
    text = str(error.value)
    assert text.startswith("CUDA out of memory. Tried to allocate 600 KB on cuda:0 (other, ")
    assert "float32[300,500], made at test_ledger.py:" in text
    assert "total capacity of 1 MB, of which 400 KB is free" in text
    assert "(600,000 bytes asked, 600,000 of 1,000,000 in use)" in text
    assert "  parameter        600 KB       600 KB\n" in text
    assert "600 KB  parameter     float32[300,500]" in text
    assert "Next step: " in text


def test_the_advice_follows_the_largest_share() -> None:
    def advice(category: str, kb: int) -> str:
        with mtd.cuda.simulated(1, "1MB"), ledger.category(category):
            kept = mtd.zeros(500 * 250, device="cuda")
            with pytest.raises(mtd.OutOfMemoryError) as error:
                mtd.zeros(250 * kb, device="cuda")
            assert kept.is_cuda
        return str(error.value).splitlines()[-1]

    assert "FSDP" in advice("parameter", 600)
    assert "checkpoint" in advice("activation", 600)
    assert "ZeroRedundancyOptimizer" in advice("optimizer", 600)
    assert "alone is larger than the whole device" in advice("other", 1001)


def test_a_backward_pass_can_run_out_as_well() -> None:
    x = mtd.ones(70_000, device="cuda", requires_grad=True)
    loss = x.exp().exp().sum()  # 840,004 bytes, then gradients
    with pytest.raises(mtd.OutOfMemoryError, match="gradient"):
        loss.backward()
    del loss
    assert x.grad is None and held() == {"other": 280_000}


def test_gradients_of_scalars() -> None:
    x = mtd.ones((), device="cuda", requires_grad=True)
    ((x * 2) * x + x).backward()
    assert x.grad.item() == 5 and held() == {"activation": 4, "gradient": 4}


def test_without_devices_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the CPU's path asked the ledger")

    for name in ("track", "track_all", "retag", "_book"):
        monkeypatch.setattr(ledger, name, never)
    with mtd.cuda.simulated(0):
        x = Parameter(mtd.ones(3, 3))
        ((x * 2).relu() + x[0]).sum().backward()
        x.grad = mtd.zeros(3, 3)
        x.data = x.detach().clone()
        mtd.optim.Adam([x]).step()


def test_memory_that_is_taken_back_is_what_it_was() -> None:
    """Whoever takes it: within a forward it was taken for an activation."""
    p = Parameter(mtd.ones(8, 8, device="cuda"))
    p.untyped_storage().resize_(0)
    assert live() == 0
    with ledger.category("activation"):
        p.untyped_storage().resize_(256)
    assert held() == {"parameter": 256}
