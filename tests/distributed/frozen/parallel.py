"""The frozen results of training in parallel: losses, gradients and parameters, bit for bit, as digests.

Each rank of a simulated world trains the same small models in all the usual ways: FSDP, fully_shard, tensor
parallelism, pipelines, remote calls. `python -m tests.distributed.frozen.parallel` writes the digests anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any, Final

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, optim, sim
from minitorch_dist.distributed import autograd as dist_autograd, rpc
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import (
    BackwardPrefetch,
    CPUOffload,
    CPUOffloadPolicy,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from minitorch_dist.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy
from minitorch_dist.distributed.optim import DistributedOptimizer
from minitorch_dist.distributed.pipelining import PipelineStage, get_schedule_class
from minitorch_dist.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from minitorch_dist.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

SIZES: Final = (1, 2, 3, 5, 8)
DATA: Final = Path(__file__).with_name("parallel.json")
STEPS: Final = 3


class Net(nn.Module):
    """Layers of odd sizes, one of them used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.middle = nn.Sequential(nn.Linear(7, 9), nn.Tanh(), nn.Linear(9, 7))
        self.shared = nn.Linear(7, 7, bias=False)
        self.last = nn.Linear(7, 3)

    def forward(self, x: Any) -> Any:
        x = self.shared(self.first(x).tanh()).tanh()
        return self.last(self.shared(self.middle(x)).tanh())


def digest(values: Iterable[Any]) -> str:
    """Of tensors by their bits, of all else by its repr."""
    found = hashlib.blake2b(digest_size=6)
    for value in values:
        if isinstance(value, DTensor):
            value = value.to_local()
        if isinstance(value, torch.Tensor):
            found.update(f"{value.dtype}{tuple(value.shape)}".encode())
            value = value.detach().array.tobytes()
        found.update(value if isinstance(value, bytes) else repr(value).encode())
    return found.hexdigest()


def made(seed: int = 0) -> Net:
    torch.manual_seed(seed)
    return Net()


def batch(step: int, rows: int = 4, columns: int = 5) -> Any:
    torch.manual_seed(1000 * step + dist.get_rank())
    return torch.randn(rows, columns)


def trained(model: Any, clip: Callable[[Any], Any] | None = None, quiet: bool = False) -> list[Any]:
    """The losses, gradients and parameters of some steps of Adam."""
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    seen: list[Any] = []
    for step in range(STEPS):
        if quiet and step == 0:
            with model.no_sync():
                model(batch(99)).square().mean().backward()
        loss = model(batch(step)).square().mean()
        loss.backward()
        seen += [loss, *([clip(model)] if clip else [])]
        seen += [p.grad for p in model.parameters()]
        optimizer.step()
        optimizer.zero_grad()
    return [*seen, *model.parameters()]


# ------------------------------------------------------------------------------------------- FSDP


def of_fsdp() -> dict[str, str]:
    found: dict[str, str] = {}
    layers = ModuleWrapPolicy({nn.Linear})
    halves = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    ways: dict[str, dict[str, Any]] = {
        "one unit": {},
        "layers": {"auto_wrap_policy": layers},
        "by size": {"auto_wrap_policy": lambda **given: size_based_auto_wrap_policy(**given, min_num_params=50)},
        "shard grad op": {"auto_wrap_policy": layers, "sharding_strategy": ShardingStrategy.SHARD_GRAD_OP},
        "no shard": {"auto_wrap_policy": layers, "sharding_strategy": ShardingStrategy.NO_SHARD},
        "halves": {"auto_wrap_policy": layers, "mixed_precision": halves},
        "offloaded": {"cpu_offload": CPUOffload(offload_params=True)},
        "prefetch after": {
            "auto_wrap_policy": layers,
            "backward_prefetch": BackwardPrefetch.BACKWARD_POST,
            "forward_prefetch": True,
        },
    }
    for name, options in ways.items():
        model = FullyShardedDataParallel(made(), **options)
        found[name] = digest(trained(model, lambda m: m.clip_grad_norm_(0.5), name == "layers"))
        state = model.state_dict()
        found[f"{name}, state"] = digest([*state, *state.values()])
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        state = model.state_dict()
    found["sharded state"] = digest([*state, *state.values()])
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    model(batch(7)).square().mean().backward()
    optimizer.step()
    saved = FullyShardedDataParallel.optim_state_dict(model, optimizer)
    found["optimizer"] = digest([name, *entry.values()] for name, entry in saved["state"].items())
    again = FullyShardedDataParallel.optim_state_dict_to_load(model, optimizer, saved)
    optimizer.load_state_dict(again)
    model(batch(8)).square().mean().backward()
    optimizer.step()
    found["after loading"] = digest(model.parameters())
    return found


def of_fully_shard() -> dict[str, str]:
    size = dist.get_world_size()
    halves = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    ways: dict[str, dict[str, Any]] = {
        "plain": {},
        "kept": {"reshard_after_forward": False},
        "halves": {"mp_policy": halves},
        "offloaded": {"offload_policy": CPUOffloadPolicy()},
    }
    if size % 2 == 0:
        ways["hybrid"] = {"mesh": init_device_mesh("cpu", (2, size // 2))}
    found: dict[str, str] = {}
    for name, options in ways.items():
        model = made()
        for layer in (model.first, model.middle, model.last, model):
            fully_shard(layer, **options)
        found[name] = digest(trained(model, lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.5)))
        state = model.state_dict()
        found[f"{name}, state"] = digest([*state, *(p.full_tensor() for p in state.values())])
    model.set_requires_gradient_sync(False)
    model(batch(5)).square().mean().backward()
    model.set_requires_gradient_sync(True)
    model(batch(6)).square().mean().backward()
    found["two passes"] = digest(p.grad for p in model.parameters())
    return found


# ----------------------------------------------------------------------------------------- tensors


def of_dtensors() -> dict[str, str]:
    size = dist.get_world_size()
    meshes = {"line": init_device_mesh("cpu", (size,))}
    if size % 2 == 0:
        meshes["grid"] = init_device_mesh("cpu", (2, size // 2))
    found: dict[str, str] = {}
    for name, mesh in meshes.items():
        lying = list(product([Replicate(), Shard(0), Shard(1), Partial()], repeat=mesh.ndim))
        for before in lying if mesh.ndim == 1 else lying[::5]:
            parts: list[Any] = []
            for after in lying:
                torch.manual_seed(3)
                whole = torch.randn(7, 5)
                tensor = distribute_tensor(whole, mesh, before).detach().requires_grad_()
                moved = tensor.redistribute(placements=after)
                parts += [tensor, moved, moved.full_tensor()]
                if not any(p.is_partial() for p in after):
                    moved.to_local().square().sum().backward()
                    parts.append(tensor.grad)
            found[f"{name} {before}"] = digest(parts)
    mesh = meshes["line"]
    local = DTensor.from_local(batch(1, 2), mesh, [Shard(0)])
    found["from local"] = digest([local, local.full_tensor(), tuple(local.shape)])
    return found


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 6)
        self.norm = nn.LayerNorm(6)
        self.wide = nn.Linear(6, 10)
        self.back = nn.Linear(10, 6)
        self.head = nn.Linear(6, 11)

    def forward(self, x: Any) -> Any:
        h = self.words(x)
        return self.head(h + self.back(self.wide(self.norm(h)).relu()))


def of_parallel_styles() -> dict[str, str]:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    inside = {"wide": ColwiseParallel(), "back": RowwiseParallel()}
    plans: dict[str, dict[str, Any]] = {
        "columns, rows": {**inside, "words": RowwiseParallel(input_layouts=Replicate())},
        "columns of words": {
            **inside,
            "words": ColwiseParallel(output_layouts=Replicate()),
            "head": ColwiseParallel(output_layouts=Replicate()),
        },
        "along the sequence": {
            "words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "norm": SequenceParallel(),
            "wide": ColwiseParallel(input_layouts=Shard(1)),
            "back": RowwiseParallel(output_layouts=Shard(1)),
            "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
        },
        "prepared": {
            **inside,
            "norm": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Replicate()),
            "head": PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Replicate()),
        },
    }
    found: dict[str, str] = {}
    for name, plan in plans.items():
        torch.manual_seed(0)
        model = parallelize_module(Block(), mesh, plan)
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        seen: list[Any] = []
        for step in range(2):
            words = torch.arange(24).reshape(2, 12) * (step + 3) % 11
            loss = nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
            loss.backward()
            seen += [loss, *(p.grad for p in model.parameters())]
            optimizer.step()
            optimizer.zero_grad()
        found[name] = digest([*seen, *model.parameters()])
    return found


# --------------------------------------------------------------------------------------- pipelines


def of_pipelines() -> dict[str, str]:
    rank, size = dist.get_rank(), dist.get_world_size()
    found: dict[str, str] = {}
    for name in ("GPipe", "1F1B", "LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble"):
        each = 1 if name in ("GPipe", "1F1B") else 2
        count = size * each
        numbers = [rank] if each == 1 else [rank, rank + size]
        layers = []
        for number in numbers:
            torch.manual_seed(number)
            layers.append(nn.Sequential(nn.Linear(4, 4), nn.Tanh()))
        stages = [PipelineStage(one, n, count, "cpu") for one, n in zip(layers, numbers, strict=True)]
        schedule: Any = get_schedule_class(name)(stages[0] if each == 1 else stages, 2 * size, nn.functional.mse_loss)
        torch.manual_seed(9)
        x, y = torch.randn(4 * size + 1, 4), torch.randn(4 * size + 1, 4)
        losses: list[Any] = []
        target = {"target": y, "losses": losses} if count - 1 in numbers else {}
        for _ in range(2):
            out = schedule.step(*([x] if rank == 0 else []), **target)
        found[name] = digest([out, *losses, *(p.grad for one in layers for p in one.parameters())])
    return found


# ------------------------------------------------------------------------------------ remote calls


class Server:
    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.layer(x).tanh()

    def parameters(self) -> list[Any]:
        return [rpc.RRef(p) for p in self.layer.parameters()]


def doubled(x: Any) -> Any:
    return 2 * x


def refused(x: Any) -> Any:
    raise ValueError(f"not {x}")


def of_calls() -> dict[str, str]:
    """Rank 0 drives; the others serve it."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rpc.init_rpc(f"w{rank}", rank=rank, world_size=size)
    found: dict[str, str] = {}
    if rank == 0:
        torch.manual_seed(1)
        x = torch.randn(2, 3)
        workers = [f"w{other}" for other in range(size)]
        found["sync"] = digest(rpc.rpc_sync(to, doubled, (x,)) for to in workers)
        futures = [rpc.rpc_async(to, torch.add, (x, 1)) for to in workers]
        found["async"] = digest(future.wait() for future in futures)
        try:
            rpc.rpc_sync(workers[-1], refused, (3,))
        except ValueError as error:
            found["error"] = digest([str(error)])
        servers = [rpc.remote(to, Server, (n,)) for n, to in enumerate(workers)]
        found["remote"] = digest(
            part
            for one in servers
            for part in (one.rpc_sync().forward(x), one.owner_name(), one.remote().forward(x).to_here())
        )
        parameters = [p for one in servers for p in one.rpc_sync().parameters()]
        optimizer = DistributedOptimizer(optim.SGD, parameters, lr=0.1)
        seen: list[Any] = []
        for _ in range(2):
            with dist_autograd.context() as context:
                h = x.clone().requires_grad_()
                y = h
                for one in servers:
                    y = one.rpc_sync().forward(y)
                loss = y.square().sum()
                dist_autograd.backward(context, [loss])
                seen += [loss, dist_autograd.get_gradients(context)[h]]
                optimizer.step(context)
        found["autograd"] = digest([*seen, *(p.to_here() for p in parameters)])
        del servers, parameters, optimizer, one, seen
    rpc.shutdown()
    return found


# ------------------------------------------------------------------------------- the whole of it

PARTS: Final[dict[str, Callable[[], dict[str, str]]]] = {
    "fsdp": of_fsdp,
    "fully_shard": of_fully_shard,
    "dtensors": of_dtensors,
    "styles": of_parallel_styles,
    "pipelines": of_pipelines,
    "calls": of_calls,
}


def frozen(part: str, size: int) -> dict[str, str]:
    """For each way of training the digests of all ranks together."""
    report = sim.run(PARTS[part], size, net=sim.uniform("5us", "100Gb/s", "1us"))
    names = dict.fromkeys(name for each in report.results for name in each)
    return {name: digest(each.get(name) for each in report.results) for name in names}


def main() -> None:
    found = {part: {str(size): frozen(part, size) for size in SIZES} for part in PARTS}
    DATA.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
