"""An LSTM learns a poem word by word: it reads some words and says the next one.

    python programs/word_lstm.py                            two processes, one command
    mtdrun --nproc-per-node 2 programs/word_lstm.py         torchrun; it says who is who
    python programs/word_lstm.py --sim                      in virtual time

Every rank reads other places of the poem, and DDP averages the gradients. The norm of the gradient is bounded, as is usual
for recurrent nets. The poem is from Lewis Carroll, Through the Looking-Glass (1871).
"""

import re

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from seam import alike, count, curve, flags, start

POEM = """
'Twas brillig, and the slithy toves
Did gyre and gimble in the wabe:
All mimsy were the borogoves,
And the mome raths outgrabe.

Beware the Jabberwock, my son!
The jaws that bite, the claws that catch!
Beware the Jubjub bird, and shun
The frumious Bandersnatch!

He took his vorpal sword in hand:
Long time the manxome foe he sought,
So rested he by the Tumtum tree,
And stood awhile in thought.
"""
WORDS = re.findall(r"[A-Za-z']+|[,.:!]", POEM.lower())
KNOWN = sorted(set(WORDS))
TEXT = np.array([KNOWN.index(word) for word in WORDS])


class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(len(KNOWN), width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, len(KNOWN))

    def forward(self, words, state=None):
        out, state = self.lstm(self.embedding(words), state)
        return self.head(out), state


def batch(draw, rows, length):
    """Pieces of the poem, and the words that follow."""
    starts = draw.integers(0, len(TEXT) - length, rows)
    pieces = torch.from_numpy(np.stack([TEXT[s : s + length + 1] for s in starts]))
    return pieces[:, :-1], pieces[:, 1:]


def recited(model, begin, words):
    """The model's words after `begin`; each one is its next input, and the state remembers the others."""
    said = begin.split()
    with torch.no_grad():
        scores, state = model(torch.tensor([[KNOWN.index(word) for word in said]]))
        for _ in range(words):
            word = int(scores[0, -1].argmax())
            said.append(KNOWN[word])
            scores, state = model(torch.tensor([[word]]), state)
    return " ".join(said)


def train(rank, world_size, options):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    model = alike(Reader(options.width))
    ddp_model = DDP(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    draw = np.random.default_rng(rank)
    losses = []
    for _ in range(options.steps):
        words, following = batch(draw, options.rows, options.length)
        scores, _ = ddp_model(words)
        loss = F.cross_entropy(scores.flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean = loss.detach() / world_size
        dist.all_reduce(mean)
        losses.append(mean.item())
    if rank == 0:
        print(*curve(losses, "the loss"), sep="\n")
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; it goes on after 'beware the':")
        print(recited(model, "beware the", options.words))
    dist.destroy_process_group()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    for name, default in (("steps", 150), ("rows", 8), ("length", 12), ("width", 48)):
        made.add_argument(f"--{name}", type=count, default=default)
    made.add_argument("--words", type=count, default=14, help="how many it says at the end")
    made.add_argument("--lr", type=float, default=1e-2)
    return made


run = train

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
