"""Operators of DTensors beside torch's, over gloo in processes: wholes, placements where nothing moves, and gradients."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from minitorch_dist.launching import launch
from tests.parity import oracle

pytestmark = [pytest.mark.parity, pytest.mark.slow]

WAYS = ("rows", "columns", "all", "summands")
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "x + y": lambda x, y: x + y,
    "x - y": lambda x, y: x - y,
    "x * y": lambda x, y: x * y,
    "x / y": lambda x, y: x / y,
    "(x * y).sum() / 3": lambda x, y: (x * y).sum() / 3,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "2 * x + 1": lambda x: 2 * x + 1,
    "1 - x / 4": lambda x: 1 - x / 4,
    "-x": lambda x: -x,
    "x ** 2": lambda x: x**2,
    "1 / x": lambda x: 1 / x,
    "x.exp().log1p()": lambda x: x.exp().log1p(),
    "x.clamp(min=1.5)": lambda x: x.clamp(min=1.5),
    "x.sum()": lambda x: x.sum(),
}
STAY = {
    "2 * x + 1",
    "-x",
    "x ** 2",
    "x.sum()",
    "x + y",
    "x * y",
    "x - y",
}


def face_of(name: str) -> SimpleNamespace:
    load = import_module
    return SimpleNamespace(t=load(name), dist=load(f"{name}.distributed"), tensor=load(f"{name}.distributed.tensor"))  # fmt: skip


def laid_out(f: Any, array: Any, mesh: Any, way: str, size: int, rank: int) -> Any:
    kinds = {"rows": f.tensor.Shard(0), "columns": f.tensor.Shard(1), "all": f.tensor.Replicate()}
    if way in kinds:
        made = f.tensor.distribute_tensor(f.t.from_numpy(array.copy()), mesh, [kinds[way]])
        return made.detach().requires_grad_()
    share = (rank + 1) / (size * (size + 1) / 2)
    part = f.t.from_numpy(array * share).requires_grad_()
    return f.tensor.DTensor.from_local(part, mesh, [f.tensor.Partial()])


def told(f: Any, result: Any, leaves: list[Any]) -> Any:
    """The whole, how it lies, and the gradients of a weighted sum of it."""
    whole = result.full_tensor()
    lying = [repr(p).lower().replace("dim=", "") for p in result.placements]
    if not whole.requires_grad:
        return np.asarray(whole.tolist()), lying, []
    weight = np.cos(np.arange(whole.numel())).reshape(tuple(whole.shape))
    (whole * f.t.from_numpy(np.asarray(weight))).sum().backward()
    grads = [np.asarray(x.grad.full_tensor().tolist()) for x in leaves if x.is_leaf]
    return np.asarray(whole.tolist()), lying, grads


def acted(f: Any, rank: int, size: int) -> dict[str, Any]:
    mesh = f.tensor.init_device_mesh("cpu", (size,))
    a = np.arange(30.0).reshape(5, 6) / 10 + 1
    b = np.cos(np.arange(30.0)).reshape(5, 6) + 2
    found = {}
    for way in WAYS:
        for name, function in UNARY.items():
            x = laid_out(f, a, mesh, way, size, rank)
            found[f"{name}, {way}"] = told(f, function(x), [x])
        for name, binary in BINARY.items():
            x = laid_out(f, a, mesh, way, size, rank)
            y = laid_out(f, b, mesh, way, size, rank)
            found[f"{name}, {way}"] = told(f, binary(x, y), [x, y])
    x = laid_out(f, a, mesh, "rows", size, rank).detach()
    found["item"] = x.sum().item()
    x.mul_(2).add_(x).sub_(1)
    found["in place"] = x.full_tensor().tolist()
    errors = []
    for wrong in (lambda: x + f.t.ones(5, 6), lambda: f.t.ones(5, 6) * x):
        try:
            wrong()
            errors.append("none")
        except RuntimeError as error:
            errors.append(str(error).partition("got mixed")[2][:40])
    found["errors"] = errors
    return found


def torch_rank(rank: int, folder: str) -> None:
    f = face_of("torch")
    f.t.set_num_threads(1)
    size = int(Path(folder, "..", "size").resolve().read_text("utf-8"))
    store = f.dist.FileStore(f"{folder}/store", size)
    f.dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = acted(f, rank, size)
    Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps(found))
    f.dist.barrier()
    os._exit(0)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_operators(size: int, tmp_path: Path) -> None:
    (tmp_path / "size").write_text(str(size), "utf-8")

    def ours() -> dict[str, Any]:
        f = face_of("minitorch_dist")
        f.dist.init_process_group()
        return acted(f, f.dist.get_rank(), size)

    theirs = oracle.ranks(__name__, size, tmp_path)
    for one, other in zip(theirs, launch(ours, size), strict=True):
        assert one.keys() == other.keys()
        for name, expected in one.items():
            found = other[name]
            if not isinstance(expected, tuple):
                if name == "errors":
                    assert found == expected
                elif name == "item":  # torch's is this rank's summand
                    assert found == pytest.approx(sum(each["item"] for each in theirs))
                continue
            np.testing.assert_allclose(found[0], expected[0], err_msg=name)
            operation, way = name.rsplit(", ", 1)
            if operation in STAY and way != "summands":
                assert found[1] == expected[1], name
            assert len(found[2]) == len(expected[2]), name
            for mine, his in zip(found[2], expected[2], strict=True):
                np.testing.assert_allclose(mine, his, atol=1e-12, err_msg=f"gradient of {name}")
        np.testing.assert_allclose(other["in place"], one["in place"])
