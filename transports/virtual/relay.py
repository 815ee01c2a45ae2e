"""Of all ranks exactly one runs: the baton passes from strand to strand, to the end of the last.

    ready     strands that can run now, and in which order they may        (`order`)
    agenda    what lets others run: messages land, sleeps end              (`agenda`)

A strand that cannot go on takes the next ready strand and hands it the baton. Nobody is ready? Then it
lets the next instant happen, itself: there is no hub to switch through, and a strand whose own message
comes next goes on without any switch. Nothing can happen any more, but a rank is not finished? That is
a deadlock, and each blocked rank raises it in words (see `deadlock`).
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable
from typing import Any

from transports.errors import Deadlock
from transports.virtual import deadlock, interrupts
from transports.virtual.agenda import Agenda
from transports.virtual.order import order
from transports.virtual.strands import Stopped, Strand, thread_name

PERSISTENCE = 1000  # times that a deadlock may be caught, before the strands are stopped


class Relay:
    """The strands of one simulation. Who waits, and how, is the clock's to say."""

    def __init__(
        self, seed: int | None, endless: float | None, limit: float | None, events: int | None
    ) -> None:
        self._current: Strand | None = None  # who has the baton; None while events happen
        self._strands: dict[Strand, None] = {}  # that are not over
        self._heads: list[Strand] = []  # all there ever were in this run, by rank
        self._living = 0  # heads that are not over
        self._ready = order(seed)
        self._lookers: list[Strand] = []  # who look again at the next instant
        self._agenda = Agenda(self._ready, endless, limit, events)
        self._failures = 0
        self._error: Exception | None = None  # of the simulation itself, raised by `run`
        self._is_running = self._is_interrupted = False
        self._finished = allocate_lock()
        self._last: Strand | None = None  # that ended last
        self.at_rest: Callable[[], bool] | None = None
        """Asked when nothing will happen any more but timeouts: whether it has made something happen."""
        self.switches = 0
        self.extras: dict[str, Any] = {}  # for what runs under this clock, one object for each name

    # ------------------------------------------------------------------------------ who is who

    def me(self) -> Strand:
        """The calling strand; RuntimeError if the caller has no place in this simulation."""
        me = self._current
        if me is None or not me.is_here():
            what = "an event" if me is None and self._is_running else thread_name()
            raise RuntimeError(
                f"{what} has no place in this simulation, so it cannot wait in virtual time. Start "
                "threads with clock.start, and call clock.run from outside"
            )
        return me

    def current(self) -> Strand | None:
        """Who runs; None outside the simulation and while events happen."""
        return self._current

    def when_over(self, act: Callable[[], None]) -> None:
        """Call `act` when the rank of the caller is over, however it ended."""
        self.me().head.endings.append(act)

    def stop_rank(self, rank: int) -> bool:
        """Stop a rank and its helpers where they wait, as if its process was killed; False if it is
        over. Its own strand may go on after `revive`."""
        head = self._heads[rank]
        for strand in [strand for strand in self._strands if strand.head is head]:
            self._stop(strand)
        return not head.is_over

    def stands(self, rank: int) -> str:
        """In what a rank waits, and at which line; "" if it does not."""
        head = self._heads[rank]
        return "" if head.is_over else deadlock.stands(head)

    def revive(self) -> None:
        """The calling strand was stopped, and may wait again."""
        self.me().is_stopped = False

    # ------------------------------------------------------------------------------- from outside

    def run(self) -> None:
        """Let all strands run to their end. Called from outside; leaves no thread behind."""
        if self._is_running:
            raise RuntimeError("this virtual clock is running already")
        if not self._strands:
            return
        self._is_running, self._error = True, None
        self._finished.acquire()
        try:
            self._run_to_the_end()
        finally:
            self._finished.release()
            if self._last is not None:
                self._last.see_off()
            self._is_running, self._last, self._heads = False, None, []
            self._agenda.clear()
            self._failures = 0

    def _run_to_the_end(self) -> None:
        """An interrupt stops all strands where they wait; a second one also the one that runs."""
        with interrupts.noted(self._interrupt) as seen:
            self._pass_on()
            while not self._finished.acquire(timeout=1.0):
                pass  # another thread may have got the signal: look whether there was one
        if seen:
            self._is_interrupted = False
            raise KeyboardInterrupt
        if self._error is not None:
            raise self._error

    def _interrupt(self, number: int) -> None:
        running = self._current
        if number > 1 and running is not None:
            running.interrupt()
        self._is_interrupted = True

    # ------------------------------------------------------------------------------- the strands

    def _live(self, strand: Strand) -> None:
        """What a strand's thread does."""
        strand.act()
        self._bury(strand)
        before, self._last = self._last, strand
        if before is not None:
            before.see_off()  # it has nothing left to do
        self._pass_on()

    def _bury(self, strand: Strand) -> None:
        """It is over; if it was a rank, or the last rank, so are others."""
        strand.is_over, strand.ended = True, self._agenda.now
        del self._strands[strand]
        try:
            for act in reversed(strand.endings):
                act()
        except Exception as error:
            self._fail_all(error)
        for joiner in strand.joiners:
            self.wake(joiner)
        if strand.head is strand:
            self._living -= 1
            for other in list(strand.helpers if self._living else self._strands):
                self._stop(other)
        else:
            strand.head.helpers.remove(strand)

    def _stop(self, strand: Strand) -> None:
        strand.is_stopped = True
        self._fail(strand, Stopped())

    def _fail(self, strand: Strand, error: BaseException) -> None:
        """Raise `error` where the strand waits."""
        strand.error = error
        if strand.is_parked:
            strand.is_parked = False
            self._ready.append(strand)

    def _resumed(self, me: Strand, began: int) -> None:
        me.waited += self._agenda.now - began
        if me.error is not None:
            error, me.error = me.error, None
            raise error

    def wake(self, strand: Strand) -> None:
        """Let a parked strand go on; nothing happens to one that is not parked."""
        if strand.is_parked:
            strand.is_parked, strand.was_woken = False, True
            self._ready.append(strand)

    # --------------------------------------------------------------------------------- the baton

    def _hand_over(self, me: Strand) -> None:
        """Let others run until `me` is chosen again."""
        self._current = chosen = self._choose()
        if chosen is not me and chosen is not None:
            self.switches += 1
            me.hand_over(chosen)

    def _pass_on(self) -> None:
        """Let others run; the caller will not run again."""
        self._current = chosen = self._choose()
        if chosen is None:
            self._finished.release()
        else:
            self.switches += 1
            chosen.resume()

    def _choose(self) -> Strand | None:
        """The next strand to run, None if all are over. If all wait, the next instant has to happen
        first."""
        if self._is_interrupted:
            self._is_interrupted = False
            for strand in self._strands:
                self._stop(strand)
        while self._strands:
            if self._ready:
                chosen = self._ready.popleft()
                if chosen.is_begun or chosen.prepare():
                    return chosen
                self._cannot_begin(chosen)
                continue
            self._current = None
            try:
                if self.at_rest is not None and self._agenda.is_idle() and self.at_rest():
                    continue
                if not self._agenda.advance():
                    self._stuck()
            except Exception as error:
                self._fail_all(error)
            lookers, self._lookers = self._lookers, []
            for strand in lookers:
                self.wake(strand)
        return None

    # ------------------------------------------------------------------------------- bad endings

    def _cannot_begin(self, strand: Strand) -> None:
        """The system has no thread left for it, so there is no result either."""
        if self._error is None:
            self._error = RuntimeError(
                f"no thread for {strand.name!r}: the system allows no more of them (ulimit -u, or "
                "the memory). Simulate fewer ranks"
            )
            self._fail_all(self._error)
        self._bury(strand)

    def _stuck(self) -> None:
        """Nobody can run and nothing can happen: tell everyone who waits for a peer."""
        blocked = list(self._strands)
        remark = self.extras.get("remark")
        words = deadlock.report(self._agenda.now, self._heads, blocked, remark)
        cause = self.extras.get("cause")  # of those above, who know what the ranks called
        if cause is not None and (more := cause()):
            words += f"\n{more}"
        waiting = [s for s in blocked if s.head is s or deadlock.waiting(s).ranks]
        self._fail_these(waiting, lambda: Deadlock(words))

    def _fail_all(self, error: Exception) -> None:
        """Something is wrong with the simulation itself: every rank raises it."""
        self._fail_these([head for head in self._heads if not head.is_over], lambda: error)

    def _fail_these(self, strands: list[Strand], error: Callable[[], Exception]) -> None:
        self._failures += 1
        for strand in strands:
            if self._failures < PERSISTENCE:
                self._fail(strand, error())
            else:
                self._stop(strand)
