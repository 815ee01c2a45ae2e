"""A parameter server: one rank keeps the values, the others
compute, and how far they may drift apart is a number.

    worker 0   read ▓▓▓ push  read ▓▓▓ push  read …
    worker 1   read ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓ push         (slow)
    server     values; clocks = [2, 0]: how often each has pushed

A worker that has pushed c times may read when everybody has pushed at least c - s times:

    s = 0       sync: a step is taken when all gradients are there; as one rank with one large batch
    s = 1, 2 …  bounded: who is more than s steps ahead of the slowest waits (Ho et al., NIPS 2013)
    s = inf     async: nobody waits for anybody

With several servers, and as a program: programs/push_pull_server.py.
"""

import math

import minitorch_dist.distributed as dist
from minitorch_dist.distributed import rpc
from minitorch_dist.futures import Future, wait_all


def may_read(clocks, worker, staleness):
    """Whether no worker is further behind this one than allowed."""
    # BLANK 1: the gate (about 1 line)
    return clocks[worker] - min(clocks) <= staleness
    # END


class Server:
    """`step(values, gradients)` changes the values by a list of workers' gradients."""

    def __init__(self, values, step, workers, staleness):
        self.values, self.step, self.staleness = values, step, staleness
        self.clocks = [0] * workers  # how often each has pushed; inf: it has left
        self.held = {}  # by worker: gradients that no step was taken with
        self.waiting = []  # (worker, future) of those that want to read

    @rpc.functions.async_execution
    def read(self, worker):
        """A future of the values: to wait costs no thread."""
        future = Future()
        self.waiting.append((worker, future))
        self.settle()
        return future

    def push(self, worker, gradient):
        self.clocks[worker] += 1
        self.held[worker] = gradient
        self.settle()

    def leave(self, worker):
        """This worker has no batch any more."""
        # BLANK 2: its clock, from now on (about 1 line)
        self.clocks[worker] = math.inf
        # END
        self.settle()

    def settle(self):
        """Take the step if it is time for it, then answer those that may read now."""
        # BLANK 3: is it time? In sync mode all workers that are still here must have pushed (about 4 lines)
        present = [worker for worker, clock in enumerate(self.clocks) if clock < math.inf]
        if self.held and (self.staleness > 0 or all(worker in self.held for worker in present)):
            self.step(self.values, [self.held[worker] for worker in sorted(self.held)])
            self.held = {}
        # END
        free = [
            (w, future) for w, future in self.waiting if may_read(self.clocks, w, self.staleness)
        ]
        self.waiting = [entry for entry in self.waiting if entry not in free]
        for _, future in free:
            future.set_result([value.clone() for value in self.values])


def work(server, worker, gradient, batches):
    """On a worker: read, compute, push."""
    for batch in batches:
        values = server.rpc_sync(timeout=0).read(worker)
        server.rpc_sync(timeout=0).push(worker, gradient(values, batch))
    server.rpc_sync(timeout=0).leave(worker)


def train(values, step, gradient, batches, staleness):
    """Rank 0 is the server, rank w + 1 is worker w and has `batches[w]`.

    The values in the end, on rank 0.
    """
    rank = dist.get_rank()
    one_at_a_time = rpc.TensorPipeRpcBackendOptions(num_worker_threads=1)  # so it needs no lock
    rpc.init_rpc(f"rank{rank}", rpc_backend_options=one_at_a_time)
    if rank == 0:
        server = rpc.RRef(Server(values, step, len(batches), staleness))
        wait_all(
            [
                rpc.rpc_async(f"rank{w + 1}", work, (server, w, gradient, share), timeout=0)
                for w, share in enumerate(batches)
            ]
        )
    rpc.shutdown()
    return values if rank == 0 else None
