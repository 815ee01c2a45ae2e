"""The work of every rank of the demo: its share of the digits, one model, gradients averaged by DDP."""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from minitorch_dist import transforms
from minitorch_dist.datasets.digits import SyntheticDigits
from minitorch_dist.distributed import distributed_c10d as c10d
from minitorch_dist.distributed.ddp.module import DistributedDataParallel
from minitorch_dist.distributed.groups import resolve
from minitorch_dist.distributed.prepared import use_links
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.models.convnet import ConvNet
from minitorch_dist.nn import functional as F
from minitorch_dist.optim.adadelta import Adadelta
from minitorch_dist.tensors.autograd.grad_modes import no_grad
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.generator import manual_seed
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.utils.data.dataloader import DataLoader
from minitorch_dist.utils.data.distributed import DistributedSampler

# Of a message, of a byte, of adding one, in picoseconds. Both worlds choose their algorithms by these:
# another algorithm adds in another order, and then the last bits differ.
PRICES = Links(20 * 10**6, 800, 100)
BATCH = 32  # digits of a step, of all ranks together


class DemoPlan(NamedTuple):
    size: int  # digits to learn from, of all ranks together
    seed: int
    label: str  # before the progress bar; empty: no bar


class DemoResult(NamedTuple):
    """The results that rank 0 returns."""

    losses: list[float]  # rank 0's, step by step
    weights: dict[str, Array]


def digits(is_train: bool, size: int, seed: int) -> SyntheticDigits:
    prepare = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    return SyntheticDigits(is_train, size, seed, prepare)


def train(plan: DemoPlan) -> DemoResult | None:
    """An ordinary DDP script; only rank 0 returns something and draws a bar."""
    rank, ranks = c10d.get_rank(), c10d.get_world_size()
    use_links(resolve(None), PRICES)
    manual_seed(plan.seed)  # the same first weights everywhere (DDP would see to it too)
    data = digits(True, plan.size, plan.seed)
    sampler = DistributedSampler(data, seed=plan.seed)
    mine = max(1, BATCH // ranks)
    loader: DataLoader[Any] = DataLoader(data, batch_size=mine, sampler=sampler)
    model = DistributedDataParallel(ConvNet())
    optimizer = Adadelta(model.parameters(), lr=1.0)
    manual_seed(plan.seed + rank)  # dropout differs from rank to rank
    losses: list[float] = []
    said = TextColumn("step {task.completed:.0f}/{task.total:.0f}  loss {task.fields[loss]:.3f}")
    columns = TextColumn(plan.label), BarColumn(), said, TimeElapsedColumn()
    is_quiet = rank != 0 or not plan.label
    with Progress(*columns, console=Console(highlight=False), disable=is_quiet) as progress:
        task = progress.add_task("", total=len(loader), loss=float("nan"))
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.nll_loss(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            progress.update(task, advance=1, loss=sum(losses[-20:]) / len(losses[-20:]))
    if rank:
        return None
    return DemoResult(losses, {name: p.detach().array.copy() for name, p in model.module.named_parameters()})


def examine(weights: dict[str, Array], data: SyntheticDigits) -> list[tuple[int, int]]:
    """The digits that a model with these weights reads wrongly, as (index, answer)."""
    model = ConvNet()
    for name, p in model.named_parameters():
        p.array[...] = weights[name]
    model.eval()
    wrong: list[tuple[int, int]] = []
    seen = 0
    with no_grad():
        images: Tensor
        for images, labels in DataLoader(data, batch_size=250):
            answers = model(images).argmax(1).tolist()
            pairs = enumerate(zip(answers, labels.tolist(), strict=True), seen)
            wrong += [(at, answer) for at, (answer, label) in pairs if answer != label]
            seen += len(answers)
    return wrong
