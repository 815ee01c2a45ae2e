"""Every order in which a parameter server can hear its workers, for a few batches."""

import functools
import math

import server

import minitorch_dist as torch

INF = math.inf


class Counting:
    """A server in whose values each push can be seen: value w is how often worker w's gradient is in."""

    def __init__(self, staleness, batches):
        self.batches, self.staleness = batches, staleness
        self.server = server.Server([torch.zeros(len(batches))], self.add, len(batches), staleness)
        self.pushed, self.futures, self.gone = [0] * len(batches), {}, set()
        self.log = []

    @staticmethod
    def add(values, gradients):
        for (part,) in gradients:
            values[0].add_(part)

    def moves(self):
        """The next possible moves: one for each worker that does not wait."""
        found = []
        for w, total in enumerate(self.batches):
            if w in self.futures:
                found += [(w, "push")] if self.futures[w].done() else []
            elif w not in self.gone:
                found.append((w, "read" if self.pushed[w] < total else "leave"))
        return found

    def make(self, move):
        w, what = move
        before = {w for w, future in self.futures.items() if future.done()}
        self.log.append(f"w{w} {what}s" if what != "push" else f"w{w} pushes")
        if what == "read":
            self.futures[w] = self.server.read(w)
        elif what == "push":
            del self.futures[w]
            self.pushed[w] += 1
            gradient = torch.zeros(len(self.batches))
            gradient[w] = 1
            self.server.push(w, [gradient])
        else:
            self.gone.add(w)
            self.server.leave(w)
        return [w for w, future in self.futures.items() if future.done() and w not in before]

    def stale(self, w):
        """The mistake in the values that worker w has read, if there is one."""
        seen = [int(count) for count in self.futures[w].value()[0].tolist()]
        for other, total in enumerate(self.batches):
            least = min(self.pushed[w] - self.staleness, total)
            if seen[other] < least:
                return (
                    f"worker {w} has pushed {self.pushed[w]} times and reads values with {seen[other]} pushes "
                    f"of worker {other}. There should be at least {least}"
                )
            if not self.staleness and seen[other] > self.pushed[w]:
                return f"worker {w} reads values that have only a part of step {self.pushed[w]}: {seen}"
        return None

    def late(self):
        """A worker that waits although no other is too far behind."""
        present = [self.pushed[w] for w in range(len(self.batches)) if w not in self.gone]
        for w, future in self.futures.items():
            if not future.done() and self.pushed[w] - min(present) <= self.staleness:
                return f"worker {w} waits, with {self.pushed[w]} pushes, while the others here have {present}"
        return None

    def state(self):
        reads = tuple((w, future.done()) for w, future in sorted(self.futures.items()))
        held = tuple(sorted(self.server.held))
        return (
            tuple(self.pushed),
            reads,
            held,
            tuple(self.gone),
            tuple(self.server.values[0].tolist()),
        )


def replayed(staleness, batches, path):
    found = Counting(staleness, batches)
    for move in path:
        found.make(move)
    return found


@functools.cache
def survey():
    """Every order in which 1 to 3 workers can read, push and leave: by lamp, the first that is wrong."""
    wrong = {}
    for batches in ((2,), (2, 2), (3, 1), (2, 2, 2), (1, 2, 3)):
        for staleness in (0, 1, 2, INF):
            explore(staleness, batches, wrong)
    return wrong


def explore(staleness, batches, wrong):
    seen, paths = set(), [()]

    def note(lamp, what, error=None):
        if lamp not in wrong:
            mode = f"s = {staleness}, batches {list(batches)}"
            wrong[lamp] = f"{mode}: {what}\n    {', '.join(here.log)}", error

    while paths:
        path = paths.pop(0)
        here = replayed(staleness, batches, path)
        for move in here.moves():
            here = replayed(staleness, batches, path)
            try:
                for w in here.make(move):
                    if said := here.stale(w):
                        note("fresh", said)
            except Exception as error:
                note("never stuck", f"{type(error).__name__}: {error}", error)
                continue
            if said := here.late():
                note("prompt", said)
            if not here.moves() and len(here.gone) < len(batches):
                note(
                    "never stuck",
                    f"workers {sorted(here.futures)} wait, and nobody will push any more",
                )
            if here.state() not in seen:
                seen.add(here.state())
                paths.append((*path, move))
