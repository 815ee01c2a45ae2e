"""The same training by torch's DDP and ZeRO over gloo in processes, and by ours in threads.

Two ranks, so that both add in the same order; models start from the same numbers.
"""

from __future__ import annotations

import inspect
import itertools
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

SIZE = 2


def face_of(name: str) -> SimpleNamespace:
    """The same names of either library."""
    load = import_module
    t = load(name)
    return SimpleNamespace(
        t=t,
        nn=t.nn,
        dist=load(f"{name}.distributed"),
        DDP=load(f"{name}.nn.parallel").DistributedDataParallel,
        Join=load(f"{name}.distributed.algorithms.join").Join,
        Zero=load(f"{name}.distributed.optim").ZeroRedundancyOptimizer,
    )


def filled(module: Any, t: Any, seed: int = 0) -> Any:
    """The module with numbers of our own in its parameters."""
    rng = np.random.default_rng(seed)
    with t.no_grad():
        for p in module.parameters():
            p.copy_(t.from_numpy(rng.standard_normal(tuple(p.shape)).astype(np.float32) * 0.3))
    return module


def batch(f: Any, step: int, rank: int, *shape: int) -> Any:
    rng = np.random.default_rng(1000 * step + rank)
    return f.t.from_numpy(rng.standard_normal(shape).astype(np.float32))


def network(f: Any) -> Any:
    nn = f.nn
    return filled(nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.Tanh(), nn.Linear(9, 4)), f.t)


class Chooses:
    """Makes a module of either library with a branch that only some forwards take."""

    @staticmethod
    def of(f: Any) -> Any:
        class Net(f.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.a, self.b = f.nn.Linear(4, 4), f.nn.Linear(4, 4)

            def forward(self, x: Any, both: bool) -> Any:
                return self.a(x) + self.b(x) if both else self.a(x)

        return filled(Net(), f.t)


def state(model: Any) -> dict[str, Any]:
    return {name: value.detach().numpy().copy() for name, value in model.state_dict().items()}


def grads(model: Any) -> dict[str, Any]:
    return {n: None if p.grad is None else p.grad.numpy().copy() for n, p in model.named_parameters()}


def train(f: Any, rank: int, hook: Any = None, hook_state: Any = None, **told: Any) -> Any:
    model = f.DDP(network(f), **told)
    if hook is not None:
        model.register_comm_hook(hook_state, hook)
    optimizer = f.t.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(4):
        optimizer.zero_grad()
        model(batch(f, step, rank, 5, 6)).square().mean().backward()
        optimizer.step()
    return state(model), grads(model)


def hook_of(f: Any) -> Any:
    """A hook that sends halves."""

    def in_halves(_, bucket):  # type: ignore[no-untyped-def]  # torch reads notes
        buffer = bucket.buffer()
        work = f.dist.all_reduce(buffer.to(f.t.float16).div_(SIZE), async_op=True)
        return work.get_future().then(lambda future: buffer.copy_(future.value()[0]))

    return in_halves


def accumulated(f: Any, rank: int) -> Any:
    model = f.DDP(network(f))
    with model.no_sync():
        model(batch(f, 0, rank, 5, 6)).square().mean().backward()
    local = grads(model)
    model(batch(f, 1, rank, 5, 6)).square().mean().backward()
    return local, grads(model)


def unused(f: Any, rank: int) -> Any:
    model = f.DDP(Chooses.of(f), find_unused_parameters=True)
    found = []
    for step, both in enumerate([(False, False), (True, False), (True, True)]):
        model.zero_grad()
        model(batch(f, step, rank, 3, 4), both[rank]).square().sum().backward()
        found.append(grads(model))
    return found


def joined(f: Any, rank: int) -> Any:
    model = f.DDP(network(f))
    optimizer = f.t.optim.SGD(model.parameters(), lr=0.1)
    with f.Join([model]):
        for step in range(2 + 2 * rank):
            optimizer.zero_grad()
            model(batch(f, step, rank, 5, 6)).square().mean().backward()
            optimizer.step()
    return state(model)


def thrown(f: Any, rank: int) -> Any:
    model = f.DDP(network(f))
    steps = 0
    try:
        with f.Join([model], throw_on_early_termination=True):
            for step in range(2 + rank):
                model(batch(f, step, rank, 5, 6)).sum().backward()
                steps += 1
    except RuntimeError as error:
        return steps, str(error)
    return steps


def zero(f: Any, rank: int, **told: Any) -> Any:
    nn = f.nn
    model = f.DDP(filled(nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 4)), f.t))
    made = f.Zero(model.parameters(), f.t.optim.Adam, lr=0.01, **told)
    for step in range(3):
        made.zero_grad()
        model(batch(f, step, rank, 5, 6)).square().mean().backward()
        made.step()
    made.consolidate_state_dict(to=1)
    saved = {}
    if rank == 1:
        found = made.state_dict()
        saved = {n: {k: np.asarray(v) for k, v in s.items()} for n, s in found["state"].items()}
    number = {id(p): n for n, p in enumerate(model.parameters())}
    own = sorted(number[id(p)] for g in made.optim.param_groups for p in g["params"])
    return state(model), saved, own


def buckets(f: Any, rank: int, told: dict[str, Any], sizes: list[int]) -> Any:
    """How the parameters are divided: their numbers once the order of gradients is known, or the sizes of the buckets."""
    layers = [f.nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
    model = f.DDP(f.nn.Sequential(*layers), **told)
    for _ in range(5):
        model(f.t.ones(2, sizes[0])).sum().backward()
    if f.t.__name__ == "torch":
        data = model._get_ddp_logging_data()
        told = data.get("rebuilt_per_bucket_param_indices") or data["bucket_sizes"]
        return [[int(n) for n in one.split()] for one in told.split(", ")], data["num_buckets_reduced"]
    made = model.reducer.buckets
    sizes = [[one.nbytes] for one in made]
    rebuilt = not model.find_unused_parameters
    return [one.numbers for one in made] if rebuilt else sizes, len(made)


def calls(f: Any, rank: int) -> dict[str, Callable[[], Any]]:
    """What is compared: what each rank ends up with."""
    wide = [700, 600, 500, 400, 3]
    return {
        "plain": lambda: train(f, rank),
        "views": lambda: train(f, rank, gradient_as_bucket_view=True),
        "static": lambda: train(f, rank, static_graph=True),
        "small buckets": lambda: train(f, rank, bucket_cap_mb=1e-4),
        "own buffers": lambda: train(f, rank, forward_sync_buffers=False),
        "hook": lambda: train(f, rank, hook_of(f)),
        "no_sync": lambda: accumulated(f, rank),
        "unused": lambda: unused(f, rank),
        "join": lambda: joined(f, rank),
        "join throws": lambda: thrown(f, rank),
        "zero": lambda: zero(f, rank),
        "zero views": lambda: zero(f, rank, parameters_as_bucket_view=True),
        "buckets": lambda: buckets(f, rank, {}, wide),
        "buckets cap": lambda: buckets(f, rank, {"bucket_cap_mb": 1}, wide),
        "buckets unused": lambda: buckets(f, rank, {"find_unused_parameters": True}, wide),
        "no parameters": lambda: f.DDP(f.nn.Tanh()),
        "device_ids": lambda: f.DDP(network(f), device_ids=[0]),
        "attribute": lambda: f.DDP(network(f)).weight,
        "no joinables": lambda: f.Join([]),
        "unconsolidated": lambda: f.Zero(network(f).parameters(), f.t.optim.SGD, lr=0.1).state_dict(),
    }


def outcomes(library: str) -> dict[str, Any]:
    f = face_of(library)
    found = {}
    for name, act in calls(f, f.dist.get_rank()).items():
        try:
            with warnings.catch_warnings(action="ignore"):
                found[name] = act()
        except Exception as error:
            found[name] = type(error).__name__
    return found


def torch_rank(rank: int, folder: str) -> None:
    import torch.distributed as theirs

    torch.set_num_threads(1)
    store = theirs.FileStore(f"{folder}/store", SIZE)
    theirs.init_process_group("gloo", store=store, rank=rank, world_size=SIZE)
    Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps(outcomes("torch")))
    os._exit(0)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, Any]]:
    """By rank: what torch found, and what we found."""
    folder = tmp_path_factory.mktemp("torch")
    theirs = oracle.ranks(__name__, SIZE, folder)
    ours = launch(lambda: outcomes("minitorch_dist"), SIZE, timeout=60)
    return list(zip(theirs, ours, strict=True))


def same(theirs: Any, ours: Any, where: str) -> None:
    """Equal in structure, and numbers nearly."""
    if isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5, err_msg=where)
    elif isinstance(theirs, dict):
        assert list(theirs) == list(ours), where
        for key, value in theirs.items():
            same(value, ours[key], f"{where} {key}")
    elif isinstance(theirs, (list, tuple)):
        assert len(theirs) == len(ours), where
        for number, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            same(a, b, f"{where} {number}")
    else:
        assert theirs == ours, where


NAMES = list(calls(SimpleNamespace(), 0))


@pytest.mark.parametrize("name", NAMES)
def test_torch_and_we_do_the_same(name: str, both: list[tuple[Any, Any]]) -> None:
    for rank, (theirs, ours) in enumerate(both):
        same(theirs[name], ours[name], f"{name} on rank {rank}")
        if theirs[name].__class__ is str:
            assert theirs[name].endswith("Error"), name


def test_nothing_failed_that_should_not(both: list[tuple[Any, Any]]) -> None:
    failed = {name for name, value in both[0][0].items() if isinstance(value, str)}
    assert failed == {"no parameters", "device_ids", "attribute", "no joinables", "unconsolidated"}


FACES = [
    "nn.parallel.DistributedDataParallel",
    "nn.parallel.DistributedDataParallel.register_comm_hook",
    "nn.parallel.DataParallel",
    "nn.DataParallel",
    "nn.SyncBatchNorm",
    "nn.SyncBatchNorm.convert_sync_batchnorm",
    "distributed.algorithms.Join",
    "distributed.algorithms.join.Join.notify_join_context",
    "distributed.optim.ZeroRedundancyOptimizer.consolidate_state_dict",
    "utils.data.DistributedSampler",
    "utils.data.distributed.DistributedSampler",
]


@pytest.mark.parametrize("name", FACES)
def test_arguments_are_torchs(name: str) -> None:
    def arguments(library: str) -> list[tuple[str, Any]]:
        parts = name.split(".")
        split = max(n for n in range(len(parts)) if find_spec(library, parts[:n]))
        found: Any = import_module(".".join([library, *parts[:split]]))
        for part in parts[split:]:
            found = getattr(found, part)
        parameters = inspect.signature(found).parameters.values()
        return [(p.name, p.kind) for p in parameters]

    with warnings.catch_warnings(action="ignore"):
        theirs, ours = arguments("torch"), arguments("minitorch_dist")
    assert [n for n in ours if n in theirs] == theirs


def find_spec(library: str, parts: list[str]) -> bool:
    try:
        import_module(".".join([library, *parts]))
    except ImportError:
        return False
    return True
