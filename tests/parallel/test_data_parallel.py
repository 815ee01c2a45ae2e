"""DataParallel over simulated devices computes what one device computes."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist import cuda, nn
from minitorch_dist.nn.parallel import DataParallel


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
        with pytest.warns(UserWarning, match="scalars as a vector"):
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


def test_an_exception_of_a_replica_comes_out() -> None:
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
        with pytest.raises(KeyError, match="missing"):
            model(mtd.ones(4, 1))


def test_modules_elsewhere_are_refused() -> None:
    with cuda.simulated(2):
        model = DataParallel(network())
        with pytest.raises(RuntimeError, match=r"on device cuda:0 \(device_ids\[0\]\) but found"):
            model(mtd.ones(2, 3))


def test_nothing_is_recorded_without_gradients() -> None:
    with cuda.simulated(2):
        model = DataParallel(network().to("cuda"))
        with mtd.no_grad():
            assert not model(mtd.ones(4, 3)).requires_grad
        assert model(mtd.ones(4, 3)).requires_grad


def test_weights_that_two_layers_share_collect_from_all_replicas() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 2, bias=False)
            self.second = self.first
            self.third = nn.Linear(2, 2, bias=False)
            self.third.weight = self.first.weight

        def forward(self, x: Any) -> Any:
            assert list(self.parameters()) == []
            assert self.first is self.second
            assert x.device is self.third.weight.device
            return self.third(self.second(self.first(x)))

    with cuda.simulated(3):
        module = Net().to("cuda:0")
        DataParallel(module)(mtd.ones(5, 2)).sum().backward()
        weight = module.first.weight
        alone = weight.detach().requires_grad_()
        (mtd.ones(5, 2, device="cuda:0") @ alone.T @ alone.T @ alone.T).sum().backward()
        np.testing.assert_allclose(weight.grad.cpu().numpy(), alone.grad.cpu().numpy(), rtol=1e-5)


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
