"""Call a function of another rank, over a wire that loses, doubles and delays what it carries.

caller                                              callee
REQUEST 7  add(2, 3)   ─────────────►               runs add, and keeps what came of it
                         ✗ ◄───────── ANSWER 7  5   lost. Did it run? The caller cannot know
REQUEST 7  add(2, 3)   ─────────────►               number 7 is known: not run again
                       ◄───────────── ANSWER 7  5
REQUEST 8  floor 8     ─────────────►               all below 8 are over, and can be forgotten

A rank that waits for an answer serves the others
meanwhile. The real one: minitorch_dist/distributed/rpc.
"""

import itertools
import traceback
from collections import defaultdict

from minitorch_dist.distributed import world
from mtd.course.post import MessageBox

REQUEST, ANSWER = "request", "answer"
RETRY = 1.0  # seconds without an answer, after which one asks again
TRIES = 20
QUIET = 40.0  # seconds without a message: nobody asks any more
RUNNING = "running"


class RpcTimeout(Exception):
    """No answer came. The function has run, or is running, or never will."""


class RemoteTraceback(Exception):
    """Where an exception was raised, on the other rank."""


class Agent:
    """One rank: it asks others, and serves them."""

    def __init__(self):
        self.post, self.clock = MessageBox(), world.current().clock
        self.numbers = itertools.count()
        self.open = {}  # by number: our calls that have no answer yet
        self.known = {}  # by (caller, number): RUNNING, or what came of it
        self.floors = defaultdict(int)  # by caller: all its requests below this number are over

    def take(self, seconds):
        """Do what the next message says; whether one came in that time."""
        message = self.post.receive(seconds)
        if message is None:
            return False
        src, (kind, *said) = message
        if kind == REQUEST:
            self.serve(src, *said)
        else:
            self.answered(*said)
        return True

    def drive(self, seconds, is_over):
        """Take messages until `is_over()`, but not
        for longer than `seconds`; whether it is over.
        """
        deadline = self.clock.deadline(seconds)
        while not is_over() and not deadline.is_over():
            self.take(deadline.left())
        return is_over()

    def serve(self, src, number, floor, func, args, kwargs):
        """A request has come from rank `src`, perhaps for the second time."""
        self.forget(src, floor)
        # BLANK 1: carry it out, but each number of each caller once (about 7 lines)
        # It may come again after it is over, below the floor: nobody waits for it any more.
        # It may come again while it runs, because `func` itself may wait for others, and serve.
        # It may come again because the answer was lost.
        if number < self.floors[src]:
            return
        if (src, number) not in self.known:
            self.known[src, number] = RUNNING
            self.known[src, number] = carry_out(func, args, kwargs)
        outcome = self.known[src, number]
        if outcome is not RUNNING:
            self.post.send(src, (ANSWER, number, outcome))
        # END

    def forget(self, src, floor):
        """Rank `src` has the answers to all its requests below `floor`.

        (Messages overtake each other.)
        """
        # BLANK 2: raise the floor, and forget what lies below it (about 3 lines)
        self.floors[src] = max(self.floors[src], floor)
        for number in [n for who, n in self.known if who == src and n < self.floors[src]]:
            del self.known[src, number]
        # END

    def answered(self, number, outcome):
        """The result of one of our requests; perhaps heard before."""
        # BLANK 3: whose answer is it? (about 3 lines)
        future = self.open.pop(number, None)
        if future is not None:
            future.outcome = outcome
        # END


class Future:
    """The answer to a call, one day."""

    def __init__(self, agent, to, func, args, kwargs):
        self.agent, self.to, self.number = agent, to, next(agent.numbers)
        self.wanted = func, args, kwargs
        self.outcome = None
        agent.open[self.number] = self
        self.ask()

    def ask(self):
        """Send the request, and up to which number of ours `to` may forget."""
        floor = min(call.number for call in self.agent.open.values() if call.to == self.to)
        self.agent.post.send(self.to, (REQUEST, self.number, floor, *self.wanted))

    def is_done(self):
        return self.outcome is not None

    def wait(self):
        tries = 1
        # BLANK 4: wait; after RETRY seconds ask again, until TRIES is reached (about 3 lines)
        while not self.agent.drive(RETRY, self.is_done) and tries < TRIES:
            self.ask()
            tries += 1
        # END
        self.agent.open.pop(self.number, None)  # whether answered or given up
        if not self.is_done():
            name = self.wanted[0].__name__
            raise RpcTimeout(
                f"rank {self.to} did not answer {name} in {tries} tries; it may have run"
            )
        value, error, where = self.outcome
        if error is not None:
            raise error from RemoteTraceback(where)
        return value


def carry_out(func, args, kwargs):
    """The result: a value, or an exception and where it was raised."""
    try:
        return func(*args, **kwargs), None, ""
    except Exception as error:
        return None, error, traceback.format_exc()


# The library's functions: ask for `minitorch_dist.distributed.rpc`
# instead, and a program runs as well.


def init_rpc(name):
    """Begin: from now on this rank can be called, as soon as it waits or serves."""
    world.current().extras["calls"] = Agent()


def rpc_async(to, func, args=(), kwargs=None):
    """Call `func` on rank `to`. Return a Future at once, which has wait() and is_done()."""
    return Future(world.current().extras["calls"], to, func, args, kwargs or {})


def rpc_sync(to, func, args=(), kwargs=None):
    """Call `func` on rank `to`, and return its result, or raise its exception."""
    return rpc_async(to, func, args, kwargs).wait()


def shutdown():
    """Serve the others until nobody asks any more."""
    agent = world.current().extras["calls"]
    while agent.take(QUIET):
        pass
    agent.post.leave()
