"""The programs of the tutorials that name a GPU, as they stand there (without their processes)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.nn.functional as F
from minitorch_dist import nn, optim


@pytest.fixture
def four_devices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MINITORCH_DIST_DEVICES", "4x80GB")
    yield


@pytest.fixture
def no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINITORCH_DIST_DEVICES", raising=False)


class ToyModel(nn.Module):
    def __init__(self) -> None:
        super(ToyModel, self).__init__()  # noqa: UP008 - as in the tutorial
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x: Any) -> Any:
        return self.net2(self.relu(self.net1(x)))


class ToyMpModel(nn.Module):
    def __init__(self, dev0: int, dev1: int) -> None:
        super(ToyMpModel, self).__init__()  # noqa: UP008
        self.dev0 = dev0
        self.dev1 = dev1
        self.net1 = torch.nn.Linear(10, 10).to(dev0)
        self.relu = torch.nn.ReLU()
        self.net2 = torch.nn.Linear(10, 5).to(dev1)

    def forward(self, x: Any) -> Any:
        x = x.to(self.dev0)
        x = self.relu(self.net1(x))
        x = x.to(self.dev1)
        return self.net2(x)


class Net(nn.Module):
    def __init__(self, num_gpus: int = 0) -> None:
        super(Net, self).__init__()  # noqa: UP008
        self.num_gpus = num_gpus
        device = torch.device("cuda:0" if torch.cuda.is_available() and self.num_gpus > 0 else "cpu")
        self.conv1 = nn.Conv2d(1, 32, 3, 1).to(device)
        self.conv2 = nn.Conv2d(32, 64, 3, 1).to(device)
        if "cuda" in str(device) and num_gpus > 1:
            device = torch.device("cuda:1")
        self.dropout1 = nn.Dropout2d(0.25).to(device)
        self.dropout2 = nn.Dropout2d(0.5).to(device)
        self.fc1 = nn.Linear(9216, 128).to(device)
        self.fc2 = nn.Linear(128, 10).to(device)

    def forward(self, x: Any) -> Any:
        x = self.conv1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = F.max_pool2d(x, 2)

        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        next_device = next(self.fc1.parameters()).device
        x = x.to(next_device)

        x = self.fc1(x)
        x = F.relu(x)
        x = self.dropout2(x)
        x = self.fc2(x)
        output = F.log_softmax(x, dim=1)
        return output


class ParameterServer(nn.Module):
    def __init__(self, num_gpus: int = 0) -> None:
        super().__init__()
        model = Net(num_gpus=num_gpus)
        self.model = model
        self.input_device = torch.device("cuda:0" if torch.cuda.is_available() and num_gpus > 0 else "cpu")

    def forward(self, inp: Any) -> Any:
        inp = inp.to(self.input_device)
        out = self.model(inp)
        out = out.to("cpu")
        return out


def step(model: Any, labels_on: int) -> None:
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = model(torch.randn(20, 10).to(next(model.parameters()).device))
    labels = torch.randn(20, 5).to(labels_on)
    loss_fn(outputs, labels).backward()
    optimizer.step()


@pytest.mark.usefixtures("four_devices")
@pytest.mark.parametrize("rank", range(4))
def test_demo_basic(rank: int) -> None:
    n_gpus = torch.cuda.device_count()
    assert n_gpus >= 2, f"Requires at least 2 GPUs to run, but got {n_gpus}"
    model = ToyModel().to(rank)
    step(model, rank)
    assert {str(p.device) for p in model.parameters()} == {f"cuda:{rank}"}
    assert all(p.grad.get_device() == rank for p in model.parameters())


@pytest.mark.usefixtures("four_devices")
def test_demo_basic_of_the_launcher() -> None:
    local_world_size, local_rank = 4, 2
    n = torch.cuda.device_count() // local_world_size
    device_ids = list(range(local_rank * n, (local_rank + 1) * n))
    model = ToyModel().cuda(device_ids[0])
    step(model, device_ids[0])
    assert next(model.parameters()).device == torch.device("cuda:2")


@pytest.mark.usefixtures("four_devices")
def test_demo_basic_of_elastic() -> None:
    device_id = 5 % torch.cuda.device_count()
    step(ToyModel().to(device_id), device_id)


@pytest.mark.usefixtures("four_devices")
@pytest.mark.parametrize("rank", [0, 1])
def test_demo_model_parallel(rank: int) -> None:
    dev0 = rank * 2
    dev1 = rank * 2 + 1
    mp_model = ToyMpModel(dev0, dev1)
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(mp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = mp_model(torch.randn(20, 10))
    assert outputs.get_device() == dev1
    labels = torch.randn(20, 5).to(dev1)
    loss_fn(outputs, labels).backward()
    optimizer.step()
    assert mp_model.net1.weight.grad.get_device() == dev0
    assert mp_model.net2.weight.grad.get_device() == dev1
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        loss_fn(outputs, torch.randn(20, 5).to(dev0))


@pytest.mark.usefixtures("four_devices")
def test_demo_checkpoint(tmp_path: Path) -> None:
    saved = ToyModel().to(0)
    checkpoint_path = tmp_path / "model.checkpoint"
    torch.save(saved.state_dict(), checkpoint_path)
    for rank in range(2):
        model = ToyModel().to(rank)
        map_location = {"cuda:%d" % 0: "cuda:%d" % rank}  # noqa: UP031
        loaded = torch.load(checkpoint_path, map_location=map_location)
        assert {t.get_device() for t in loaded.values()} == {rank}
        model.load_state_dict(loaded)
        assert model.net1.weight.tolist() == saved.net1.weight.tolist()
        step(model, rank)


@pytest.mark.slow
@pytest.mark.usefixtures("four_devices")
@pytest.mark.parametrize(
    ("num_gpus", "first", "rest"), [(0, "cpu", "cpu"), (1, "cuda:0", "cuda:0"), (2, "cuda:0", "cuda:1")]
)
@pytest.mark.filterwarnings("ignore:dropout2d. Received a 2-D input:UserWarning")
def test_parameter_server(num_gpus: int, first: str, rest: str) -> None:
    server = ParameterServer(num_gpus=num_gpus)
    assert str(server.model.conv2.weight.device) == first
    assert str(server.model.fc1.weight.device) == rest
    optimizer = optim.SGD(server.parameters(), lr=0.03)
    data, target = torch.randn(2, 1, 28, 28), torch.tensor([3, 7])
    model_output = server(data)
    target = target.to(model_output.device)
    loss = F.nll_loss(model_output, target)
    loss.backward()
    grads = {p: p.grad for p in server.parameters()}
    cpu_grads = {k.to("cpu"): v.to("cpu") for k, v in grads.items()}
    assert len(cpu_grads) == 8 and all(g.device.type == "cpu" for g in cpu_grads.values())
    optimizer.step()
    device = torch.device("cuda:0" if num_gpus > 0 and torch.cuda.is_available() else "cpu")
    server.eval()
    with torch.no_grad():
        pred = server(data).argmax(dim=1, keepdim=True)
        pred, target = pred.to(device), target.to(device)
        assert 0 <= pred.eq(target.view_as(pred)).sum().item() <= 2


# ------------------------------------------------------------------- the same on a machine without


@pytest.mark.usefixtures("no_devices")
def test_without_devices_the_programs_fail_as_with_torch(tmp_path: Path) -> None:
    assert torch.cuda.device_count() == 0
    accelerator = r"^Cannot access accelerator device when none is available"
    with pytest.raises(RuntimeError, match=accelerator):
        ToyModel().to(0)
    with pytest.raises(RuntimeError, match=accelerator):
        ToyMpModel(0, 1)
    with pytest.raises(RuntimeError, match=accelerator):
        torch.randn(20, 5).to(0)
    with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled"):
        ToyModel().to("cuda:0")
    with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled"):
        ToyModel().cuda()
    with pytest.raises(ZeroDivisionError):
        _ = 3 % torch.cuda.device_count()
    assert str(ParameterServer(num_gpus=2).input_device) == "cpu"
    path = tmp_path / "model"
    with torch.cuda.simulated(1):
        torch.save(ToyModel().to(0).state_dict(), path)
    with pytest.raises(RuntimeError, match=r"deserialize object on cuda:0: .*map_location='cpu'"):
        torch.load(path)
    assert torch.load(path, map_location="cpu")["net1.weight"].device == torch.device("cpu")
