"""Be a rank: rank 2 of 4, with a hand of chunks; the others go round the ring, and wait for you.

                 rank 1 ──► you ──► rank 3       each round you send one chunk to the right, or nothing,
                    ▲                  │         and get one from the left
                    └───── rank 0 ◄────┘

The three others know the ring: for three rounds they add what comes, then for three they take it as it
is. You decide which chunk goes on. The race is against the ring: 6 rounds, 6 chunks; and in the end each
chunk should hold every rank exactly once, everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SIZE, ME = 4, 2
HALF = SIZE - 1  # steps in which what comes is added
LEFT, RIGHT = (ME - 1) % SIZE, (ME + 1) % SIZE
PAR = 2 * HALF  # rounds, and chunks that a rank sends
PATIENCE = 3  # rounds in which nothing moves, before all give up

Count = list[int]  # how often each rank is in a chunk


def _own() -> list[list[Count]]:
    return [[[int(r == rank) for r in range(SIZE)] for _ in range(SIZE)] for rank in range(SIZE)]


def scheduled(rank: int, step: int) -> int:
    """The chunk that the ring sends in this step."""
    return (rank - step) % SIZE if step < HALF else (rank + 1 - (step - HALF)) % SIZE


@dataclass
class Game:
    """Where everybody is. `holds[rank][chunk][of]`: how often `of` is in it."""

    holds: list[list[Count]] = field(default_factory=_own)
    received: list[int] = field(default_factory=lambda: [0] * SIZE)  # steps that each has done
    sent: list[int] = field(default_factory=lambda: [0] * SIZE)
    round: int = 0
    idle: int = 0  # rounds in which nothing has moved
    came: int | None = None  # the chunk that came last
    _boxes: list[list[tuple[int, Count]]] = field(default_factory=lambda: [[] for _ in range(SIZE)])

    def send(self, chunk: int | None) -> None:
        """One round: you send a chunk to rank 3 (or nothing), everybody else does what the ring says."""
        if chunk is not None and not 0 <= chunk < SIZE:
            raise ValueError(f"there is no chunk {chunk}; there are 0 to {SIZE - 1}")
        messages: list[tuple[int, int]] = [] if chunk is None else [(ME, chunk)]
        for rank in range(SIZE):
            step = self.sent[rank]
            if rank != ME and step < PAR and step <= self.received[rank]:
                messages.append((rank, scheduled(rank, step)))
        for rank, number in messages:
            self.sent[rank] += 1
            self._boxes[(rank + 1) % SIZE].append((number, [*self.holds[rank][number]]))
        self.came = None
        moved = bool(messages)
        for rank in range(SIZE):
            if self._boxes[rank] and self.received[rank] < min(PAR, self._may(rank)):
                self._take(rank, *self._boxes[rank].pop(0))
                moved = True
        self.round += 1
        self.idle = 0 if moved else self.idle + 1

    def _may(self, rank: int) -> int:
        """A rank takes its next chunk when it has sent its own; you take what comes."""
        return PAR if rank == ME else self.sent[rank]

    def _take(self, rank: int, chunk: int, count: Count) -> None:
        mine = self.holds[rank][chunk]
        is_added = self.received[rank] < HALF
        self.holds[rank][chunk] = [a + b for a, b in zip(mine, count, strict=True)] if is_added else count
        self.received[rank] += 1
        if rank == ME:
            self.came = chunk

    @property
    def is_over(self) -> bool:
        return all(done == PAR for done in self.received) or self.idle >= PATIENCE

    @property
    def is_stuck(self) -> bool:
        return self.idle >= PATIENCE and not all(done == PAR for done in self.received)

    def wrong(self) -> list[str]:
        """Each chunk that does not hold everybody once, in words."""
        said = []
        for rank, chunks in enumerate(self.holds):
            for chunk, count in enumerate(chunks):
                if count == [1] * SIZE:
                    continue
                often = ((r, n) for r, n in enumerate(count) if n > 1)
                words = [f"rank {r} {'twice' if n == 2 else f'{n} times'}" for r, n in often]
                missing = [str(r) for r, n in enumerate(count) if not n]
                words += [f"no rank {' or '.join(missing)}"] if missing else []
                said.append(f"chunk {chunk} on {name(rank)} has {', '.join(words)}")
        return said

    def stars(self) -> int:
        """★ right, ★★ in as many rounds as the ring, ★★★ with as few chunks."""
        if self.wrong() or not self.is_over:
            return 0
        return 1 + (self.round <= PAR) + (self.round <= PAR and self.sent[ME] <= PAR)


def name(rank: int) -> str:
    return "you" if rank == ME else f"rank {rank}"


def in_words(count: Count) -> str:
    """The ranks in a chunk: `12`, `*` for each of them once, `122` where rank 2 is in it twice."""
    return "*" if count == [1] * SIZE else "".join(str(rank) * n for rank, n in enumerate(count))
