"""A small Llama over four dimensions of ranks: pipeline, data, context and tensor.

    python programs/llama_4d.py --sim                        16 ranks in virtual time
    python programs/llama_4d.py --world_size 4 --pipeline 1  four processes, one command
    mtdrun --nproc-per-node 8 programs/llama_4d.py           torchrun; it says who is who

    pipeline   a rank has some of the layers         sends what leaves its last layer to the next rank
    data       … some of the rows of a batch         averages gradients with the others
    context    … some of the letters of a row        gathers the keys and values of all letters
    tensor     … some heads, some columns            adds up what the others computed

The tensor dimension is innermost, because it sends most. Its ranks would share a machine. --world_size is the
product of the four, so data is what the other three leave. Every choice takes the same steps as one rank.

Context parallelism gathers all keys and values, as Llama 3 did (Dubey et al. 2024, arXiv:2407.21783). It is a line, and
its backward is a line. A ring of ranks that hand them on (Liu et al. 2023, arXiv:2310.01889) never holds all of them.
But it has to put the softmax together from parts. Keys and values of one layer are small beside the scores, which are cut.
"""

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.pipelining import PipelineStage, Schedule1F1B
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from seam import alike, count, curve, flags, start
from small_gpt import LETTERS, batch, turned, turns


def gather(own, dimension, group):
    """The parts of all ranks of a group, next to each other."""
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, own, group=group)
    return torch.cat(parts, dimension)


class Gathered(torch.autograd.Function):
    """The keys or values of all letters, from a rank's own."""

    @staticmethod
    def forward(ctx, own, group):
        ctx.group, ctx.length = group, own.shape[2]
        return gather(own.contiguous(), 2, group)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad, group=ctx.group)  # all ranks used our part
        return grad.narrow(2, dist.get_rank(ctx.group) * ctx.length, ctx.length), None


class Attention(nn.Module):
    """The heads of this rank, for the letters of this rank."""

    def __init__(self, width, heads, length, context):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.context, self.size = context, width // heads
        share = length // dist.get_world_size(context)
        first = dist.get_rank(context) * share
        self.by = turns(length, self.size)[first : first + share]
        self.sees = torch.arange(length) <= torch.arange(first, first + share)[:, None]

    def forward(self, x):
        rows, length, _ = x.shape
        q, k, v = (
            linear(x).reshape(rows, length, -1, self.size).transpose(1, 2) for linear in (self.q, self.k, self.v)
        )
        q, k = turned(q, self.by), turned(k, self.by)
        k, v = (Gathered.apply(one, self.context) for one in (k, v))
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=self.sees)
        return self.o(seen.transpose(1, 2).reshape(rows, length, -1))


class Block(nn.Module):
    def __init__(self, width, *how):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width, *how)
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


TENSOR_PLAN = {
    **{f"attention.{name}": ColwiseParallel() for name in "qkv"},
    "attention.o": RowwiseParallel(),
    "gate": ColwiseParallel(),
    "up": ColwiseParallel(),
    "down": RowwiseParallel(),
}


def stage_of(mesh, options):
    """The layers of this rank's stage, and of their weights its share."""
    context = mesh.get_group("context")
    layers = [Block(options.width, options.heads, options.length, context) for _ in range(options.layers)]
    whole = alike(
        nn.Sequential(
            nn.Embedding(len(LETTERS), options.width),
            *layers,
            nn.RMSNorm(options.width),
            nn.Linear(options.width, len(LETTERS), bias=False),
        )
    )
    stage, stages = mesh.get_local_rank("pipeline"), options.pipeline
    first, last = (1 + options.layers * end // stages for end in (stage, stage + 1))
    for block in whole[first:last]:
        parallelize_module(block, mesh["tensor"], TENSOR_PLAN)
    return whole[0 if stage == 0 else first : len(whole) if stage == stages - 1 else last]


def loss_of(scores, following):
    return F.cross_entropy(scores.flatten(0, 1), following.flatten())


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


@torch.no_grad()
def average(parameters, mesh):
    """Each rank has gradients of its rows and letters; make them those of all."""
    for parameter in parameters:
        for dimension in ("data", "context"):
            dist.all_reduce(local(parameter.grad), group=mesh.get_group(dimension))
        local(parameter.grad).div_(mesh["data"].size() * mesh["context"].size())


def train(rank, world_size, options):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    data = world_size // (options.pipeline * options.context * options.tensor)
    mesh = init_device_mesh(
        "cpu",
        (options.pipeline, data, options.context, options.tensor),
        mesh_dim_names=("pipeline", "data", "context", "tensor"),
    )
    here = mesh.get_coordinate()
    assert here is not None
    stage, row, column, head = here
    is_last = stage == options.pipeline - 1
    part = stage_of(mesh, options)
    pipe = PipelineStage(part, stage, options.pipeline, torch.device("cpu"), group=mesh.get_group("pipeline"))
    schedule = Schedule1F1B(pipe, options.microbatches, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(part.parameters(), lr=options.lr)
    draw, losses = np.random.default_rng(0), []
    share = options.length // options.context
    own = slice(column * share, (column + 1) * share)
    for _ in range(options.steps):
        letters, following = batch(draw, options.rows, options.length)
        letters, following = (one[row::data, own].contiguous() for one in (letters, following))
        seen = []
        said = schedule.step(
            *((letters,) if stage == 0 else ()), **({"target": following, "losses": seen} if is_last else {})
        )
        average(part.parameters(), mesh)
        optimizer.step()
        optimizer.zero_grad()
        # The ranks of the tensor dimension have one loss, those of data and context each their part.
        mean = torch.stack(seen).mean().detach() if is_last else torch.zeros(())
        dist.all_reduce(mean)
        losses.append(mean.item() * options.pipeline / world_size)
    kept = torch.zeros(world_size)
    kept[rank] = sum(local(parameter).numel() for parameter in part.parameters())
    dist.all_reduce(kept)
    if is_last and row == head == 0:
        context = mesh.get_group("context")
        lines = [gather(one[0].contiguous(), 0, context) for one in (following, said.argmax(-1))]
        if column == 0:
            print(*curve(losses, "the loss"), sep="\n")
            print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; letters, and what it took for them:")
            print(*(repr("".join(LETTERS[n] for n in line.tolist())) for line in lines), sep="\n")
            print(f"{mesh.shape} ranks; one keeps {int(kept.min())} to {int(kept.max())} parameters")
    dist.destroy_process_group()
    return losses


def parser():
    made = flags(__doc__, world_size=16)
    add = made.add_argument
    for name in ("pipeline", "context", "tensor"):
        add(f"--{name}", type=count, default=2, help=f"ranks of the {name} dimension (%(default)s)")
    for name, default in (("steps", 100), ("rows", 16), ("length", 32), ("microbatches", 4)):
        add(f"--{name}", type=count, default=default)
    for name, default in (("width", 32), ("heads", 4), ("layers", 2)):
        add(f"--{name}", type=count, default=default)
    add("--lr", type=float, default=5e-3)
    made.demand(
        lambda o: o.world_size % (o.pipeline * o.context * o.tensor) == 0,
        "--world_size must be a multiple of --pipeline times --context times --tensor",
    )
    made.demand(
        lambda o: o.rows * o.pipeline * o.context * o.tensor % (o.world_size * o.microbatches) == 0,
        "--rows must be a multiple of --microbatches times the ranks of the data dimension",
    )
    made.demand(
        lambda o: o.layers >= o.pipeline and o.microbatches >= o.pipeline,
        "--layers and --microbatches must be at least --pipeline",
    )
    made.demand(
        lambda o: o.length % o.context == 0 and o.heads % o.tensor == 0,
        "--length must be a multiple of --context, and --heads of --tensor",
    )
    made.demand(
        lambda o: o.width % (2 * o.heads) == 0,
        "--width must be a multiple of twice --heads: a head turns pairs of numbers",
    )
    return made


run = train

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
