"""DataParallel over simulated devices computes what one device computes."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist import cuda, nn
from minitorch_dist.nn.parallel import (
    DataParallel,
    comm,
    data_parallel,
    gather,
    parallel_apply,
    replicate,
    scatter,
)


def network() -> Any:
    mtd.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


@pytest.mark.parametrize("devices", [1, 2, 3, 5])
@pytest.mark.parametrize("samples", [1, 4, 7])
def test_many_devices_are_one(samples: int, devices: int) -> None:
    x = mtd.randn(samples, 3)
    plain = network()
    expected = plain(x)
    expected.square().sum().backward()
    with cuda.simulated(devices):
        module = network().to("cuda:0")
        out = DataParallel(module)(x)  # the input may be anywhere
        out.square().sum().backward()
        np.testing.assert_allclose(out.detach().cpu().numpy(), expected.detach().numpy(), rtol=1e-5)
        assert str(out.device) == "cuda:0"
        for ours, p in zip(module.parameters(), plain.parameters(), strict=True):
            assert str(ours.grad.device) == "cuda:0"
            np.testing.assert_allclose(ours.grad.cpu().numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_without_devices_the_module_is_called() -> None:
    model = DataParallel(network())
    assert model.device_ids == []
    assert model(mtd.ones(2, 3)).shape == (2, 2)


def test_structures_are_scattered_and_gathered() -> None:
    Point = namedtuple("Point", "x y")

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(1, 1)

        def forward(self, p: Any, *, scale: float, more: Any) -> Any:
            return {"p": Point(self.inner(p.x) * scale, p.y), "l": [more["m"], (None,)]}

    with cuda.simulated(2):
        model = DataParallel(Net().to("cuda:0"))
        x = mtd.arange(3.0).reshape(3, 1)
        out = model(Point(x, x + 10), scale=2.0, more={"m": x * 3})
        assert out["p"].y.tolist() == (x + 10).tolist()
        assert out["l"][0].tolist() == (x * 3).tolist()
        assert out["l"][1] == (None,)
        assert isinstance(out["p"], Point)


def test_the_batch_may_be_another_dimension() -> None:
    with cuda.simulated(2):
        model = DataParallel(nn.Tanh(), dim=1)
        x = mtd.randn(2, 5, device="cuda:0")
        assert mtd.equal(model(x), x.tanh())


def test_scalars_become_a_vector() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(mtd.ones(()))

        def forward(self, x: Any) -> Any:
            return (self.w * x).sum()

    with cuda.simulated(2):
        model = DataParallel(Net().to("cuda"))
        with pytest.warns(UserWarning, match="unsqueeze and return a vector"):
            out = model(mtd.ones(4))
        assert out.tolist() == [2.0, 2.0]
        out.sum().backward()
        assert model.module.w.grad.item() == 4.0


def test_buffers_of_the_first_replica_are_kept() -> None:
    with cuda.simulated(2):
        norm = nn.BatchNorm1d(1).to("cuda:0")
        x = mtd.tensor([[1.0], [3.0], [100.0], [300.0]])
        DataParallel(norm)(x)
        np.testing.assert_allclose(norm.running_mean.cpu().numpy(), [0.2], rtol=1e-5)
        assert norm.num_batches_tracked.item() == 1


def test_an_exception_keeps_its_type_and_says_where() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(mtd.ones(1))

        def forward(self, x: Any) -> Any:
            if x.device.index == 1:
                raise KeyError("missing")
            return x

    with cuda.simulated(2):
        model = DataParallel(Net().to("cuda"))
        with pytest.raises(KeyError, match="Caught KeyError in replica 1 on device 1"):
            model(mtd.ones(4, 1))


def test_modules_elsewhere_are_refused() -> None:
    with cuda.simulated(2):
        model = DataParallel(network())
        with pytest.raises(RuntimeError, match=r"on device cuda:0 \(device_ids\[0\]\) but found"):
            model(mtd.ones(2, 3))


def test_gradient_mode_goes_along_into_the_threads() -> None:
    with cuda.simulated(2):
        model = DataParallel(network().to("cuda"))
        with mtd.no_grad():
            assert not model(mtd.ones(4, 3)).requires_grad
        assert model(mtd.ones(4, 3)).requires_grad


def test_replicas_have_weights_that_are_no_leaves() -> None:
    with cuda.simulated(2):
        module = network().to("cuda:0")
        first, second = replicate(module, [0, 1])
        assert list(second.parameters()) == []
        assert str(second[0].weight.device) == "cuda:1"
        (first[0].weight.sum() + second[0].weight.to("cuda:0").sum() * 2).backward()
        assert module[0].weight.grad.unique().tolist() == [3.0]


def test_the_functions() -> None:
    with cuda.simulated(3):
        x = mtd.arange(7.0)
        parts = scatter(x, [0, 1, 2])
        assert [(str(p.device), len(p)) for p in parts] == [("cuda:0", 3), ("cuda:1", 3), ("cuda:2", 1)]
        assert gather(parts, "cpu").tolist() == x.tolist()
        outs = parallel_apply([nn.Tanh(), nn.ReLU()], [parts[0], (parts[1],)])
        assert [str(out.device) for out in outs] == ["cuda:0", "cuda:1"]
        assert data_parallel(nn.Tanh(), x, [0, 1]).shape == (7,)
        total = comm.reduce_add([mtd.ones(2, device=d) for d in ("cuda:1", "cuda:0")], 0)
        assert (str(total.device), total.tolist()) == ("cuda:0", [2.0, 2.0])


@pytest.mark.parametrize("count", [1, 3])
def test_lists_of_other_lengths_are_refused(count: int) -> None:
    with pytest.raises(AssertionError, match="not equal to the number of inputs"):
        parallel_apply([nn.Tanh(), nn.Tanh()], [mtd.ones(1)] * count)


def test_nothing_warns_on_the_way() -> None:
    with cuda.simulated(2), warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DataParallel(network().to("cuda"))
        optimizer = mtd.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = model(mtd.ones(6, 3)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0]
