"""Servers keep the values, workers compute: the parameter server that seed 002's discussion asks for.

    master (rank 0)      servers (ranks 1 … S)            workers (the others)
    spreads the keys     key → value, one SGD step   ◄──  push gradients
    starts the workers   for each push               ──►  pull values, forward and backward

    python programs/push_pull_server.py --mode sync
    python programs/push_pull_server.py --mode async --straggler 0.05
    python programs/push_pull_server.py --mode bounded --staleness 2 --straggler 0.05 --sim
    python programs/push_pull_server.py --rank 0 … --rank 4                  a terminal for each

One rule makes all three. A worker that has pushed c times may pull when every worker has pushed at least c - s times:

    s = 0         sync: a step's gradients are added when all are there, so all workers see the same values, and it is
                  SGD with the workers' batches put together
    s = 1, 2 …    bounded: a worker is ahead of the slowest by at most s steps (Ho et al., NIPS 2013)
    s = ∞         async: nobody waits; gradients are as old as the slowest worker is slow

As in Li et al., "Scaling Distributed Machine Learning with the Parameter Server" (OSDI 2014), the keys are spread over
several servers; the largest first, each to the server that has least. A pull that has to wait costs no thread: the
server answers with a Future (`async_execution`). In seed 002 it is the server that computes (rpc_parameter_server.py);
here it only adds, and W workers compute at once.
"""

import math
import threading
import time

import minitorch_dist as torch
import minitorch_dist.distributed.rpc as rpc
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
from minitorch_dist.futures import Future, wait_all
from seam import alike, compute, count, digits, flags, start


class Server:
    """Some keys, their values, and how often each worker has pushed."""

    def __init__(self, values, workers, staleness, lr):
        self.values, self.lr = values, lr
        self.pushed, self.staleness = [0] * workers, staleness
        self.held = {}  # sync: what was pushed in this step, by worker
        self.waiting, self.lock = [], threading.Lock()

    def push(self, worker, gradients):
        with self.lock:
            self.pushed[worker] += 1
            self.held[worker] = gradients
            if self.staleness or len(self.held) == len(self.pushed):
                for _, held in sorted(self.held.items()):  # in one order, so that sums are equal
                    self._step(held)
                self.held = {}
            free = [entry for entry in self.waiting if self._may(entry[0])]
            self.waiting = [entry for entry in self.waiting if not self._may(entry[0])]
            answer = self._answer() if free else None
        for _, future in free:
            future.set_result(answer)

    @rpc.functions.async_execution
    def pull(self, worker):
        future = Future()
        with self.lock:
            now = self._may(worker)
            answer = self._answer() if now else None
            if not now:
                self.waiting.append((worker, future))
        if now:
            future.set_result(answer)
        return future

    def _step(self, gradients):
        for key, gradient in gradients.items():
            self.values[key] -= self.lr / len(self.pushed) * gradient

    def _may(self, worker):
        return min(self.pushed) >= self.pushed[worker] - self.staleness

    def _answer(self):
        """The values, and how far the fastest worker is ahead of the slowest."""
        values = {key: value.clone() for key, value in self.values.items()}
        return values, max(self.pushed) - min(self.pushed)


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))


def spread(values, servers):
    """Keys to servers: the largest first, to the one that has least."""
    shares = [{} for _ in range(servers)]
    for key, value in sorted(values.items(), key=lambda item: -item[1].numel()):
        least = min(shares, key=lambda share: sum(v.numel() for v in share.values()))
        least[key] = value
    return shares


def train(worker, servers, keys, options):
    """On a worker. `keys` are those of each server, in the servers' order."""
    model = network()
    parameters = dict(model.named_parameters())
    workers = options.world_size - 1 - options.servers
    images, labels = digits(options.steps * options.batch_size * workers)
    images, labels = images[worker::workers], labels[worker::workers]
    losses, ahead, waited, begun = [], 0, 0.0, time.time()
    for step in range(options.steps):
        asked = time.time()
        answers = wait_all([server.rpc_async(timeout=0).pull(worker) for server in servers])
        waited += time.time() - asked
        with torch.no_grad():
            for values, lead in answers:
                ahead = max(ahead, lead)
                for key, value in values.items():
                    parameters[key].copy_(value)
        some = slice(step * options.batch_size, (step + 1) * options.batch_size)
        model.zero_grad()
        loss = F.cross_entropy(model(torch.from_numpy(images[some])), torch.from_numpy(labels[some]))
        loss.backward()
        compute(0.010)
        if worker == 0 and options.straggler:
            time.sleep(options.straggler)
        losses.append(loss.item())
        pushes = [
            server.rpc_async().push(worker, {key: parameters[key].grad for key in share})
            for server, share in zip(servers, keys, strict=True)
        ]
        wait_all(pushes)
    return losses, time.time() - begun, waited, ahead


def run_master(world_size, options):
    workers = world_size - 1 - options.servers
    staleness = {"sync": 0, "async": math.inf}.get(options.mode, options.staleness)
    values = {key: p.detach().clone() for key, p in alike(network()).named_parameters()}
    shares = spread(values, options.servers)
    servers = [
        rpc.remote(f"server_{k}", Server, args=(share, workers, staleness, options.lr))
        for k, share in enumerate(shares)
    ]
    for k, share in enumerate(shares):
        print(f"server_{k} keeps {', '.join(share)}")
    begun = time.time()
    results = wait_all(
        [
            rpc.rpc_async(f"worker_{w}", train, args=(w, servers, [list(s) for s in shares], options), timeout=0)
            for w in range(workers)
        ]
    )
    print(f"{options.mode}: {time.time() - begun:.2f} s")
    print("worker   first loss   last loss   done after   waited   lead seen")
    for w, (losses, took, waited, ahead) in enumerate(results):
        print(f"{w:6}   {losses[0]:10.6f}   {losses[-1]:9.6f}   {took:8.2f} s   {waited:4.2f} s   {ahead:9}")
    return results


def run(rank, world_size, options):
    role = f"server_{rank - 1}" if rank <= options.servers else f"worker_{rank - 1 - options.servers}"
    rpc.init_rpc(role if rank else "master", rank=rank, world_size=world_size)
    results = run_master(world_size, options) if rank == 0 else None
    rpc.shutdown()
    return results


def parser():
    made = flags(__doc__, world_size=6)
    words = "--world_size counts a master, the --servers, and at least one worker"
    made.demand(lambda options: options.servers <= options.world_size - 2, words)
    add = made.add_argument
    add("--servers", type=count, default=2)
    add("--mode", choices=("sync", "async", "bounded"), default="sync")
    add("--staleness", type=int, default=2, help="steps ahead of the slowest, with --mode bounded")
    add("--straggler", type=float, default=0.0, help="seconds that worker 0 is slower in each step")
    add("--steps", type=count, default=40)
    add("--batch_size", type=count, default=32)
    add("--lr", type=float, default=0.1)
    return made


if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
