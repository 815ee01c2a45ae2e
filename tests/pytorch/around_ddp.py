"""Programs with the parts of PyTorch around DistributedDataParallel: hooks, static graphs, uneven inputs, sharded optimizers, the compiler, and
checkpoints that are written beside the training. Each returns losses of this rank, which do not depend on the wire.
"""

from __future__ import annotations

import tempfile
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel


def _model(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))


def _train(net: Any, optimizer: Any, steps: int) -> list[float]:
    losses = []
    for step in range(steps):
        x = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + dist.get_rank()))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _sgd(net: nn.Module) -> Any:
    return torch.optim.SGD(net.parameters(), lr=1e-2)


def power_sgd(**options: Any) -> list[float]:
    """A hook whose callbacks communicate."""
    net = DistributedDataParallel(_model(), **options)
    state = powerSGD_hook.PowerSGDState(None, 2, start_powerSGD_iter=2, min_compression_rate=0.5)
    net.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    return _train(net, _sgd(net), 5)


def power_sgd_in_buckets() -> list[float]:
    """Gloo stands still here, because its threads call the callbacks of several buckets in any order."""
    return power_sgd(bucket_cap_mb=1e-3)


def failing_callback() -> list[float]:
    def refuse(done: Any) -> torch.Tensor:
        raise KeyError("of a callback")

    net = DistributedDataParallel(_model())
    net.register_comm_hook(
        None, lambda state, bucket: dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(refuse)
    )
    return _train(net, _sgd(net), 1)


def static_graph() -> list[float]:
    """Its first backward waits in C++, in a callback of the backward's."""
    net = DistributedDataParallel(_model(), static_graph=True, gradient_as_bucket_view=True)
    return _train(net, _sgd(net), 3)


def uneven_inputs() -> list[float]:
    """A rank that is done answers the sums of the others, and waits for them in C++."""
    # Here, because its import warns of torch.jit.
    from torch.distributed.optim import ZeroRedundancyOptimizer

    net = DistributedDataParallel(_model())
    optimizer = ZeroRedundancyOptimizer(net.parameters(), optimizer_class=torch.optim.Adam, lr=1e-2)
    with Join([net, optimizer]):
        losses = _train(net, optimizer, 2 + dist.get_rank())
    return [*losses, sum(parameter.sum().item() for parameter in net.parameters())]


def compiled() -> list[float]:
    """The compiler sees no method of the group, also where the reducer calls it in C++."""
    net = torch.compile(DistributedDataParallel(_model()), backend="eager")
    return _train(net, _sgd(net), 2)


def written_beside() -> list[float]:
    net = DistributedDataParallel(_model())
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder)
    written = dcp.async_save({"model": net.state_dict()}, checkpoint_id=folder[0])
    written.result()
    losses = _train(net, _sgd(net), 2)
    state = {"model": DistributedDataParallel(_model(1)).state_dict()}
    dcp.load(state, checkpoint_id=folder[0])
    return [*losses, sum(tensor.sum().item() for tensor in state["model"].values())]


def watched_barrier() -> list[float]:
    dist.monitored_barrier()
    return [1.0]
