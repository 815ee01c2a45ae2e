"""Lesson 22 over real wires: any rank calls any, itself too, and a call calls back.

In virtual time `shutdown` serves until nobody has asked for QUIET seconds, which costs nothing there. Here ranks
tell the store when they have all their answers: when all have, nobody asks any more.
"""

import calls

import minitorch_dist.distributed as dist
from minitorch_dist.distributed import rpc, world

LOOK = 0.002  # seconds between two looks at the store
END = "end"
turn = "calls so far"


@rpc.functions.register
def add(a, b):
    return a + b


@rpc.functions.register
def divide(a, b):
    return a / b


@rpc.functions.register
def ask_back(rank, a):
    return calls.rpc_sync(rank, add, (a, 1)) * 2


class UntilAllAreDone:
    """A message box whose `receive` returns None when every rank has all its answers."""

    def __init__(self, box, key):
        self.box, self.key, self.is_done = box, key, False
        self.others = set(range(box.size)) - {box.rank}  # those that may still send something

    def send(self, dst, message):
        self.box.send(dst, message)

    def receive(self, timeout=None):
        if not self.is_done:
            return self.taken(timeout)
        store = world.current().store
        while True:
            is_over = store.add(self.key, 0) == self.box.size
            come = self.taken(LOOK)
            if come is not None or is_over:
                return come

    def taken(self, timeout):
        come = self.box.receive(timeout)
        if come is not None and come[1] == END:
            self.others.discard(come[0])
            return None
        return come

    def finish(self):
        self.is_done = True
        world.current().store.add(self.key, 1)

    def leave(self):
        """A question that was asked twice is answered twice: take what still comes, or the next run would hear it."""
        for dst in range(self.box.size):
            if dst != self.box.rank:
                self.box.send(dst, END)
        while self.others:
            self.taken(None)
        self.box.leave()


def program(wire):
    rank, size = dist.get_rank(), dist.get_world_size()
    calls.init_rpc(f"worker{rank}")
    here = world.current().extras
    here[turn] = here.get(turn, 0) + 1
    agent = here["calls"]
    agent.post = UntilAllAreDone(agent.post, f"lesson 22, {here[turn]}")
    later = [calls.rpc_async((rank + n) % size, add, (10 * rank, n)) for n in range(size + 2)]
    said = [calls.rpc_sync((rank + 1) % size, add, (rank,), {"b": 0.5})]
    said.append(calls.rpc_sync((rank + 1) % size, ask_back, (rank, 20)))
    said += [future.wait() for future in reversed(later)]
    try:
        calls.rpc_sync((rank + 1) % size, divide, (1, 0))
    except ZeroDivisionError:
        said.append("ZeroDivisionError")
    agent.post.finish()
    calls.shutdown()
    wanted = [
        rank + 0.5,
        42,
        *(10 * rank + n for n in reversed(range(size + 2))),
        "ZeroDivisionError",
    ]
    assert said == wanted, f"rank {rank} was told {said}, expected {wanted}"
    return said
