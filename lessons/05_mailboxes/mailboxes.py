"""Ranks that know only their number, and can only send and receive: a small torch.distributed.

rank 0                                                             rank 1
send(x, dst=1, tag=7) ──▶ under way, in order ──▶ mailbox ──▶ recv(y, src=0, tag=7)
                          for each pair of ranks              takes the oldest that matches
"""

from collections import defaultdict, deque
from dataclasses import dataclass
from threading import Semaphore, Thread
from typing import Any

import numpy as np


class Deadlock(Exception):
    """Ranks wait for messages that nobody will send."""


@dataclass(eq=False)  # two messages are never the same one, whatever is in them
class Message:
    src: int
    tag: int
    tensor: Any


def in_words(mailbox):
    """The first messages, as receives ask for them."""
    said = [f"tag {message.tag} from rank {message.src}" for message in mailbox[:3]]
    return ", ".join(said + ["…"] * (len(mailbox) > 3)) or "nothing"


class World:
    """All ranks of a run, their mailboxes, and what is under way between them.

    Ranks are threads, but only one of them runs at a time: the one that has the baton. A rank that
    sends or waits hands it on. A seed draws what happens next: which rank runs, or which message
    arrives. So a seed is a run that can be had again, and many seeds are many networks.
    """

    def __init__(self, size, seed):
        self.size, self.draw = size, np.random.default_rng(seed)
        self.mailboxes = [[] for _ in range(size)]  # what has arrived, the oldest first
        self.under_way = defaultdict(deque)  # by (src, dst): messages do not overtake each other
        self.batons = [Semaphore(0) for _ in range(size)]
        self.ready = set(range(size))  # ranks that can run
        self.waiting = set()  # those that cannot
        self.asks = {}  # by rank: for which message it asked last, in words
        self.running = None  # the rank that has the baton
        self.journal = []  # tuples of an action's name, src, dst and tag
        self.results, self.error = [None] * size, None

    def next(self):
        """Let a message arrive, or hand the baton to a rank, whatever the seed draws."""
        while self.ready or self.waiting:
            links = sorted(link for link, messages in self.under_way.items() if messages)
            choices = [*sorted(self.ready), *links]
            if not choices:  # all wait, and nothing will come: let each of them raise
                asked = [
                    f"rank {rank} for {self.asks[rank]} "
                    f"(in its mailbox: {in_words(self.mailboxes[rank])})"
                    for rank in sorted(self.waiting)
                ]
                self.error = self.error or Deadlock("waiting: " + ", ".join(asked))
                choices = [min(self.waiting)]
            choice = choices[self.draw.integers(len(choices))]
            if isinstance(choice, int):
                self.running = choice
                self.batons[choice].release()
                return
            self.arrive(*choice)

    def arrive(self, src, dst):
        message = self.under_way[src, dst].popleft()
        self.mailboxes[dst].append(message)
        self.journal.append(("arrives", src, dst, message.tag))
        if dst in self.waiting:
            self.ready.add(dst)

    def hand_on(self):
        """Let others run; back when the baton is here again."""
        me = self.running
        self.next()
        self.batons[me].acquire()

    def wait(self):
        """Run no more until something has come for this rank: not necessarily what it waits for."""
        me = self.running
        self.ready.discard(me)
        self.waiting.add(me)
        self.hand_on()
        self.waiting.discard(me)
        if self.error:
            raise self.error

    def live(self, rank, function, args):
        """A rank, from its first turn to its end."""
        self.batons[rank].acquire()
        try:
            self.results[rank] = function(*args)
        except BaseException as error:  # of any kind: the others need the baton
            self.error = self.error or error
        self.ready.discard(rank)
        self.next()


world = None  # the one that is running


def spawn(function, size, args=(), seed=0):
    """Call the function on `size` ranks; the world in which that happened, with their results."""
    global world
    before, world = world, World(size, seed)
    made = world
    try:
        threads = [
            Thread(target=made.live, args=(rank, function, args), daemon=True)
            for rank in range(size)
        ]
        for thread in threads:
            thread.start()
        made.next()
        for thread in threads:
            thread.join()
    finally:
        world = before
    if made.error:
        raise made.error
    return made


def get_rank():
    """The number of the rank that asks."""
    return world.running


def get_world_size():
    """How many ranks there are."""
    return world.size


def send(tensor, dst, tag=0):
    """Put a copy of the tensor on its way. Returns at once: nobody waits until it has arrived."""
    if not 0 <= dst < world.size:
        raise ValueError(f"there is no rank {dst} in a world of {world.size}")
    world.under_way[world.running, dst].append(Message(world.running, tag, tensor.clone()))
    world.journal.append(("sends", world.running, dst, tag))
    world.hand_on()


def recv(tensor, src=None, tag=0):
    """Wait for a message with this tag from rank `src`
    (None: from anybody); copy the oldest into `tensor`.

    Messages that do not match stay where they are. Returns the rank that sent it.
    """
    mailbox = world.mailboxes[world.running]
    world.asks[world.running] = f"tag {tag} from {'anybody' if src is None else f'rank {src}'}"
    # BLANK 1: take the oldest `message` that matches out of the mailbox; while there is none, world.wait() (about 4 lines)
    # `mailbox` is a list, the oldest first, and grows while
    # we wait. Each message has .src, .tag and .tensor.
    while not (matching := [m for m in mailbox if m.tag == tag and src in (None, m.src)]):
        world.wait()
    message = matching[0]
    mailbox.remove(message)
    # END
    world.journal.append(("receives", message.src, world.running, message.tag))
    tensor.copy_(message.tensor)
    return message.src
