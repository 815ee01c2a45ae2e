"""The same training by torch's FSDP and fully_shard over gloo in processes, and by ours in threads."""

from __future__ import annotations

import inspect
import os
import pickle
import warnings
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from minitorch_dist.distributed.fsdp import FullyShardedDataParallel, fully_shard, options
from minitorch_dist.launching import launch
from tests.parity import oracle

pytestmark = [pytest.mark.parity, pytest.mark.slow]

SIZE = 2


def face_of(name: str) -> SimpleNamespace:
    load = import_module
    t = load(name)
    return SimpleNamespace(
        t=t,
        nn=t.nn,
        dist=load(f"{name}.distributed"),
        fsdp=load(f"{name}.distributed.fsdp"),
        wrap=load(f"{name}.distributed.fsdp.wrap"),
    )


def network(f: Any) -> Any:
    nn = f.nn
    net = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Sequential(nn.Linear(7, 4), nn.LayerNorm(4)), nn.Linear(4, 3))
    rng = np.random.default_rng(0)
    with f.t.no_grad():
        for p in net.parameters():
            p.copy_(f.t.from_numpy(rng.standard_normal(tuple(p.shape)).astype(np.float32) * 0.3))
    return net


def batch(f: Any, step: int, rank: int) -> Any:
    rng = np.random.default_rng(100 * step + rank)
    return f.t.from_numpy(rng.standard_normal((6, 5)).astype(np.float32))


def numbers(tensor: Any) -> Any:
    return np.array(tensor.detach().cpu().tolist(), np.float64)


def trained(f: Any, model: Any, rank: int, clip: Any) -> list[float]:
    optimizer = f.t.optim.Adam(model.parameters(), lr=0.01)
    seen = []
    for step in range(4):
        optimizer.zero_grad()
        loss = (model(batch(f, step, rank)) ** 2).mean()
        loss.backward()
        norm = clip(model)
        seen += [loss.item(), norm.item()]
        optimizer.step()
    return seen


def outcomes(f: Any, rank: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    F = f.fsdp
    policy = f.wrap.ModuleWrapPolicy({f.nn.Linear})
    for strategy in ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"):
        for originals in (False, True):
            model = F.FullyShardedDataParallel(
                network(f),
                sharding_strategy=F.ShardingStrategy[strategy],
                auto_wrap_policy=policy,
                use_orig_params=originals,
                device_id=f.t.device("cpu"),
            )
            name = f"{strategy} {originals}"
            if originals:  # ours shows them always; torch aligns each to 16 bytes, and cuts elsewhere
                found[f"{name} names"] = [n for n, _ in model.named_parameters()]
            found[f"{name} losses"] = trained(f, model, rank, lambda m: m.clip_grad_norm_(0.1))
            state = model.state_dict()
            found[f"{name} keys"] = list(state)
            found[f"{name} values"] = [numbers(v) for v in state.values()]
            with F.FullyShardedDataParallel.summon_full_params(model):
                found[f"{name} summoned"] = [(n, list(p.shape)) for n, p in model.named_parameters()]
    for frees in (None, False):
        model = network(f)
        for layer in (model[0], model[2], model[3]):
            F.fully_shard(layer, reshard_after_forward=frees)
        F.fully_shard(model)
        found[f"rows {frees} names"] = [n for n, _ in model.named_parameters()]
        found[f"rows {frees} shapes"] = [(list(p.shape), list(p.to_local().shape)) for p in model.parameters()]

        def whole_norm(m: Any) -> Any:
            norm = f.nn.utils.clip_grad_norm_(m.parameters(), 0.1)
            return norm.full_tensor() if hasattr(norm, "full_tensor") else norm

        found[f"rows {frees} losses"] = trained(f, model, rank, whole_norm)
        found[f"rows {frees} values"] = [numbers(v.full_tensor()) for v in model.state_dict().values()]
        found[f"rows {frees} class"] = type(model).__name__
    return found


def torch_rank(rank: int, folder: str) -> None:
    f = face_of("torch")
    f.dist.init_process_group("gloo", store=f.dist.FileStore(f"{folder}/store", SIZE), rank=rank, world_size=SIZE)
    with warnings.catch_warnings(action="ignore"):
        found = outcomes(f, rank)
    Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps(found))
    f.dist.barrier()
    os._exit(0)


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], (float, np.ndarray)):
        return all(
            np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=0, atol=2e-5)
            for a, b in zip(ours, theirs, strict=True)
        )
    return bool(ours == theirs)


def test_torch_and_we_train_the_same(tmp_path: Path) -> None:
    theirs = oracle.ranks(__name__, SIZE, tmp_path)

    def rank() -> Any:
        f = face_of("minitorch_dist")
        return outcomes(f, f.dist.get_rank())

    ours = launch(rank, SIZE, timeout=60)
    different = [
        f"{name} on rank {rank}:\n  torch {theirs[rank][name]}\n  here  {ours[rank][name]}"
        for rank in range(SIZE)
        for name in theirs[rank]
        if not same(ours[rank][name], theirs[rank][name])
    ]
    assert not different, "\n".join(different)


def test_arguments_are_torchs() -> None:
    theirs = import_module("torch.distributed.fsdp")

    def names(function: Any) -> list[str]:
        return [name for name in inspect.signature(function).parameters if not name.startswith("_")]

    assert names(FullyShardedDataParallel.__init__) == names(theirs.FullyShardedDataParallel.__init__)
    assert set(names(theirs.fully_shard)) - set(names(fully_shard)) == {"dp_mesh_dims"}
    for name in ("CPUOffload", "FullStateDictConfig"):
        assert names(getattr(options, name)) == names(getattr(theirs, name)), name
    assert set(names(theirs.MixedPrecision)) - set(names(options.MixedPrecision)) == {"keep_low_precision_grads"}
    for name in ("ShardingStrategy", "BackwardPrefetch", "StateDictType"):
        known = {m.name for m in getattr(theirs, name)}
        assert {m.name for m in getattr(options, name)} <= known, name
