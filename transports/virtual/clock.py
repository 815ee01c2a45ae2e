"""Virtual time: of all ranks exactly one runs, and time jumps when none can.

    strands   threads or greenlets, of which one holds the baton           (`strands`)
    ready     those that can run now, and in which order they may          (`order`)
    agenda    what will happen: messages land, sleeps and timeouts end     (`agenda`)

A strand that has to wait parks: it takes the next ready strand and hands it the baton. Nobody is
ready? Then it lets the next instant happen, itself: there is no hub to switch through,
and a strand whose own message comes next goes on without any switch. Nothing can happen any more,
but a rank is not finished? That is a deadlock, and each blocked rank raises it in words (see
`deadlock`).

Instants are whole picoseconds. Ties in the heaps are broken by a counter, and the order in which
strands wake is a policy: first come first served, or shuffled by a seed. So a program runs the same
way each time. What costs no virtual time costs none: only sleeping, and what the network does.

    clock = VirtualClock()
    for rank in range(4):
        clock.start(partial(program, rank), f"rank {rank}")
    clock.run()

The heap with its counter is simpy's idea, the jump when everybody waits trio's.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from transports.clock import Clock, picoseconds
from transports.contract import Waiting
from transports.errors import Deadlock
from transports.virtual import deadlock, interrupts
from transports.virtual.agenda import Agenda
from transports.virtual.condition import VirtualCondition
from transports.virtual.order import order
from transports.virtual.strands import Stopped, Strand, ThreadStrand, thread_name

PERSISTENCE = 1000  # times that a deadlock may be caught, before the strands are stopped
ENGINE = "threads"  # what strands are where nothing is said
SPINS = 16  # fruitless looks at one instant before looking counts as waiting


class VirtualClock(Clock):
    """`seed` shuffles the order in which strands wake; None: first come, first served.

    `endless`: waits with a timeout of at least so many seconds count as waits without one when
    nothing else is left to happen, so that a deadlock is reported when it arises and not when the
    first default timeout is over. `limit`: seconds of virtual time after which everything fails;
    `events`: after how many events it does (Livelock).
    `engine`: "threads" (None, too), or "greenlet", where that is installed: the same, faster.
    """

    def __init__(
        self,
        seed: int | None = None,
        endless: float | None = None,
        limit: float | None = None,
        engine: str | None = None,
        events: int | None = None,
    ) -> None:
        self.engine = engine or ENGINE
        self._made = maker(self.engine)
        self._current: Strand | None = None  # who has the baton; None while events happen
        self._strands: dict[Strand, None] = {}  # that are not over
        self._heads: list[Strand] = []  # all there ever were in this run, by rank
        self._living = 0  # heads that are not over
        self._ready = order(seed)
        self._lookers: list[Strand] = []  # who look again at the next instant
        self._agenda = Agenda(self._ready, endless, limit, events)
        self.at: Callable[[int, Callable[[], None]], None] = self._agenda.at
        """`at(instant, act)` lets `act` happen. It may wake strands, and may not wait."""
        self._failures = 0
        self._error: Exception | None = None  # of the simulation itself, raised by `run`
        self._is_running = self._is_interrupted = False
        self._finished = allocate_lock()
        self._last: Strand | None = None  # that ended last
        self.at_rest: Callable[[], bool] | None = None
        """Asked when nothing will happen any more but timeouts: whether it has made something happen."""
        self.switches = 0
        self.extras: dict[str, Any] = {}  # for what runs under this clock, one object for each name

    # ------------------------------------------------------------------------------- the clock

    def now(self) -> int:
        return self._agenda.now

    def condition(self, waits_for: Callable[[], str] | str = "") -> VirtualCondition:
        return VirtualCondition(self, waits_for)

    def start(self, function: Callable[[], None], name: str) -> Strand:
        """Within a strand: a helper of its rank. From outside, before `run`: the next rank."""
        if self._is_running:
            head: Strand | None = self.me().head
            rank = self.me().rank
        else:
            head, rank = None, len(self._heads)
        strand = self._made(function, name, rank, head, self._live, self._join)
        self._strands[strand] = None
        if head is None:
            self._heads.append(strand)
            self._living += 1
        else:
            strand.head.helpers.append(strand)
        self._ready.append(strand)
        return strand

    def sleep(self, seconds: float) -> None:
        self.pause(picoseconds(seconds))

    def pause(self, span: int) -> None:
        """Let `span` picoseconds go by: a sleep, or a computation. 0 lets the others run."""
        me = self.me()
        if span <= 0:
            return self.look(gives_way=True)
        until = self._agenda.now + span
        self.at(until, lambda: self.wake(me))
        waited = me.waited
        while self._agenda.now < until:  # a sleep that was broken off may wake us too early
            self.park(why=_sleeping)
        me.slept += me.waited - waited
        me.waited = waited

    # ----------------------------------------------------------- for conditions and transports

    def settle(self, act: Callable[[], None]) -> None:
        """Let `act` happen at the end of this instant, when nobody has anything left to do in it:
        then it does not matter who did it first."""
        self._agenda.settle(act)

    def park(
        self, timeout: int | None = None, why: Callable[[], Waiting] | None = None,
        me: Strand | None = None,
    ) -> bool:  # fmt: skip
        """Wait until `wake` (True), or for `timeout` picoseconds (False). `me`: who calls, if he
        has asked already."""
        me = me or self.me()
        if me.is_stopped:
            raise Stopped
        me.is_parked, me.was_woken, me.why = True, False, why
        if timeout is not None:
            self._agenda.arm(me, timeout)
        began = self._agenda.now
        self._hand_over(me)
        me.deadline = me.why = None  # which knows what was waited for, and its arrays
        self._resumed(me, began)
        return me.was_woken

    def wake(self, strand: Strand) -> None:
        """Let a parked strand go on; nothing happens to one that is not parked."""
        if strand.is_parked:
            strand.is_parked, strand.was_woken = False, True
            self._ready.append(strand)

    def look(self, gives_way: bool = False) -> None:
        """The caller looked for something in vain. Looking again and again is a way of waiting: it
        lets the others run and time go on, which else would stand still for ever."""
        me = self.me()
        if me.is_stopped:
            raise Stopped
        me.spins = me.spins + 1 if me.spun_at == self._agenda.now else 1
        me.spun_at = began = self._agenda.now
        if me.spins >= SPINS:
            self._lookers.append(me)
            me.is_parked, me.why = True, _looking
        elif gives_way and self._ready:
            self._ready.append(me)
        else:
            return
        self._hand_over(me)
        self._resumed(me, began)

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

    @property
    def happened(self) -> int:
        """How many events there were."""
        return self._agenda.happened

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

    def _join(self, strand: Strand, timeout: float | None) -> None:
        if not self._is_running:
            return self.run()
        if not strand.is_over:
            me = self.me()
            strand.joiners.append(me)
            self.park(
                None if timeout is None else picoseconds(timeout),
                lambda: Waiting((), f"the end of {strand.name!r}"),
            )

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

    def __repr__(self) -> str:
        return f"<VirtualClock, {len(self._strands)} strands, {self._agenda!r}>"


def maker(engine: str) -> Callable[..., Strand]:
    """What makes the strands of one clock."""
    if engine == "threads":
        return ThreadStrand
    if engine != "greenlet":
        raise ValueError(f"a clock's engine is 'threads' or 'greenlet', not {engine!r}")
    if not has_greenlets():
        raise ValueError(
            "the engine 'greenlet' needs the package greenlet: pip install 'minitorch_dist[fast]', "
            "or take engine='threads', which does the same in more time"
        )
    from transports.virtual import greenlets

    return partial(greenlets.GreenStrand, greenlets.Host())


def has_greenlets() -> bool:
    """Whether the engine `greenlet` can be had."""
    return find_spec("greenlet") is not None


def _sleeping() -> Waiting:
    return Waiting((), "the end of a sleep")


def _looking() -> Waiting:
    return Waiting((), "something for which it looks again and again")
