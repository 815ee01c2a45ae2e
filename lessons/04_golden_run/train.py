"""A small network learns to tell two spirals apart. This script is trained everywhere in this course, unchanged.

    python train.py                          alone
    mtd run --ranks 4 train.py               four ranks share each batch, in virtual time
    mtdrun --nproc-per-node 4 train.py       the same in four processes

With `torch` for `minitorch_dist` in its imports it is a PyTorch script (and torchrun for mtdrun).

All sums of gradients are exact, so their order does not matter: every training must end with the same weights,
bit for bit. Inputs are multiples of 1/16, there is one hidden layer, and it computes with weights that are rounded to
multiples of 1/256. All else is sums and products. So a gradient is a multiple of 2⁻³⁶, and none needs more than 38 of
the 53 bits of a float64. A layer rounds a copy: the weights themselves keep every bit of every step.
"""

import argparse
import hashlib
import os
from pathlib import Path

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, optim
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP

SAMPLES, BATCH, HIDDEN = 148, 37, 24
SCALE = 2.0**-5  # of the loss
LARGEST = 4.0  # weight with which a layer computes


def spirals(count=SAMPLES, seed=0):
    """Points on two spirals, multiples of 1/16, and on which of them each lies: +1 or -1."""
    random = np.random.default_rng(seed)
    angle = random.integers(0, 256, count) / 256 * 2 * np.pi
    arm = random.integers(0, 2, count) * 2.0 - 1
    radius = arm * angle / (2 * np.pi)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return torch.from_numpy(np.rint(points * 16) / 16), torch.from_numpy(arm[:, None])


class Linear(nn.Linear):
    """Computes with its weights rounded to multiples of 1/256. The weights stay as they are."""

    def forward(self, x):
        return nn.functional.linear(x, rounded(self.weight), rounded(self.bias))


def rounded(weights):
    """To multiples of 1/256, and small. Its gradient is handed on as if nothing had been rounded."""
    with torch.no_grad():
        difference = ((weights * 256).round() / 256).clamp(-LARGEST, LARGEST) - weights
    return weights + difference


def network(seed=1):
    """2 inputs, 24 hidden units, 1 output."""
    model = nn.Sequential(Linear(2, HIDDEN), nn.ReLU(), Linear(HIDDEN, 1)).double()
    random = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            drawn = random.integers(-256, 257, tuple(p.shape)) / 256
            p.copy_(torch.from_numpy(drawn))
    return model


def loss_of(model, x, y):
    """The squared error, added up: the shares of all ranks add up to the whole."""
    error = model(x) - y
    return (error * error).sum() * SCALE


def train(options, rank, size):
    x, y = spirals()
    model = network()
    shared = DDP(model) if dist.is_initialized() else model
    optimizer = optim.SGD(shared.parameters(), lr=options.lr, momentum=options.momentum)
    losses, weights = [], []
    for step in range(resume(options, model, optimizer), options.steps):
        first = step * BATCH % SAMPLES
        mine = slice(first + BATCH * rank // size, first + BATCH * (rank + 1) // size)
        optimizer.zero_grad()
        (loss_of(shared, x[mine], y[mine]) * size).backward()  # DDP takes the mean: times P, by P
        optimizer.step()
        with torch.no_grad():
            losses.append(loss_of(model, x, y).item())
        weights.append([w for p in model.parameters() for w in p.flatten().tolist()])
        if rank == 0 and (step + 1) % options.every == 0:
            print(f"step {step + 1:>3}   loss {losses[-1]:.6f}")
            save(options, model, optimizer, step + 1)
    return losses, weights


def save(options, model, optimizer, step):
    if options.checkpoint:
        state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        beside = options.checkpoint.with_suffix(".new")
        torch.save(state, beside)
        beside.replace(options.checkpoint)  # whole, or not at all


def resume(options, model, optimizer):
    """At which step to begin: the one that the checkpoint says, if there is any."""
    if not options.checkpoint or not options.checkpoint.exists():
        return 0
    state = torch.load(options.checkpoint)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def main(arguments=None):
    """Train, alone or as one rank of many. Returns the loss and the weights after each step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--lr", type=float, default=0.125)
    parser.add_argument("--momentum", type=float, default=0.875)
    parser.add_argument(
        "--every", type=int, default=20, help="steps between two lines (%(default)s)"
    )
    parser.add_argument(
        "--checkpoint", type=Path, help="a file: saved at each line, and continued from"
    )
    options = parser.parse_args(arguments)
    is_mine = not dist.is_initialized() and "RANK" in os.environ
    if is_mine:
        dist.init_process_group("gloo")
    rank, size = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    losses, weights = train(options, rank, size)
    if rank == 0 and weights:
        digest = hashlib.sha256(np.array(weights[-1], "<f8").tobytes()).hexdigest()[:16]
        print(f"{size} rank{'s' * (size > 1)}, weights {digest}")
    if is_mine:
        dist.destroy_process_group()
    return losses, weights


if __name__ == "__main__":
    main()
