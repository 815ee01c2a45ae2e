"""A recurrent network of which one worker keeps the large tables and the other the recurrence.

    python programs/rnn_over_workers.py        --rank 0 | --rank 1 in two terminals; also --sim

    trainer                     ps
      tokens          ──►         EmbeddingTable (tokens × ninp)
      LSTM            ◄──         …
                      ──►         Decoder        (nhid × tokens)
      loss            ◄──         …

Tables of words are the largest part of such a model, and a batch uses only few rows. So a message is as large as the
batch, not as the table. Each part lives where it was made; `dist_autograd` finds its way over two calls there
and two back, and `DistributedOptimizer` steps each part at its owner.

Corrected: the usual form trains on random tokens, whose loss cannot fall much below log(tokens). Here sentences
follow a rule (the next token is a fixed permutation of this one), so it goes to zero. The hidden state
is taken out of the graph between batches: a graph of an earlier context cannot be used again.
"""

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed.autograd as dist_autograd
import minitorch_dist.distributed.rpc as rpc
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
import minitorch_dist.optim as optim
from minitorch_dist.distributed.optim import DistributedOptimizer
from minitorch_dist.distributed.rpc import RRef
from seam import alike, count, flags, start


def _parameter_rrefs(module):
    return [RRef(parameter) for parameter in module.parameters()]


class EmbeddingTable(nn.Module):
    def __init__(self, ntoken, ninp):
        super().__init__()
        self.encoder = alike(nn.Embedding(ntoken, ninp), seed=1)

    def forward(self, tokens):
        return self.encoder(tokens)


class Decoder(nn.Module):
    def __init__(self, ntoken, nhid):
        super().__init__()
        self.decoder = alike(nn.Linear(nhid, ntoken), seed=2)

    def forward(self, output):
        return self.decoder(output)


class RNNModel(nn.Module):
    def __init__(self, ps, ntoken, ninp, nhid, nlayers):
        super().__init__()
        self.emb_table_rref = rpc.remote(ps, EmbeddingTable, args=(ntoken, ninp))
        self.rnn = alike(nn.LSTM(ninp, nhid, nlayers), seed=3)
        with torch.no_grad():
            for name, parameter in self.rnn.named_parameters():
                if "bias" in name:
                    parameter.zero_()
        self.decoder_rref = rpc.remote(ps, Decoder, args=(ntoken, nhid))

    def forward(self, tokens, hidden):
        emb = self.emb_table_rref.rpc_sync().forward(tokens)
        output, hidden = self.rnn(emb, hidden)
        return self.decoder_rref.rpc_sync().forward(output), hidden

    def parameter_rrefs(self):
        remote = [self.emb_table_rref, self.decoder_rref]
        found = [r for rref in remote for r in rpc.rpc_sync(rref.owner(), _there, args=(rref,))]
        return found + _parameter_rrefs(self.rnn)


def _there(rref):
    return _parameter_rrefs(rref.local_value())


def sentences(ntoken, length, batch, seed):
    """(length + 1, batch) tokens; each follows from the one before."""
    draw = np.random.default_rng(seed)
    following = np.random.default_rng(0).permutation(ntoken)
    rows = [draw.integers(0, ntoken, batch)]
    for _ in range(length):
        rows.append(following[rows[-1]])
    return torch.from_numpy(np.stack(rows).astype(np.int64))


def run_trainer(options):
    model = RNNModel("ps", options.ntoken, options.ninp, options.nhid, options.nlayers)
    opt = DistributedOptimizer(optim.SGD, model.parameter_rrefs(), lr=options.lr)
    hidden = [torch.zeros(options.nlayers, options.batch_size, options.nhid) for _ in range(2)]
    losses = []
    for step in range(options.steps):
        tokens = sentences(options.ntoken, options.length, options.batch_size, step)
        with dist_autograd.context() as context_id:
            hidden = tuple(state.detach() for state in hidden)
            output, hidden = model(tokens[:-1], hidden)
            loss = F.cross_entropy(output.reshape(-1, options.ntoken), tokens[1:].reshape(-1))
            dist_autograd.backward(context_id, [loss])
            opt.step(context_id)
        losses.append(loss.item())
        if step % max(1, options.steps // 10) == 0:
            print(f"step {step} loss {losses[-1]:.6f}")
    return losses


def run(rank, world_size, options):
    rpc.init_rpc("ps" if rank else "trainer", rank=rank, world_size=world_size)
    losses = run_trainer(options) if rank == 0 else None
    rpc.shutdown()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    words = "this program has two workers, a trainer and a ps: --world_size 2"
    made.demand(lambda options: options.world_size == 2, words)
    add = made.add_argument
    add("--ntoken", type=count, default=10)
    add("--ninp", type=count, default=8)
    add("--nhid", type=count, default=16)
    add("--nlayers", type=count, default=2)
    add("--length", type=count, default=12, help="tokens of a sentence")
    add("--batch_size", type=count, default=8)
    add("--steps", type=count, default=100)
    add("--lr", type=float, default=2.0)
    return made


if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
