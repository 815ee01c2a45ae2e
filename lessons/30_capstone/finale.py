"""A small transformer on a mesh of replicas and stages, by what you wrote in the lessons.

              stage 0           stage 1
replica 0     rank 0  ──────►  rank 1         forward: activations go right; backward: gradients go left (lesson 27)
                 ║                ║
replica 1     rank 2  ──────►  rank 3         ║  the gradients of equal stages are summed up (lesson 13)

    mtd capstone --finale --ranks 4        seven worlds: 2 replicas of 2 stages; of 6 ranks, 2 replicas of 3 stages
    mtd run --ranks 4 finale.py            one world; the loss after each step. `mtd run --ranks 4 finale.py --steps 50`

This file is yours: change it, and run it again. It has to give the same weights in all worlds, whatever they are.

Each replica takes other sequences of a batch, one after another as micro-batches. Where does "the same weights, bit for bit"
come from? A sequence is computed by the same operations on the same shapes everywhere. Its gradients are rounded to
multiples of 2⁻²⁰ as they arrive, and sums of these are exact in float64, in any order. The weights are not rounded: they
keep all digits that the steps gave them, and all digits are compared.

With `torch` for `minitorch_dist` in its imports it is a PyTorch script: then torch's pipeline and all_reduce do the same.
"""

import argparse
import os
from pathlib import Path

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, optim
from minitorch_dist.distributed.pipelining import PipelineStage, Schedule1F1B
from minitorch_dist.nn.functional import cross_entropy, gelu, scaled_dot_product_attention

MEMORY = 300_000  # bytes of each rank's accelerator, in the simulated worlds; one rank alone needs 445,056
PARTS = {  # of a training, and the lesson's module that does it
    "order of the micro-batches": "one_f_one_b",
    "stages, and what they send": "one_f_one_b",
    "gradients as one vector": "buckets",
    "sum over the replicas": "ring",
    "optimizer": "golden",
    "telling all ranks the weights": "tree",
    "where to resume": "generations",
}
if torch.__name__ == "minitorch_dist":
    import buckets
    import generations
    import golden
    import one_f_one_b
    import ring
    import stages as gpipe
    import tree

    from minitorch_dist.distributed.pipelining.orders import Pipe

TEXT = "to be or not to be, that is the question: whether tis nobler in the mind to suffer "
LETTERS = sorted(set(TEXT))
WIDTH, HEADS, BLOCKS, LENGTH, BATCH = 16, 2, 4, 8, 6
GRID = 2.0**20  # gradients are multiples of 1 / GRID


# ----------------------------------------------------------------------------------------- the model


class Embed(nn.Module):
    """Letters and their places become vectors."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Parameter(torch.zeros(len(LETTERS), WIDTH, dtype=torch.float64))
        self.places = nn.Parameter(torch.zeros(LENGTH, WIDTH, dtype=torch.float64))

    def forward(self, letters):
        return self.letters[letters.reshape(-1)] + self.places


class Block(nn.Module):
    """Each place looks at those before it, and then thinks."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(WIDTH).double() for _ in range(2))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH).double()
        self.out = nn.Linear(WIDTH, WIDTH).double()
        self.up = nn.Linear(WIDTH, 4 * WIDTH).double()
        self.down = nn.Linear(4 * WIDTH, WIDTH).double()

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).reshape(LENGTH, 3, HEADS, WIDTH // HEADS)
        q, k, v = parts.permute(1, 2, 0, 3).unbind(0)
        seen = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(0, 1).reshape(LENGTH, WIDTH))
        return x + self.down(gelu(self.up(self.norm2(x))))


class Onto(nn.Module):
    """The input goes to the accelerator, if there is one."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def forward(self, x):
        return x.to(self.device)


def layers():
    """All of them, with the same weights on every rank."""
    made = [Embed(), *[Block() for _ in range(BLOCKS)], nn.Linear(WIDTH, len(LETTERS)).double()]
    random = np.random.default_rng(1)
    with torch.no_grad():
        for p in nn.Sequential(*made).parameters():
            drawn = random.normal(0, 0.2, tuple(p.shape))
            p.copy_(torch.from_numpy(snapped(drawn)))
    return made


def loss_of(scores, letters):
    """The mean of a batch is the sum of these."""
    return cross_entropy(scores, letters.reshape(-1).to(scores.device)) / BATCH


def batch(step):
    """Sequences, and in each place the letter that follows."""
    random = np.random.default_rng(step)
    text = np.array([LETTERS.index(letter) for letter in TEXT])
    starts = random.integers(0, len(text) - LENGTH, BATCH)
    pieces = torch.from_numpy(np.stack([text[at : at + LENGTH + 1] for at in starts]))
    return pieces[:, :-1], pieces[:, 1:]


def snapped(x):
    return (x * GRID).round() / GRID


def rounded(loss):
    """As a number whose sums are exact, too."""
    return round(loss.item() * GRID) / GRID


# ----------------------------------------------------------------------------------------- the mesh


class Along:
    """`dist` as a lesson's module sees it here: its ranks are those along one axis of the mesh."""

    def __init__(self, count, stride):
        self.count, self.stride = count, stride

    def __getattr__(self, name):
        return getattr(dist, name)

    def get_world_size(self):
        return self.count

    def get_rank(self):
        return place()[0] // self.stride % self.count

    def of_all(self, rank):
        return place()[0] + (rank - self.get_rank()) * self.stride

    def send(self, tensor, dst, tag=0):
        return dist.send(tensor, self.of_all(dst), tag=tag)

    def isend(self, tensor, dst, tag=0):
        return dist.isend(tensor, self.of_all(dst), tag=tag)

    def recv(self, tensor, src, tag=0):
        return dist.recv(tensor, self.of_all(src), tag=tag)


def place():
    """This rank, and how many there are."""
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)


def stages_of(size):
    return next(count for count in (3, 2, 1) if size % count == 0)


# ----------------------------------------------------------------------------------------- by whom


class ByLessons:
    """The parts of a training as you wrote them, or as ours are where a lesson is open."""

    def __init__(self, mine, size):
        self.count = stages_of(size)
        one_f_one_b.dist = gpipe.dist = Along(self.count, 1)
        ring.dist, tree.dist = Along(size // self.count, self.count), Along(size, 1)
        self.stage = one_f_one_b.Stage(mine, WIDTH)
        self.optimizer = golden.SGD(mine.parameters(), lr=0.125, momentum=0.75)

    def train(self, pieces):
        """Forward and backward of this replica's sequences. Returns the sum of their losses on the last stage."""
        seen = []

        def noted(scores, letters):
            loss = loss_of(scores, letters)
            seen.append(rounded(loss))
            return loss

        if self.stage.rank:  # what comes in has the form of what is sent, not that of letters
            form = torch.zeros(LENGTH, 1, dtype=torch.float64)
            pieces = [(form, target) for _, target in pieces]
        order = one_f_one_b.one_forward_one_backward(self.stage.rank, Pipe(self.count, len(pieces)))
        self.stage.step(order, pieces, noted)
        return sum(seen)

    def over_replicas(self, parameters):
        flat = buckets.pack(parameters)
        ring.all_reduce(flat)
        buckets.unpack(flat, parameters)

    def tell(self, tensor, source):
        tree.broadcast(tensor, source)

    def begin(self, saved):
        return generations.first_step(generations.Checkpoint(saved, []))


class ByLibrary:
    """The same parts by the library: torch's names, so PyTorch can do it as well."""

    def __init__(self, mine, size):
        self.count, self.mine = stages_of(size), mine
        self.optimizer = optim.SGD(mine.parameters(), lr=0.125, momentum=0.75)
        self.rank = place()[0]
        self.replicas = self.row = None
        if size > 1:
            rows = [range(first, first + self.count) for first in range(0, size, self.count)]
            columns = [range(first, size, self.count) for first in range(self.count)]
            made = [(ranks, dist.new_group([*ranks])) for ranks in [*rows, *columns]]
            self.row, self.replicas = (group for ranks, group in made if self.rank in ranks)

    def train(self, pieces):
        if self.row is None or self.count == 1:
            losses = [loss_of(self.mine(x), target) for x, target in pieces]
            for loss in losses:
                loss.backward()
            return sum(map(rounded, losses))
        number, device = self.rank % self.count, next(self.mine.parameters()).device
        stage = PipelineStage(self.mine, number, self.count, device, group=self.row)
        schedule = Schedule1F1B(stage, len(pieces), loss_fn=loss_of, scale_grads=False)
        x, target = (torch.stack(each) for each in zip(*pieces))
        losses = []
        if number == 0:
            schedule.step(x)
        elif number == self.count - 1:
            schedule.step(target=target, losses=losses)
        else:
            schedule.step()
        return sum(map(rounded, losses))

    def over_replicas(self, parameters):
        if self.replicas is not None:
            flat = torch.cat([p.grad.reshape(-1) for p in parameters])
            dist.all_reduce(flat, group=self.replicas)
            parts = flat.split([p.numel() for p in parameters])
            for p, part in zip(parameters, parts):
                p.grad = part.reshape(p.shape)

    def tell(self, tensor, source):
        if self.replicas is not None:
            dist.broadcast(tensor, src=source)

    def begin(self, saved):
        return saved + 1


# ----------------------------------------------------------------------------------------- training


class Training:
    """This rank's part of it."""

    def __init__(self, options):
        self.rank, self.size = place()
        self.count = stages_of(self.size)
        self.number, self.replica = self.rank % self.count, self.rank // self.count
        all_layers = layers()
        ends = [len(all_layers) * each // self.count for each in range(self.count + 1)]
        self.shares = [nn.Sequential(*all_layers[a:b]) for a, b in zip(ends, ends[1:])]
        is_ours = torch.__name__ == "minitorch_dist"
        self.device = "cuda" if is_ours and torch.cuda.is_available() else "cpu"
        self.mine = nn.Sequential(Onto(self.device), self.shares[self.number].to(self.device))
        for p in self.mine.parameters():
            p.register_hook(snapped)
        by = ByLessons if is_ours and options.by == "lessons" else ByLibrary
        self.by = by(self.mine, self.size)

    def step(self, number):
        """Returns the loss of the batch, on every rank."""
        x, target = batch(number)
        mine = range(self.replica, BATCH, self.size // self.count)
        self.by.optimizer.zero_grad()
        loss = self.by.train([(x[k], target[k]) for k in mine])
        parameters = [*self.mine.parameters()]
        for p in parameters:
            if p.grad is None:  # more replicas than sequences
                p.grad = torch.zeros_like(p)
        self.by.over_replicas(parameters)
        self.by.optimizer.step()
        return self.told(loss)

    def told(self, loss):
        """The last stages have the losses of their sequences; all ranks learn the sum."""
        seen = []
        for replica in range(self.size // self.count):
            source = (replica + 1) * self.count - 1
            one = torch.tensor([loss if source == self.rank else 0.0], dtype=torch.float64)
            self.by.tell(one, source)
            seen.append(one.item())
        return sum(seen)

    def state(self):
        """Weights and velocities of all stages, one vector for each; every rank gets them."""
        found = []
        for number, share in enumerate(self.shares):
            if number == self.number:
                found.append(self.vector())
            else:
                numbers = 2 * sum(p.numel() for p in share.parameters())
                found.append(torch.zeros(numbers, dtype=torch.float64))
            self.by.tell(found[-1], number)
        return found

    def vector(self):
        parameters, kept = [*self.mine.parameters()], self.by.optimizer.state
        speeds = [kept[p].get("momentum_buffer", torch.zeros_like(p)) for p in parameters]
        whole = [one.detach().reshape(-1).cpu() for one in [*parameters, *speeds]]
        return torch.cat(whole)

    def restore(self, found):
        parameters = [*self.mine.parameters()]
        numbers, at = found[self.number].to(self.device), 0
        with torch.no_grad():
            for p in parameters:
                p.copy_(numbers[at : at + p.numel()].reshape(p.shape))
                at += p.numel()
        for p in parameters:
            speed = numbers[at : at + p.numel()].reshape(p.shape).clone()
            self.by.optimizer.state[p]["momentum_buffer"] = speed
            at += p.numel()

    def save(self, path, step):
        found = self.state()
        if self.rank == 0:
            beside = path.with_suffix(".new")
            torch.save({"step": step, "stages": found}, beside)
            beside.replace(path)  # whole, or not at all

    def resume(self, path):
        """At which step to begin: after that of the checkpoint, if there is any."""
        if path is None or not path.exists():
            return self.by.begin(-1)
        saved = torch.load(path)
        self.restore(saved["stages"])
        return self.by.begin(saved["step"])


def main(arguments=None):
    """Train, alone or as one rank of many. Returns the loss after each step, and the weights after the last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--by", choices=("lessons", "library"), default="lessons")
    parser.add_argument("--every", type=int, default=4, help="steps between two checkpoints")
    parser.add_argument("--checkpoint", type=Path, help="a file to save to, and to go on from")
    options = parser.parse_args(arguments)
    is_mine = not dist.is_initialized() and "RANK" in os.environ
    if is_mine:
        dist.init_process_group("gloo")
    training, losses = Training(options), []
    for step in range(training.resume(options.checkpoint), options.steps):
        losses.append(training.step(step))
        if training.rank == 0:
            print(f"step {step + 1}  loss {losses[-1]:.4f}")
        if options.checkpoint and (step + 1) % options.every == 0:
            training.save(options.checkpoint, step)
    weights = []
    for vector in training.state():
        weights += vector[: len(vector) // 2].tolist()
    if is_mine:
        dist.destroy_process_group()
    return losses, [weights]


if __name__ == "__main__":
    main()
