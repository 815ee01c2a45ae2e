"""ResNet50 in two halves on two workers, and batches cut into micro-batches that flow through both: seed 001.

    python programs/pipeline_resnet50.py --small                 seconds: 16 pictures of 64×64
    python programs/pipeline_resnet50.py                         the seed's 3 batches of 120 pictures, 128×128
    python programs/pipeline_resnet50.py --rank 0 … --rank 2     master, worker1, worker2: a terminal for each
    python programs/pipeline_resnet50.py --small --sim           virtual time: each half takes 1 ms per picture

    worker1   0 1 2 3 . . d c b a      forward in digits, backward in letters, idle as dots
    worker2   . 0 1 2 3 d c b a .

The first half works on micro-batch 1 while the second works on 0. Fewer, larger pieces leave a worker idle
for longer (the bubble); smaller ones cost more calls, and BatchNorm sees fewer pictures at once.

Corrected against the seed:
* `xs.split(num_split)` takes a *size*: num_split=1 made 120 micro-batches and 8 made 15 (T5). Here it is their number.
* `rpc` and `RRef` are imported (T6); `rpc_timeout` is 300 s, since one half of a large batch may take more than the
  default minute (T7).
* Devices are used where there are any (T8).
* Time is counted from the first batch to the last; the seed counted starting three processes, too.
* The lock of a shard is one that may be held in virtual time.
"""

import math
import time

import minitorch_dist as torch
import minitorch_dist.distributed.autograd as dist_autograd
import minitorch_dist.distributed.rpc as rpc
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.optim as optim
from minitorch_dist.distributed.optim import DistributedOptimizer
from minitorch_dist.distributed.rpc import RRef
from minitorch_dist.futures import wait_all
from seam import alike, compute, count, flags, lock, noise, start

num_classes = 1000
PER_PICTURE = 0.001  # seconds of a half's forward in virtual time; backward takes twice as long


class Bottleneck(nn.Module):
    """1×1 to `planes`, 3×3, 1×1 to four times as many; added to what came in."""

    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        wide = planes * self.expansion
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, wide, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(wide)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNetBase(nn.Module):
    """The base of both halves: layers of blocks, one micro-batch at a time, and notes of when."""

    def __init__(self, device, inplanes):
        super().__init__()
        self._lock = lock()
        self.device = device if torch.cuda.is_available() else "cpu"
        self.inplanes = inplanes
        self.spans = []

    def _make_layer(self, planes, blocks, stride=1):
        wide = planes * Bottleneck.expansion
        downsample = None
        if stride != 1 or self.inplanes != wide:
            shorter = nn.Conv2d(self.inplanes, wide, 1, stride=stride, bias=False)
            downsample = nn.Sequential(shorter, nn.BatchNorm2d(wide))
        layers = [Bottleneck(self.inplanes, planes, stride, downsample)]
        self.inplanes = wide
        layers += [Bottleneck(wide, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x_rref, number):
        x = x_rref.to_here().to(self.device)
        with self._lock:
            begun = time.time()
            first, out = self.work(x)
            compute(PER_PICTURE * len(x))
            self.spans.append([number, begun, time.time()])
        if out.requires_grad:
            self._note_backward(number, len(x), first, out)
        return out.cpu()

    def _note_backward(self, number, pictures, first, out):
        """Backward begins when the gradient of `out` is there, and is nearly over when that of
        `first` is."""
        span = [-1 - number, 0.0, 0.0]

        def begins(grad):
            span[1] = time.time()
            compute(2 * PER_PICTURE * pictures)

        def ends(grad):
            span[2] = time.time()
            self.spans.append(span)

        out.register_hook(begins)
        first.register_hook(ends)

    def parameter_rrefs(self):
        return [RRef(p) for p in self.parameters()]

    def take_spans(self):
        spans, self.spans = self.spans, []
        return spans


class ResNetShard1(ResNetBase):
    def __init__(self, device, dtype):
        super().__init__(device, 64)
        self.stem = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.seq = nn.Sequential(
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
            self._make_layer(64, 3),
            self._make_layer(128, 4, stride=2),
        )
        alike(self, seed=1).to(self.device, dtype)

    def work(self, x):
        first = self.stem(x)
        return first, self.seq(first)


class ResNetShard2(ResNetBase):
    def __init__(self, device, dtype):
        super().__init__(device, 512)
        self.seq = nn.Sequential(
            self._make_layer(256, 6, stride=2), self._make_layer(512, 3, stride=2), nn.AdaptiveAvgPool2d((1, 1))
        )
        self.fc = nn.Linear(512 * Bottleneck.expansion, num_classes)
        alike(self, seed=2).to(self.device, dtype)

    def work(self, x):
        return x, self.fc(torch.flatten(self.seq(x), 1))


class DistResNet50(nn.Module):
    def __init__(self, num_split, workers, dtype):
        super().__init__()
        self.num_split = num_split
        self.p1_rref = rpc.remote(workers[0], ResNetShard1, args=("cuda:0", dtype))
        self.p2_rref = rpc.remote(workers[1], ResNetShard2, args=("cuda:1", dtype))

    def forward(self, xs):
        size = math.ceil(len(xs) / self.num_split)
        out_futures = []
        for number, x in enumerate(xs.split(size, dim=0)):
            x_rref = RRef(x)
            y_rref = self.p1_rref.remote().forward(x_rref, number)
            out_futures.append(self.p2_rref.rpc_async().forward(y_rref, number))
        return torch.cat(wait_all(out_futures))

    def parameter_rrefs(self):
        remote = [self.p1_rref, self.p2_rref]
        return [p for rref in remote for p in rref.rpc_sync().parameter_rrefs()]

    def spans(self):
        return [rref.rpc_sync().take_spans() for rref in (self.p1_rref, self.p2_rref)]


def run_master(num_split, options):
    dtype = torch.float64 if options.double else torch.float32
    model = DistResNet50(num_split, ["worker1", "worker2"], dtype)
    loss_fn = nn.MSELoss()
    opt = DistributedOptimizer(optim.SGD, model.parameter_rrefs(), lr=0.05)
    size, side = options.batch_size, options.image
    labels = torch.zeros(size, num_classes, dtype=dtype)
    labels.scatter_(1, torch.LongTensor([[i * 37 % num_classes] for i in range(size)]), 1)
    losses, begun, spans = [], time.time(), []
    for i in range(options.num_batches):
        inputs = torch.from_numpy(noise(i, size, 3, side, side)).to(dtype)
        with dist_autograd.context() as context_id:
            loss = loss_fn(model(inputs), labels)
            dist_autograd.backward(context_id, [loss])
            opt.step(context_id)
        losses.append(loss.item())
        spans = model.spans()
        print(f"num_split {num_split} batch {i} loss {losses[-1]:.6f}")
    took = time.time() - begun
    picture = drawn(spans)
    print("\n".join(picture))
    return losses, took, idle(spans), picture


def idle(spans):
    """The share of both workers' time, from the first beginning to the last end, in which they
    worked on nothing."""
    every = [span for worker in spans for span in worker]
    whole = max(end for _, _, end in every) - min(begin for _, begin, _ in every)
    busy = sum(covered(worker) for worker in spans)
    return 1 - busy / (len(spans) * whole)


def covered(spans):
    total, until = 0.0, -math.inf
    for _, begin, end in sorted(spans, key=lambda span: span[1]):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def drawn(spans, width=64):
    """A line for each worker: forward 0 1 2 …, backward a b c …, idle as dots."""
    every = [span for worker in spans for span in worker]
    zero, end = min(s[1] for s in every), max(s[2] for s in every)
    lines = []
    for number, worker in enumerate(spans, 1):
        cells = ["·"] * width
        for micro, since, until in worker:
            left = int((since - zero) / (end - zero) * width)
            right = max(left + 1, round((until - zero) / (end - zero) * width))
            sign = "0123456789"[micro % 10] if micro >= 0 else "abcdefghij"[(-1 - micro) % 10]
            cells[left:right] = sign * (min(right, width) - left)
        lines.append(f"worker{number} " + "".join(cells))
    return lines


def run(rank, world_size, options):
    if options.small:
        options.batch_size, options.image, options.num_batches = 16, 64, 2
    rpc.init_rpc(
        f"worker{rank}" if rank else "master",
        rank=rank,
        world_size=world_size,
        rpc_backend_options=rpc.TensorPipeRpcBackendOptions(num_worker_threads=128, rpc_timeout=300),
    )
    rows = []
    if rank == 0:
        rows = [(n, *run_master(n, options)) for n in options.num_split]
        print("number of splits   execution time   idle   last loss")
        for n, losses, took, share, _ in rows:
            print(f"{n:16}   {took:12.3f} s   {share:4.0%}   {losses[-1]:9.6f}")
    rpc.shutdown()
    return rows


def parser():
    made = flags(__doc__, world_size=3)
    words = "this program has a master and two workers: --world_size 3"
    made.demand(lambda options: options.world_size == 3, words)
    add = made.add_argument
    add("--num_split", type=count, nargs="+", default=[1, 2, 4, 8], help="micro-batches of a batch")
    add("--num_batches", type=count, default=3)
    add("--batch_size", type=count, default=120)
    add("--image", type=count, default=128, help="height and width")
    add("--small", action="store_true", help="2 batches of 16 pictures, 64×64")
    add("--double", action="store_true", help="float64; in float32 two runs differ by a percent soon")
    return made


if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
