"""Virtual time: how long a program would take on a real network, without waiting for it.

sender ──[ its sending port ]──────[ the receiver's receiving port ]──► receiver

A message of m bytes holds its sender's sending port and its receiver's receiving port for α + βm
each. It is in both at once: its first byte arrives when it leaves (the latency is in α). A port
serves one message at a time, in the order in which they come. All times are whole picoseconds.
"""

from collections import defaultdict, deque
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple


class Send(NamedTuple):
    """Put a message into the sending port, and go on at once."""

    dst: int
    nbytes: int


class Receive(NamedTuple):
    """Wait until the next message from `src` has landed."""

    src: int


class Compute(NamedTuple):
    """Be busy."""

    operations: int


class Ports:
    """The rule: when messages leave and land, and when ranks go on."""

    def __init__(self, alpha, beta, gamma=0):
        self.alpha, self.beta, self.gamma = alpha, beta, gamma  # per message, byte, operation
        # by rank: the instant at which that port is free again
        self.sending_free = defaultdict(int)
        self.receiving_free = defaultdict(int)

    def hold(self, nbytes):
        """For how long a port is busy with a message."""
        return self.alpha + self.beta * nbytes

    def leaves(self, src, nbytes, now):
        """A message comes to the sending port of `src` now. When does it begin to leave?"""
        # BLANK 1: not before now, and not before the port is free; also note until when this message holds the port (about 3 lines)
        begins = max(now, self.sending_free[src])
        self.sending_free[src] = begins + self.hold(nbytes)
        return begins
        # END

    def lands(self, dst, nbytes, now):
        """A message's first byte is at the receiving port of `dst` now.

        When is its last one there?
        """
        # BLANK 2: the receiving port may be busy with another message; also note until when this one holds it (about 3 lines)
        begins = max(now, self.receiving_free[dst])
        self.receiving_free[dst] = begins + self.hold(nbytes)
        return self.receiving_free[dst]
        # END

    def received(self, now, landed):
        """A rank asks now for a message which landed, or will land, at `landed`.

        When does it go on?
        """
        # BLANK 3: it may have asked before the message landed, or after (about 1 line)
        return max(now, landed)
        # END


GOES_ON, COMES, ARRIVES = range(3)  # a rank; a message to its sending port, to its receiving port


class Run:
    """Programs, one list of actions for each rank, under a rule.
    `times` says when each rank is done (None: it waits for ever).

    Nothing waits: of all that will happen, the earliest is taken from a heap, and time jumps there.
    At one instant ranks go on first, then messages come
    to ports, then they arrive, by their senders' ranks.
    """

    def __init__(self, programs, ports):
        self.ports, self.todo = ports, [deque(actions) for actions in programs]
        self.times = [None] * len(programs)
        self.landed = defaultdict(deque)  # by (src, dst): instants of messages not yet received
        self.waiting = {}  # by rank: since when, and for which rank
        self.story = []  # of messages: (instant, COMES or ARRIVES, src, dst)
        self.heap, self.number = [], count()  # what will happen; a rank's messages keep their order
        for rank in range(len(programs)):
            self.expect(0, GOES_ON, rank)
        while self.heap:
            now, kind, src, _, dst, nbytes = heappop(self.heap)
            if kind == GOES_ON:
                self.go_on(src, now)
            elif kind == COMES:
                self.story.append((now, kind, src, dst))
                self.expect(ports.leaves(src, nbytes, now), ARRIVES, src, dst, nbytes)
            else:
                self.story.append((now, kind, src, dst))
                self.land(src, dst, ports.lands(dst, nbytes, now))

    def expect(self, when, kind, src, dst=0, nbytes=0):
        heappush(self.heap, (when, kind, src, next(self.number), dst, nbytes))

    def go_on(self, rank, now):
        """Let a rank act until it has to wait."""
        while self.todo[rank]:
            match self.todo[rank].popleft():
                case Send(dst, nbytes):
                    self.expect(now, COMES, rank, dst, nbytes)
                case Compute(operations):
                    return self.expect(now + self.ports.gamma * operations, GOES_ON, rank)
                case Receive(src) if self.landed[src, rank]:
                    landed = self.landed[src, rank].popleft()
                    return self.expect(self.ports.received(now, landed), GOES_ON, rank)
                case Receive(src):
                    self.waiting[rank] = now, src
                    return None
        self.times[rank] = now
        return None

    def land(self, src, dst, when):
        """Its landing is known already: a rank that waits for it goes on then."""
        since, source = self.waiting.get(dst, (0, None))
        if source == src:
            del self.waiting[dst]
            self.expect(self.ports.received(since, when), GOES_ON, dst)
        else:
            self.landed[src, dst].append(when)
