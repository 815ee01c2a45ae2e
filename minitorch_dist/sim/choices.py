"""Where a run could also go another way, when times are not given: the choices of a schedule.

Between messages of named ranks there is nothing to choose: whichever lands first, each receive gets
the same one (Kahn, 1974). These choices are left:

    takes   a receive from anybody takes one of the messages that are there for it
    answer  is_completed() says no, or waits until nothing happens any more and says what is true

A receive from anybody is kept waiting until all ranks are at rest; then all messages that could come
first are there, and one of them is chosen (as ISP does for MPI: Vakkalanka et al., CAV 2008). A
`decider` says which; all else in the run is as ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from minitorch_dist.distributed.mail.pairing import Pairing
from minitorch_dist.distributed.mail.receives import Arrival, PostedReceive
from minitorch_dist.distributed.world import World
from minitorch_dist.sim.stage import SimulationStage
from transports.sim import SimTransport
from transports.virtual.inboxes import Waiting
from transports.virtual.sim_thread import SimThread

NO, TRUTH = 0, 1
DENIALS = 2  # how often is_completed() may say no to one rank before its time


class Choice(NamedTuple):
    """An action that a rank may take next. Choices of different ranks commute."""

    rank: int
    kind: str
    number: int  # takes: the match; answer: the how manieth of this rank
    value: int  # takes: the source; answer: NO or TRUTH

    def __str__(self) -> str:
        if self.kind == "takes":
            return f"rank {self.rank} takes what came from rank {self.value}"
        return f"rank {self.rank} is told {'no' if self.value == NO else 'the truth'} by is_completed"


class Decider(Protocol):
    def decide(self, options: Sequence[Choice]) -> Choice:
        """One of them; it is asked also where there is only one."""


class Following:
    """Decides as the given numbers say; then always for the first."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers, self._at = numbers, 0

    def decide(self, options: Sequence[Choice]) -> Choice:
        if len(options) == 1 or self._at == len(self._numbers):
            return options[0]
        number = self._numbers[self._at]
        self._at += 1
        return options[min(number, len(options) - 1)]


class DeferredPairing(Pairing):
    """Lets receives from anybody wait until somebody decides."""

    __slots__ = ()

    def take_receive(self, src: int, match: bytes) -> PostedReceive | None:
        anybody = self._posted.get((None, match))
        if anybody:
            named = self._posted.get((src, match))
            if not named or anybody[0].serial < named[0].serial:
                return None
        return super().take_receive(src, match)

    def take_arrival(self, source: int | None, match: bytes) -> Arrival | None:
        return None if source is None else super().take_arrival(source, match)

    def options(self, offers: Sequence[tuple[int, bytes]] = ()) -> list[tuple[bytes, PostedReceive, list[int]]]:
        """Of each receive from anybody that is the next to be served: what is there for it, or would
        come if it was posted (`offers`: senders and headers)."""
        found = []
        for (source, match), queue in self._posted.items():
            if source is None:
                came = self.unclaimed.get(match, {})
                there = {src for src, arrivals in came.items() if arrivals[0].is_whole}
                there.update(src for src, header in offers if header.startswith(match))
                if there:
                    found.append((match, queue[0], sorted(there)))
        return found

    def left_over(self) -> list[PostedReceive]:
        """Receives that name their source, and whose message nobody else wants any more."""
        found = []
        for (source, match), queue in self._posted.items():
            if source is not None and source in self.unclaimed.get(match, {}):
                anybody = self._posted.get((None, match))
                if not anybody or queue[0].serial < anybody[0].serial:
                    found.append(queue[0])
        return found


class Choices:
    """The choices of one run, and what was decided."""

    def __init__(self, decider: Decider, denials: int = DENIALS) -> None:
        self._decider, self._denials = decider, denials
        self.made: list[Choice] = []
        self._worlds: dict[int, World] = {}
        self._asked: Counter[int] = Counter()
        self._denied: Counter[int] = Counter()
        self._resting: list[SimThread] = []

    def apply_to(self, stage: SimulationStage) -> None:
        """Take part in this run."""
        self._clock = stage.clock
        stage.entered.append(self._enter)
        stage.clock.at_rest = self._at_rest

    def story(self) -> list[str]:
        return [str(choice) for choice in self.made]

    def _enter(self, here: World) -> None:
        self._worlds[here.rank] = here
        here.mailbox.pair_by(DeferredPairing())
        here.answers = lambda is_over: self._answer(here.rank, is_over)

    def _decide(self, options: Sequence[Choice]) -> Choice:
        chosen = self._decider.decide(options)
        if len(options) > 1:
            self.made.append(chosen)
        return chosen

    def _answer(self, rank: int, is_over: Callable[[], bool]) -> bool:
        """is_completed() was called."""
        self._asked[rank] += 1
        number = self._asked[rank]
        if self._denied[rank] < self._denials:
            options = [Choice(rank, "answer", number, value) for value in (TRUTH, NO)]
            if self._decide(options).value == NO:
                self._denied[rank] += 1
                return False
        me = self._clock.me()
        self._resting.append(me)
        self._clock.park(None, lambda: Waiting((), "the answer of is_completed()"))
        return is_over()

    def _at_rest(self) -> bool:
        """Nobody can go on: serve one receive from anybody, else answer who has asked."""
        where: dict[tuple[int, int], tuple[World, PostedReceive]] = {}
        options = []
        for rank, here in sorted(self._worlds.items()):
            pairing = here.mailbox.pairing
            assert isinstance(pairing, DeferredPairing)
            assert isinstance(here.mailbox.transport, SimTransport)
            strict = here.mailbox.transport.strict
            for match, receive, sources in pairing.options(strict.there() if strict else ()):
                number = int.from_bytes(match, "little")
                where[rank, number] = here, receive
                options += [Choice(rank, "takes", number, source) for source in sources]
        if options:
            chosen = self._decide(options)
            here, receive = where[chosen.rank, chosen.number]
            self._serve(here, receive, chosen.value)
            return True
        resting, self._resting = self._resting, []
        for sim_thread in resting:
            self._clock.at(self._clock.now(), partial(self._clock.wake, sim_thread))
        return bool(resting)

    def _serve(self, here: World, receive: PostedReceive, source: int) -> None:
        mailbox = here.mailbox
        mailbox.assign(receive, source)
        assert isinstance(mailbox.pairing, DeferredPairing)
        for waiting in mailbox.pairing.left_over():
            if waiting.source is not None:
                mailbox.assign(waiting, waiting.source)
        assert isinstance(mailbox.transport, SimTransport)
        mailbox.transport.rouse()

    def __repr__(self) -> str:
        return f"<Choices, {len(self.made)} made>"
