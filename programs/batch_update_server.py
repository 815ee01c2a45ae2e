"""A server that waits for a gradient of each trainer and answers all at once: batched updates.

    python programs/batch_update_server.py     --world_size, --rank …; also --sim

    trainer_1 ── gradients ──┐                    ┌── new parameters ──►
    trainer_2 ── gradients ──┼─ add, average, step ┼── new parameters ──►
    trainer_3 ── gradients ──┘   (once per batch)   └── new parameters ──►

The first trainers' calls are answered when the last one has come. A function that waited would hold a thread for each
of them, and with fewer threads than trainers the last could not be served at all. `async_execution` lets the function return
a Future instead, and its thread is free. `--threads 1` shows that one thread is enough.

Corrected, against the usual form of this program: gradients are averaged over those that came; the answer is the
parameters, not a pickled model; all trainers begin with the server's parameters.
"""

import threading

import minitorch_dist as torch
import minitorch_dist.distributed.rpc as rpc
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
import minitorch_dist.optim as optim
from minitorch_dist.futures import Future, wait_all
from seam import alike, count, digits, flags, start


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))


class BatchUpdateParameterServer:
    def __init__(self, batch_update_size, lr):
        self.model = alike(network())
        self.optimizer = optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.lock, self.future, self.come = threading.Lock(), Future(), 0
        self.batch_update_size, self.updates = batch_update_size, 0

    def get_parameters(self):
        return [parameter.detach().clone() for parameter in self.model.parameters()]

    @staticmethod
    @rpc.functions.async_execution
    def update_and_fetch(ps_rref, gradients):
        """Give gradients; get the parameters that all gradients of this batch have made."""
        self = ps_rref.local_value()
        with self.lock:
            mine, complete = self.future, False
            for parameter, gradient in zip(self.model.parameters(), gradients, strict=True):
                share = gradient / self.batch_update_size
                parameter.grad = share if parameter.grad is None else parameter.grad + share
            self.come += 1
            if self.come == self.batch_update_size:
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.come, self.future, complete = 0, Future(), True
                self.updates += 1
                answer = self.get_parameters()
        if complete:
            mine.set_result(answer)
        return mine


def train(trainer, trainers, ps_rref, options):
    model, losses = network(), []
    new = ps_rref.rpc_sync().get_parameters()
    images, labels = digits(options.steps * options.batch_size * trainers)
    images, labels = images[trainer::trainers], labels[trainer::trainers]
    for step in range(options.steps):
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), new, strict=True):
                parameter.copy_(value)
        some = slice(step * options.batch_size, (step + 1) * options.batch_size)
        model.zero_grad()
        loss = F.cross_entropy(model(torch.from_numpy(images[some])), torch.from_numpy(labels[some]))
        loss.backward()
        losses.append(loss.item())
        new = rpc.rpc_sync(
            ps_rref.owner(),
            BatchUpdateParameterServer.update_and_fetch,
            args=(ps_rref, [parameter.grad for parameter in model.parameters()]),
        )
    return losses


def run_ps(trainers, options):
    ps_rref = rpc.RRef(BatchUpdateParameterServer(trainers, options.lr))
    results = wait_all(
        [
            rpc.rpc_async(f"trainer_{t + 1}", train, args=(t, trainers, ps_rref, options), timeout=0)
            for t in range(trainers)
        ]
    )
    losses = [sum(step) / trainers for step in zip(*results, strict=True)]
    for step in range(0, options.steps, max(1, options.steps // 10)):
        print(f"update {step} loss {losses[step]:.6f}")
    print(f"{ps_rref.local_value().updates} updates with {trainers} gradients each")
    return losses


def run(rank, world_size, options):
    rpc.init_rpc(
        f"trainer_{rank}" if rank else "ps",
        rank=rank,
        world_size=world_size,
        rpc_backend_options=rpc.TensorPipeRpcBackendOptions(num_worker_threads=options.threads),
    )
    losses = run_ps(world_size - 1, options) if rank == 0 else None
    rpc.shutdown()
    return losses


def parser():
    made = flags(__doc__, world_size=4)
    words = "--world_size counts the server and its trainers: at least 2"
    made.demand(lambda options: options.world_size >= 2, words)
    add = made.add_argument
    add("--threads", type=count, default=16, help="num_worker_threads of each worker")
    add("--steps", type=count, default=40)
    add("--batch_size", type=count, default=32)
    add("--lr", type=float, default=0.05)
    return made


if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
