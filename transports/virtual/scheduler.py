"""Of all ranks exactly one runs: the baton passes from simulated thread to simulated thread, to the end of the last.

    ready     simulated threads that can run now, and in which order they may        (`order`)
    event queue    what lets others run: messages land, sleeps end              (`event_queue`)

A simulated thread that cannot go on takes the next ready simulated thread and hands it the baton. Nobody is
ready? Then it lets the next instant happen, itself. There is no hub to switch through, and a simulated
thread whose own message comes next goes on without any switch. Nothing can happen any more, but a rank is
not finished? That is a deadlock, and each blocked rank raises it in words (see `deadlock`).
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable
from typing import Any

from transports.errors import Deadlock, NeedsBuffering
from transports.virtual import deadlock, interrupts
from transports.virtual.event_queue import EventQueue
from transports.virtual.inboxes import Waiting
from transports.virtual.order import order
from transports.virtual.sim_thread import SimThread, Stopped, thread_name
from transports.virtual.standstill import Watch

PERSISTENCE = 1000  # times that a deadlock may be caught, before the simulated threads are stopped
POLLS = 5000  # fruitless polls in a row, with nothing else to come, before nobody is believed


class Scheduler:
    """The simulated threads of one simulation. The clock says which thread waits, and how."""

    def __init__(self, seed: int | None, endless: float | None, limit: float | None, events: int | None) -> None:
        self._current: SimThread | None = None  # the thread that runs; None while events happen
        self._sim_threads: dict[SimThread, None] = {}  # that are not over
        self._heads: list[SimThread] = []  # all there ever were in this run, by rank
        self._living = 0  # heads that are not over
        self._ready = order(seed)
        self._pollers: list[SimThread] = []  # threads that poll again when something has happened
        self._in_vain = 0  # polls in a row at a world in which nothing will happen any more
        self._event_queue = EventQueue(self._ready, endless, limit, events)
        self._failures = 0
        self._error: Exception | None = None  # of the simulation itself, raised by `run`
        self._is_running = self._is_interrupted = False
        self._is_abandoned = False  # a rank stands still for ever, and so do those who wait for it
        self._finished = allocate_lock()
        self._last: SimThread | None = None  # that ended last
        self.at_rest: Callable[[], bool] | None = None
        """Asked when nothing will happen any more but timeouts: whether it has made something happen."""
        self.switches = 0
        self.exchanged: Callable[[], Callable[[], None]] | None = None
        """Called by a rank's own thread that stops. It keeps what belongs to the rank in the process, such as generators of
        random numbers. The result puts it back, and is called when the thread goes on. Helpers carry out messages only."""
        self.remark: Callable[[int], str] | None = None  # of each rank, beside a deadlock's report
        self.cause: Callable[[], str] | None = None  # of a deadlock, by what the ranks called

    # ------------------------------------------------------------------------------ who is who

    def me(self) -> SimThread:
        """The calling simulated thread; RuntimeError if the caller has no place in this simulation."""
        me = self._current
        if me is None or not me.is_here():
            what = "an event" if me is None and self._is_running else thread_name()
            raise RuntimeError(
                f"{what} has no place in this simulation, so it cannot wait in virtual time. Start "
                "threads with clock.start, and call clock.run from outside"
            )
        return me

    def current(self) -> SimThread | None:
        """The thread that runs; None outside the simulation and while events happen."""
        return self._current

    def when_over(self, act: Callable[[], None]) -> None:
        """Call `act` when the rank of the caller is over, however it ended."""
        self.me().main.endings.append(act)

    def stop_rank(self, rank: int) -> bool:
        """Stop a rank and its helpers where they wait, as if its process was killed; False if it is
        over. Its own simulated thread may go on after `revive`."""
        main = self._heads[rank]
        for sim_thread in [sim_thread for sim_thread in self._sim_threads if sim_thread.main is main]:
            self._stop(sim_thread)
        return not main.is_over

    def stands(self, rank: int) -> str:
        """In what a rank waits, and at which line; "" if it does not."""
        main = self._heads[rank]
        return "" if main.is_over else deadlock.stands(main)

    def revive(self) -> None:
        """The calling simulated thread was stopped, and may wait again."""
        self.me().is_stopped = False

    # ------------------------------------------------------------------------------- from outside

    def run(self) -> None:
        """Let all simulated threads run to their end. Called from outside; leaves no thread behind."""
        if self._is_running:
            raise RuntimeError("this virtual clock is running already")
        if not self._sim_threads or self._is_abandoned:
            return
        self._is_running, self._error = True, None
        self._finished.acquire()
        try:
            self._run_to_the_end()
        finally:
            self._finished.release()
            if self._last is not None and not self._is_abandoned:
                self._last.see_off()
            self._is_running, self._last, self._heads = False, None, []
            self._event_queue.clear()
            self._failures = 0

    def _run_to_the_end(self) -> None:
        """An interrupt stops all simulated threads where they wait; a second one also the one that runs."""
        with interrupts.noted(self._interrupt) as seen:
            self._pass_on()
            watch = Watch()
            while not self._finished.acquire(timeout=1.0):  # another thread may have got the signal
                still = watch.look(self._current, self._event_queue.happened + self.switches)
                if still:
                    self._is_abandoned = self._is_interrupted = True  # they end, should they ever go on
                    raise Deadlock(still)
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

    # ------------------------------------------------------------------------------- the simulated threads

    def _live(self, sim_thread: SimThread) -> None:
        """The work of a simulated thread's thread."""
        sim_thread.act()
        self._bury(sim_thread)
        before, self._last = self._last, sim_thread
        if before is not None:
            before.see_off()  # it has nothing left to do
        self._pass_on()

    def _bury(self, sim_thread: SimThread) -> None:
        """It is over; if it was a rank, or the last rank, so are others."""
        sim_thread.is_over, sim_thread.ended = True, self._event_queue.now
        del self._sim_threads[sim_thread]
        try:
            for act in reversed(sim_thread.endings):
                act()
        except Exception as error:
            self._fail_all(error)
        for joiner in sim_thread.joiners:
            self.wake(joiner)
        if sim_thread.main is sim_thread:
            self._living -= 1
            for other in list(sim_thread.helpers if self._living else self._sim_threads):
                self._stop(other)
        else:
            main = sim_thread.main
            main.helpers = tuple(each for each in main.helpers if each is not sim_thread)

    def _stop(self, sim_thread: SimThread) -> None:
        sim_thread.is_stopped = True
        self._fail(sim_thread, Stopped())

    def _fail(self, sim_thread: SimThread, error: BaseException) -> None:
        """Raise `error` where the simulated thread waits."""
        sim_thread.error = error
        if sim_thread.is_parked:
            sim_thread.is_parked = False
            self._ready.append(sim_thread)

    def park(
        self,
        timeout: int | None = None,
        why: Callable[..., Waiting] | None = None,
        me: SimThread | None = None,
        about: tuple[Any, ...] = (),
    ) -> bool:
        """Wait until `wake` (True), or for `timeout` picoseconds (False). `why(*about)` tells a deadlock's report
        what for. `me`: the calling thread, if it has been looked up already."""
        me = me or self.me()
        if me.is_stopped:
            raise Stopped
        me.is_parked, me.was_woken, me.why, me.about = True, False, why, about
        if timeout is not None:
            self._event_queue.arm(me, timeout)
        began = self._event_queue.now
        self._hand_over(me)
        me.deadline = me.why = me.about = None  # which know what was waited for, and its arrays
        self._resumed(me, began)
        return me.was_woken

    def wake(self, sim_thread: SimThread) -> None:
        """Let a parked simulated thread go on; nothing happens to one that is not parked."""
        if sim_thread.is_parked:
            sim_thread.is_parked, sim_thread.was_woken = False, True
            self._ready.append(sim_thread)

    def _resumed(self, me: SimThread, began: int) -> None:
        me.waited += self._event_queue.now - began
        if me.error is not None:
            error, me.error = me.error, None
            raise error

    # --------------------------------------------------------------------------------- the baton

    def _hand_over(self, me: SimThread) -> None:
        """Let others run until `me` is chosen again."""
        self._current = chosen = self._choose()
        if chosen is not me and chosen is not None:
            self.switches += 1
            if self.exchanged is None or me.main is not me:
                me.hand_over(chosen)
                return
            put_back = self.exchanged()
            me.hand_over(chosen)
            put_back()

    def _pass_on(self) -> None:
        """Let others run; the caller will not run again."""
        self._current = chosen = self._choose()
        if chosen is None:
            if not self._is_abandoned:
                self._finished.release()
        else:
            self.switches += 1
            chosen.resume()

    def _choose(self) -> SimThread | None:
        """The next simulated thread to run, None if all are over. If all wait, the next instant has to happen
        first."""
        if self._is_interrupted:
            self._is_interrupted = False
            for sim_thread in self._sim_threads:
                self._stop(sim_thread)
        while self._sim_threads:
            if self._ready:
                chosen = self._ready.popleft()
                if chosen.is_begun or chosen.prepare():
                    return chosen
                self._cannot_begin(chosen)
                continue
            self._current = None
            try:
                if self.at_rest is not None and self._event_queue.is_idle() and self.at_rest():
                    continue
                if self._event_queue.advance():
                    self._in_vain = 0
                elif self._pollers and self._in_vain < POLLS:  # it may be there already
                    self._in_vain += len(self._pollers)
                else:
                    self._stuck()
            except Exception as error:
                self._fail_all(error)
            pollers, self._pollers = self._pollers, []
            for sim_thread in pollers:
                self.wake(sim_thread)
        return None

    # ------------------------------------------------------------------------------- bad endings

    def _cannot_begin(self, sim_thread: SimThread) -> None:
        """The system has no thread left for it, so there is no result either."""
        if self._error is None:
            self._error = RuntimeError(
                f"no thread for {sim_thread.name!r}: the system allows no more of them (ulimit -u, or "
                "the memory). Simulate fewer ranks"
            )
            self._fail_all(self._error)
        self._bury(sim_thread)

    def _stuck(self) -> None:
        """Nobody can run and nothing can happen: tell everyone who waits for a peer."""
        blocked = {sim_thread: deadlock.waiting(sim_thread) for sim_thread in self._sim_threads}
        words = deadlock.report(self._event_queue.now, self._heads, blocked, self.remark)
        if self.cause is not None and (more := self.cause()):
            words += f"\n{more}"
        waiting = [one for one, wait in blocked.items() if one.main is one or wait.ranks]
        kind = NeedsBuffering if deadlock.senders(blocked) else Deadlock
        self._fail_these(waiting, lambda: kind(words))

    def _fail_all(self, error: Exception) -> None:
        """Something is wrong with the simulation itself: every rank raises it."""
        self._fail_these([main for main in self._heads if not main.is_over], lambda: error)

    def _fail_these(self, sim_threads: list[SimThread], error: Callable[[], Exception]) -> None:
        self._failures += 1
        for sim_thread in sim_threads:
            if self._failures < PERSISTENCE:
                self._fail(sim_thread, error())
            else:
                self._stop(sim_thread)
