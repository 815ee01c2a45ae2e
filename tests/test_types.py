"""A user's script under `mypy --strict` and pyright sees tensors, and not Any; and the programs pass both."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = """\
import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.nn.functional as F
from minitorch_dist import nn, optim
from minitorch_dist.distributed import rpc
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel as FSDP, fully_shard
from minitorch_dist.distributed.optim import ZeroRedundancyOptimizer
from minitorch_dist.distributed.tensor import Shard, distribute_tensor
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from minitorch_dist.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.fc(x))


class Rows(Dataset[tuple[torch.Tensor, int]]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.zeros(3), index


class Lines(Dataset[str]):
    def __getitem__(self, index: int) -> str:
        return "a"


def lengths(lines: list[str]) -> list[int]:
    return [len(line) for line in lines]


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def told(number: int) -> str:
    return str(number)


@torch.no_grad()
def accuracy(model: DDP, loader: DataLoader[tuple[torch.Tensor, ...]]) -> float:
    hits = 0.0
    for inputs, labels in loader:
        hits += (model(inputs).argmax(1) == labels).sum().item()
    return hits / len(loader)


def closure() -> torch.Tensor:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), target)
    loss.backward()
    return loss


x = torch.randn(4, 3)
y = torch.ones(3, 2)
layer = nn.Linear(3, 2)
model = nn.Sequential(layer, nn.ReLU())
target = torch.tensor([0, 1, 0, 1])
optimizer = optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(x, target)
loader = DataLoader(data, 2, shuffle=True, num_workers=0)
ddp = DDP(Net())
mesh = init_device_mesh("cpu", (2,))
part = distribute_tensor(x, mesh, [Shard(0)])
rref = rpc.remote("worker1", doubled, args=(x,))
zero = ZeroRedundancyOptimizer(model.parameters(), optim.SGD, lr=0.1)
{lines}
for row in x:
    reveal_type(row)
loss = F.cross_entropy(model(x), target)
optimizer.zero_grad()
loss.backward()
optimizer.step()
parts = [torch.zeros(3) for _ in range(dist.get_world_size())]
dist.all_gather(parts, torch.zeros(3))
dist.all_reduce(loss, op=dist.ReduceOp.SUM)
"""
TENSORS = (
    "x", "y", "target", "model(x)", "layer(x)", "Net()(x)", "nn.Dropout()(x)", "nn.Conv2d(1, 2, 3)(x)",
    "nn.Embedding(3, 4)(target)", "nn.CrossEntropyLoss()(x, target)", "nn.MSELoss()(x, x)",
    "F.cross_entropy(layer(x), target)", "F.relu(x)", "F.linear(x, y)", "F.mse_loss(x, x)", "F.softmax(x, 1)",
    "x @ y", "x + 1", "1 - x", "x - y", "2 * x", "x / 2", "x**2", "-x", "~(x > 0)", "x > 0", "x == y", "x != y", "x[0]", "x[:, 1]",
    "torch.exp(x)", "torch.cat([x, x])", "torch.stack([x, x])", "torch.where(x > 0, x, 0)", "torch.matmul(x, y)",
    "torch.softmax(x, 1)", "torch.sum(x)", "torch.mean(x)", "torch.max(x)", "torch.einsum('ij,jk->ik', x, y)",
    "torch.zeros(3)", "torch.empty(2, 2)", "torch.rand(3)", "torch.full((2,), 1.0)", "torch.arange(3)", "torch.eye(2)",
    "torch.linspace(0, 1, 3)", "torch.randint(0, 3, (3,))", "torch.randperm(3)", "torch.normal(0.0, 1.0, (3,))",
    "torch.zeros_like(x)", "torch.randn_like(x)", "torch.as_tensor([1])", "torch.from_numpy(x.numpy())",
    "x.sum()", "x.mean(1, keepdim=True)", "x.max()", "x.argmax(1)", "x.view(-1)", "x.reshape(2, 6)", "x.t()", "x.T",
    "x.detach()", "x.clone()", "x.to(torch.float64)", "x.float()", "x.add_(1)", "x.requires_grad_()", "layer.weight",
    "ddp(x)", "DDP(layer)(x)", "FSDP(Net())(x)", "fully_shard(layer)(x)", "nn.Sequential(nn.Linear(3, 2), nn.ReLU())(x)",
    "x.max(1).values", "x.max(1).indices", "x.max(dim=1, keepdim=True)[1]", "x.min(1).values", "x.min()", "torch.max(x, 1)[0]",
    "torch.max(x, y)", "x.sort().values", "torch.sort(x, 0).indices", "x.topk(2).indices", "torch.topk(x, 2).values",
    "next(iter(loader))[0]", "next(iter(DataLoader(Rows(), batch_size=4)))[1]", "loader.dataset[0][0]",
    "optimizer.step(closure)", "zero.step(closure)", "rpc.rpc_sync('worker1', doubled, args=(x,))", "rref.to_here()",
    "rpc.rpc_async('worker1', doubled, args=(x,)).wait()",
    "rref.local_value()", "part.full_tensor()", "part.to_local()",
    "F.one_hot(target, 2)", "F.log_softmax(x, dim=1)", "F.nll_loss(x, target)", "F.gelu(x)", "F.dropout(x, 0.1)", "F.layer_norm(x, (3,))",
    "F.binary_cross_entropy_with_logits(x, x)", "F.scaled_dot_product_attention(x, x, x)", "F.max_pool2d(x, 2)", "F.pad(x, (1, 1))",
    "nn.LSTM(3, 4)(x)[1][0]", "nn.GRU(3, 4)(x)[1]", "nn.MultiheadAttention(4, 2)(x, x, x)[0]", "nn.LayerNorm(3)(x)",
    "nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "torch.autograd.grad(x.sum(), [x])[0]", "torch.unique(target)",
    "torch.nonzero(x)", "torch.nonzero(x, as_tuple=True)[0]", "torch.split(x, 2)[0]", "x.chunk(2)[0]", "x.unbind(0)[0]", "x.data", "x.mT",
    "x.type(torch.float64)", "x.masked_fill(x > 0, 0.0)", "x.gather(1, target)", "x.scatter_(1, target, 1.0)", "x.cumsum(0)",
    "torch.multinomial(x, 1)", "torch.clamp(x, 0, 1)", "torch.linalg.norm(x)", "doubled(x)",
)  # fmt: skip
OTHERS = {
    "x.grad": "Tensor | None", "layer.bias": "Tensor | None", "x.shape": "Size", "x.size(0)": "int", "x.ndim": "int",
    "x.dtype": "dtype", "x.requires_grad": "bool", "dist.get_rank()": "int", "dist.all_reduce(x)": "Work | None",
    "optimizer": "SGD", "nn.LSTM(3, 4)(x)": "tuple[Tensor, tuple[Tensor, Tensor]]", "layer.weight.grad": "Tensor | None",
    "x.item()": "int | float", "x.max().item() / 2": "float", "int(x.item())": "int", "float(x)": "float", "len(loader)": "int",
    "x.sum().backward()": "None", "optimizer.step()": "None", "zero.step()": "None", "optimizer.zero_grad()": "None", "x.type()": "str",
    "model.state_dict()": "dict[str, Any]", "model.train()": "Sequential", "next(model.parameters())": "Parameter",
    "next(iter(loader))": "list[Tensor]", "next(iter(DataLoader(Lines(), collate_fn=lengths)))": "list[int]", "data[0]": "tuple[Tensor, ...]",
    "next(iter(DataLoader(Lines())))": "Any", "DistributedSampler(data)": "DistributedSampler", "ddp.module": "Module",
    "dist.get_world_size()": "int", "dist.get_backend()": "str", "dist.all_reduce(x, async_op=True)": "Work | None",
    "dist.broadcast(x, 0)": "Work | None", "dist.barrier()": "Work | None", "dist.send(x, 1)": "None", "dist.irecv(x, 0)": "Work | None",
    "dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1)])": "list[Work]", "rref": "RRef[Tensor]", "rpc.RRef(x)": "RRef[Tensor]",
    "rpc.rpc_sync('worker1', told, args=(2,))": "str", "rpc.remote('worker1', Net)": "RRef[Net]", "torch.no_grad()": "no_grad",
    "mesh.size()": "int", "mesh.get_group()": "ProcessGroup", "part": "DTensor", "model[0]": "Module", "model[:1]": "Sequential", "next(iter(model))": "Module",
    "nn.ModuleList([layer])[0]": "Module", "nn.ModuleDict({'a': layer})['a']": "Module", "x.tolist()": "list[Any]",
    "dist.new_group([0, 1])": "ProcessGroup",
    "accuracy(ddp, loader)": "float", "torch.equal(x, x)": "bool",
    "optim.lr_scheduler.StepLR(optimizer, 2).get_last_lr()": "list[float]",
}  # fmt: skip
EXPECTED = {**dict.fromkeys(TENSORS, "Tensor"), **OTHERS}


@pytest.fixture(scope="module")
def pyright() -> list[str]:
    """How to start it. It fetches its own program from npm when it first runs, and that can fail."""
    command = [sys.executable, "-m", "pyright"]
    if importlib.util.find_spec("pyright") is None or subprocess.run([*command, "--version"], check=False).returncode:
        pytest.skip("pyright is not installed, or cannot fetch its program")
    return command


def written(folder: Path) -> Path:
    path = folder / "script.py"
    lines = "\n".join(f"reveal_type({each})" for each in EXPECTED)
    path.write_text(SCRIPT.format(lines=lines))
    return path


def short(name: str) -> str:
    """Without the modules in which classes are."""
    return re.sub(r"(?:\w+\.)+(?=\w)", "", name)


def test_a_loader_and_a_wrapped_model_may_name_their_types_at_run_time() -> None:
    from minitorch_dist import Tensor
    from minitorch_dist.nn.parallel import DistributedDataParallel
    from minitorch_dist.utils.data import DataLoader

    assert DataLoader[Tensor] and DataLoader[Tensor, Tensor] and DistributedDataParallel[Tensor]
    assert list(DataLoader[int](range(2))) == [0, 1]  # type: ignore[arg-type]


@pytest.mark.slow
def test_mypy_sees_tensors_in_a_script(tmp_path: Path) -> None:
    path = written(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(ROOT / ".mypy_cache" / "user"),
         "--config-file", os.devnull, str(path)],
        capture_output=True, text=True, timeout=500, check=False, env={**os.environ, "MYPYPATH": str(ROOT)}, cwd=tmp_path,
    )  # fmt: skip
    assert "error" not in done.stdout, done.stdout
    found = [short(one) for one in re.findall(r'Revealed type is "(.*)"', done.stdout)]
    assert dict(zip([*EXPECTED, "row"], found, strict=True)) == {**EXPECTED, "row": "Tensor"}


@pytest.mark.slow
def test_pyright_sees_tensors_in_a_script(tmp_path: Path, pyright: list[str]) -> None:
    written(tmp_path)
    setting = {"strict": ["script.py"], "extraPaths": [str(ROOT)], "pythonPlatform": "Linux"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(setting))
    done = subprocess.run(
        [*pyright, "--outputjson", "--pythonpath", sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    said = [one for one in json.loads(done.stdout)["generalDiagnostics"] if one["file"].endswith("script.py")]
    assert [one["message"] for one in said if one["severity"] == "error"] == []
    found = [one["message"].rpartition(' is "')[2].rstrip('"') for one in said]
    assert dict(zip([*EXPECTED, "row"], found, strict=True)) == {**EXPECTED, "row": "Tensor"}


@pytest.mark.slow
def test_the_programs_are_right_to_mypy() -> None:
    """They are scripts without annotations, so a list that begins empty, or becomes a tensor, is no error."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--check-untyped-defs", "--follow-imports=silent", "--ignore-missing-imports",
         "--disable-error-code", "var-annotated", "--disable-error-code", "assignment", "--cache-dir", str(ROOT / ".mypy_cache" / "programs"), "--config-file", os.devnull,
         *map(str, sorted((ROOT / "programs").glob("*.py")))],
        capture_output=True, text=True, timeout=500, check=False, env={**os.environ, "MYPYPATH": str(ROOT)},
        cwd=ROOT / "programs",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_programs_are_right_to_pyright(tmp_path: Path, pyright: list[str]) -> None:
    shutil.copytree(ROOT / "programs", tmp_path / "programs")
    setting = {"extraPaths": [str(ROOT), "programs"], "pythonPlatform": "Linux", "typeCheckingMode": "basic"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(setting))
    done = subprocess.run(
        [*pyright, "--pythonpath", sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0 and "0 errors" in done.stdout, done.stdout
