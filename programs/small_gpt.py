"""A small GPT learns a text letter by letter; positions are turns of complex numbers, as in Llama.

    python programs/small_gpt.py                            two processes, one command
    mtdrun --nproc-per-node 2 programs/small_gpt.py         torchrun; it says who is who
    python programs/small_gpt.py --sim                      in virtual time

Pairs of numbers of a query and of a key are read as complex numbers. They are turned by an angle that grows with
the position (RoPE, Su et al. 2021, arXiv:2104.09864). So their product depends on the distance only.
Every rank reads other pieces of the text, and DDP averages the gradients. The text is Shakespeare's 18th sonnet.
"""

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from seam import alike, count, curve, flags, start

SONNET = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date:
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade
Nor lose possession of that fair thou owest;
Nor shall Death brag thou wander'st in his shade,
When in eternal lines to time thou growest:
So long as men can breathe or eyes can see,
So long lives this and this gives life to thee.
"""
LETTERS = sorted(set(SONNET))
TEXT = np.array([LETTERS.index(letter) for letter in SONNET])


def turns(length, size):
    """For each position, the complex numbers of magnitude 1 that its pairs are multiplied with."""
    speeds = 1.0 / 10000.0 ** (torch.arange(0, size, 2).float() / size)
    angles = torch.outer(torch.arange(length).float(), speeds)
    return torch.polar(torch.ones_like(angles), angles)


def turned(x, by):
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * by[: x.shape[-2]]).flatten(-2)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, by):
        rows, length, width = x.shape
        parts = self.qkv(self.norm1(x)).reshape(rows, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        q, k = turned(q, by), turned(k, by)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, width, heads, layers, length):
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(LETTERS), bias=False)
        self.by = turns(length, width // heads)

    def forward(self, letters):
        x = self.embedding(letters)
        for block in self.blocks:
            x = block(x, self.by)
        return self.head(self.norm(x))


def batch(draw, rows, length):
    """Pieces of the text, and the letters that follow."""
    starts = draw.integers(0, len(TEXT) - length, rows)
    pieces = torch.from_numpy(np.stack([TEXT[s : s + length + 1] for s in starts]))
    return pieces[:, :-1], pieces[:, 1:]


def told(model, begin, letters, length):
    """The text that the model says after `begin`, always the likeliest letter."""
    text = [LETTERS.index(letter) for letter in begin]
    with torch.no_grad():
        for _ in range(letters):
            scores = model(torch.tensor([text[-length:]]))
            text.append(int(scores[0, -1].argmax()))
    return "".join(LETTERS[number] for number in text)


def train(rank, world_size, options):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    model = alike(GPT(options.width, 4, options.layers, options.length))
    ddp_model = DDP(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
    draw = np.random.default_rng(rank)
    losses = []
    for _ in range(options.steps):
        letters, following = batch(draw, options.rows, options.length)
        loss = F.cross_entropy(ddp_model(letters).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach() / world_size
        dist.all_reduce(mean)
        losses.append(mean.item())
    if rank == 0:
        print(*curve(losses, "the loss"), sep="\n")
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; it goes on after 'Shall':")
        print(told(model, "Shall", options.letters, options.length))
    dist.destroy_process_group()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    for name, default in (("steps", 200), ("rows", 8), ("length", 32), ("width", 32)):
        made.add_argument(f"--{name}", type=count, default=default)
    made.add_argument("--layers", type=count, default=2)
    made.add_argument("--letters", type=count, default=60, help="how many it writes at the end")
    made.add_argument("--lr", type=float, default=3e-3)
    return made


run = train

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
