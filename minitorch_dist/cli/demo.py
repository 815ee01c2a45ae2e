"""`mtd demo`: a ConvNet learns to read digits that are drawn on the fly, in under a minute."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from minitorch_dist.cli import plots
from minitorch_dist.datasets.digits import SyntheticDigits
from minitorch_dist.models.convnet import ConvNet
from minitorch_dist.nn import functional as F
from minitorch_dist.optim.adadelta import Adadelta
from minitorch_dist.tensors.generator import manual_seed
from minitorch_dist.tensors.grad_mode import no_grad
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.transforms import Compose, Normalize, ToTensor
from minitorch_dist.utils.data.dataloader import DataLoader

PER_ROW, ROWS = 5, 2  # five pictures are 70 columns


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--size", type=_positive, default=8000, help="digits to train on (%(default)s)"
    )
    parser.add_argument(
        "--test-size", type=_positive, default=2000, help="digits to test on (%(default)s)"
    )
    parser.add_argument(
        "--epochs", type=_positive, default=1, help="times through the data (%(default)s)"
    )
    parser.add_argument(
        "--batch-size", type=_positive, default=32, help="digits per step (%(default)s)"
    )
    parser.add_argument(
        "--lr", type=float, default=1.0, help="Adadelta's learning rate (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="one seed is one run (%(default)s)")
    parser.set_defaults(run=run)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def run(options: argparse.Namespace) -> int:
    console = Console(highlight=False)
    manual_seed(options.seed)
    prepare = Compose([ToTensor(), Normalize((0.1307,), (0.3081,))])
    train = SyntheticDigits(True, options.size, options.seed, prepare)
    test = SyntheticDigits(False, options.test_size, options.seed, prepare)
    model = ConvNet()
    parameters = sum(p.numel() for p in model.parameters())
    console.print(
        f"{len(train):,} digits to learn from, {len(test):,} to be examined on, "
        f"a ConvNet of {parameters:,} parameters."
    )

    losses = _train(console, model, train, options)
    wrong, right = _examine(model, test)

    for line in plots.curve(losses, label="loss, step by step"):
        console.print(line, markup=False)
    console.print(f"\n{right / len(test):.1%} of {len(test):,} unseen digits read rightly.")
    if wrong:
        console.print(
            f"{len(wrong)} of them it got wrong; the first {min(len(wrong), PER_ROW * ROWS)}:\n"
        )
        for line in _page(test, wrong):
            console.print(line, markup=False)
    return 0


def _train(
    console: Console, model: ConvNet, data: SyntheticDigits, options: argparse.Namespace
) -> list[float]:
    """One pass (or more) over the data; returns the loss of every step."""
    loader: DataLoader[Any] = DataLoader(data, batch_size=options.batch_size, shuffle=True)
    optimizer = Adadelta(model.parameters(), lr=options.lr)
    losses: list[float] = []
    columns = (
        TextColumn("training"),
        BarColumn(),
        TextColumn("step {task.completed:.0f}/{task.total:.0f}  loss {task.fields[loss]:.3f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("train", total=len(loader) * options.epochs, loss=float("nan"))
        for _ in range(options.epochs):
            for images, labels in loader:
                optimizer.zero_grad()
                loss = F.nll_loss(model(images), labels)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                progress.update(task, advance=1, loss=sum(losses[-20:]) / len(losses[-20:]))
    return losses


def _examine(model: ConvNet, data: SyntheticDigits) -> tuple[list[tuple[int, int]], int]:
    """What was read wrongly, as (index, answer), and how many were right."""
    model.eval()
    wrong: list[tuple[int, int]] = []
    seen = 0
    with no_grad():
        images: Tensor
        for images, labels in DataLoader(data, batch_size=250):
            answers = model(images).argmax(1).tolist()
            for answer, label in zip(answers, labels.tolist(), strict=True):
                if answer != label:
                    wrong.append((seen, answer))
                seen += 1
    return wrong, seen - len(wrong)


def _page(data: SyntheticDigits, wrong: list[tuple[int, int]]) -> list[str]:
    """The misread digits as text, each with what it is and what it was taken for."""
    lines: list[str] = []
    shown = wrong[: PER_ROW * ROWS]
    for start in range(0, len(shown), PER_ROW):
        row = shown[start : start + PER_ROW]
        pictures = []
        for index, answer in row:
            caption = f"{int(data.targets.array[index])} read as {answer}"
            pictures.append([*plots.image(data.data.array[index]), f"{caption:^12}"])
        lines += [*plots.side_by_side(pictures), ""]
    return lines
