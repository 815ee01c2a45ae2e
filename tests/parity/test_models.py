"""The networks of `models`: their numbers and names, and torch running the same source."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist import models
from mtd.cli.bench.steps import model_source
from tests.parity.modules import equal, plain, torch, weights_of, words

pytestmark = pytest.mark.parity


def in_torch(module: types.ModuleType) -> Any:
    """The module's source with its imports changed, and nothing else: the same network in torch."""
    return model_source(torch, module.__name__.rpartition(".")[2])


def train_both(make: str, module: types.ModuleType, x: Any, rtol: float, **settings: Any) -> None:
    """One forward and backward in float64 from equal weights: outputs, gradients, buffers."""
    theirs = getattr(in_torch(module), make)(**settings).double()
    ours = getattr(module, make)(**settings).double()
    assert words(repr(ours)) == repr(theirs)
    ours.load_state_dict({k: mtd.tensor(v) for k, v in weights_of(theirs).items()})
    results = []
    for t, m in ((torch, theirs), (mtd, ours)):
        out = m(t.from_numpy(x))
        (out * out).mean().backward()
        found = {"out": out, "grads": {n: p.grad for n, p in m.named_parameters()}, "buffers": dict(m.named_buffers())}
        m.eval()
        found["evaluated"] = m(t.from_numpy(x)).detach()
        results.append(plain(found))
    equal(*results, rtol=rtol)


@pytest.mark.slow
def test_sizes_and_names_of_torchvision() -> None:
    counts = {"resnet18": 11_689_512, "resnet34": 21_797_672, "resnet50": 25_557_032}
    entries = {"resnet18": 122, "resnet34": 218, "resnet50": 320}
    for name, count in counts.items():
        m = getattr(models, name)()
        assert sum(p.numel() for p in m.parameters()) == count
        assert len(m.state_dict()) == entries[name]
    names = list(m.state_dict())
    assert names[0] == "conv1.weight"
    assert names[-2:] == ["fc.weight", "fc.bias"]
    assert "layer4.2.bn3.num_batches_tracked" in names
    assert "layer1.0.downsample.0.weight" in names
    assert m.layer2[0].conv2.stride == (2, 2)
    assert m.layer2[0].conv1.stride == (1, 1)


PICTURES = np.random.default_rng(0).standard_normal((2, 3, 33, 33))


@pytest.mark.slow
def test_resnet18_trains_as_in_torch() -> None:
    train_both("resnet18", models.resnet, PICTURES, 1e-6, num_classes=5, zero_init_residual=True)


@pytest.mark.parametrize("settings", [{}, {"groups": 2, "width_per_group": 32}])
def test_bottlenecks_train_as_in_torch(settings: dict[str, Any]) -> None:
    theirs, ours = in_torch(models.resnet), models.resnet
    results = []
    torch_net = theirs.ResNet(theirs.Bottleneck, [1, 2, 1, 1], num_classes=7, **settings).double()
    our_net = ours.ResNet(ours.Bottleneck, [1, 2, 1, 1], num_classes=7, **settings).double()
    our_net.load_state_dict({k: mtd.tensor(v) for k, v in weights_of(torch_net).items()})
    for t, m in ((torch, torch_net), (mtd, our_net)):
        out = m(t.from_numpy(PICTURES))
        (out * out).mean().backward()
        results.append(plain([m, out, {n: p.grad for n, p in m.named_parameters()}]))
    equal(*results, rtol=1e-6)


def test_what_a_resnet_refuses() -> None:
    from minitorch_dist.models.resnet import BasicBlock

    with pytest.raises(ValueError, match="groups=1 and base_width=64"):
        BasicBlock(64, 64, groups=2)
    with pytest.raises(NotImplementedError, match="Dilation > 1"):
        BasicBlock(64, 64, dilation=2)
    with pytest.raises(ValueError, match="downloads nothing"):
        models.resnet50(pretrained=True)


def test_the_digits_network_answers_as_in_torch() -> None:
    x = np.random.default_rng(1).standard_normal((3, 1, 28, 28)).astype(np.float32)
    theirs, ours = in_torch(models.convnet).ConvNet(), models.ConvNet()
    assert words(repr(ours)) == repr(theirs)
    ours.load_state_dict({k: mtd.tensor(v) for k, v in weights_of(theirs).items()})
    found = [plain(m.eval()(t.from_numpy(x))) for t, m in ((torch, theirs), (mtd, ours))]
    equal(*found, rtol=1e-4)
    out = ours.train()(mtd.from_numpy(x))
    out.sum().backward()
    assert out.shape == (3, 10)
    assert all(p.grad is not None for p in ours.parameters())


def test_the_toy_trains_as_in_torch() -> None:
    x = np.random.default_rng(2).standard_normal((20, 10))
    train_both("ToyModel", models.mlp, x, 1e-9)


def test_the_digits_network_on_two_devices(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINITORCH_DIST_DEVICES", raising=False)
    models.convnet.Net(num_gpus=2, verbose=True)
    assert capsys.readouterr().out == (
        "Using 2 GPUs to train\nPutting first 2 convs on cpu\nPutting rest of layers on cpu\n"
    )
    with mtd.cuda.simulated(2, "1GB"):
        m = models.ConvNet(num_gpus=2)
        assert [str(p.device) for p in m.parameters()] == ["cuda:0"] * 4 + ["cuda:1"] * 4
        assert str(m(mtd.zeros(1, 1, 28, 28, device="cuda:0")).device) == "cuda:1"
