"""A user's script under `mypy --strict` and pyright sees tensors, and not Any."""

from __future__ import annotations

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


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.fc(x))


x = torch.randn(4, 3)
y = torch.ones(3, 2)
layer = nn.Linear(3, 2)
model = nn.Sequential(layer, nn.ReLU())
target = torch.tensor([0, 1, 0, 1])
optimizer = optim.SGD(model.parameters(), lr=0.1)
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
)  # fmt: skip
OTHERS = {
    "x.grad": "Tensor | None", "layer.bias": "Tensor | None", "x.shape": "Size", "x.size(0)": "int", "x.ndim": "int",
    "x.dtype": "dtype", "x.requires_grad": "bool", "dist.get_rank()": "int", "dist.all_reduce(x)": "Work | None",
    "optimizer": "SGD", "nn.LSTM(3, 4)(x)": "tuple[Tensor, Any]",
}  # fmt: skip
EXPECTED = {**dict.fromkeys(TENSORS, "Tensor"), **OTHERS}


def written(folder: Path) -> Path:
    path = folder / "script.py"
    lines = "\n".join(f"reveal_type({each})" for each in EXPECTED)
    path.write_text(SCRIPT.format(lines=lines))
    return path


def short(name: str) -> str:
    """Without the modules in which classes are."""
    return re.sub(r"(?:\w+\.)+(?=\w)", "", name)


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
@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_sees_tensors_in_a_script(tmp_path: Path) -> None:
    written(tmp_path)
    setting = {"strict": ["script.py"], "extraPaths": [str(ROOT)], "pythonPlatform": "Linux"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(setting))
    done = subprocess.run(
        ["pyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
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
