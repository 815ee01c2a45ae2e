"""Virtual time: of all ranks exactly one runs, and time jumps when none can.

    simulated threads   threads or greenlets, of which one holds the baton           (`sim_threads`)
    scheduler     who has it, and who is next                                  (`scheduler`)
    event queue    what will happen: messages land, sleeps and timeouts end     (`event_queue`)

Instants are whole picoseconds. A counter breaks ties in the heaps. The order in which simulated threads
wake is a policy: first come first served, or shuffled by a seed. So a program runs the same way each time.
Only sleeping and the network cost virtual time.

    clock = VirtualClock()
    for rank in range(4):
        clock.start(partial(program, rank), f"rank {rank}")
    clock.run()

The heap with its counter is simpy's idea, the jump when everybody waits trio's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

from transports.clock import Clock, picoseconds
from transports.virtual.condition import VirtualCondition
from transports.virtual.inboxes import Waiting
from transports.virtual.scheduler import Scheduler
from transports.virtual.sim_thread import Join, Live, SimThread, Stopped

ENGINE = "threads"  # what simulated threads are where nothing is said
SPINS = 16  # fruitless polls at one instant before polling counts as waiting


class VirtualClock(Scheduler, Clock):
    """`seed` shuffles the order in which simulated threads wake; None: first come, first served.

    `endless`: waits with a timeout of at least so many seconds count as waits without one when nothing else
    is left to happen. So a deadlock is reported when it arises, and not when the first default timeout is
    over. `limit`: seconds of virtual time after which everything fails; `events`: after how many events it
    does (Livelock). `engine`: "threads" (None, too), or "greenlet", where that is installed: the same,
    faster.
    """

    is_virtual = True
    of_time = " of virtual time"

    def __init__(
        self,
        seed: int | None = None,
        endless: float | None = None,
        limit: float | None = None,
        engine: str | None = None,
        events: int | None = None,
    ) -> None:
        super().__init__(seed, endless, limit, events)
        self.engine = engine or ENGINE
        self._made = maker(self.engine, self._live, self._join)
        self.at: Callable[[int, Callable[[], None]], None] = self._event_queue.at
        """`at(instant, act)` lets `act` happen. It may wake simulated threads, and may not wait."""
        # Of the simulation that runs under this clock. Each is entered by the module that is named.
        self.medium: Any = None  # the network (`virtual.medium`)
        self.pairs: Any = None  # messages that wait for their receives (`virtual.rendezvous_sends`)
        self.stage: Any = None  # all ranks of the run (`sim.stage`)
        self.power: Any = None  # how fast each rank computes (`sim.runner`)
        self.devices: Any = None  # where operations take time (`sim.device_time`)
        self.store_span: Callable[[int], int] | None = None  # for how long a rank's next command is on its way
        self.store_answered: Callable[[int, str, Sequence[str], Sequence[bytes]], None] | None = None
        self.chance_seed = 0  # of the ranks' random numbers (`launching.chance`)
        self.worlds_left: dict[Any, Any] = {}  # groups of ranks that have left (`exit_check`)

    # ------------------------------------------------------------------------------- the clock

    def now(self) -> int:
        return self._event_queue.now

    def condition(self, waits_for: Callable[[], str] | str = "") -> VirtualCondition:
        return VirtualCondition(self, waits_for)

    def start(self, function: Callable[[], None], name: str) -> SimThread:
        """Within a simulated thread: a helper of its rank. From outside, before `run`: the next rank."""
        if self._is_running:
            main: SimThread | None = self.me().main
            rank = self.me().rank
        else:
            main, rank = None, len(self._heads)
        sim_thread = self._made(function, name, rank, main)
        self._sim_threads[sim_thread] = None
        if main is None:
            self._heads.append(sim_thread)
            self._living += 1
        else:
            sim_thread.main.helpers += (sim_thread,)
        self._ready.append(sim_thread)
        return sim_thread

    def sleep(self, seconds: float) -> None:
        self.pause(picoseconds(seconds))

    def pause(self, span: int) -> None:
        """Let `span` picoseconds go by: a sleep, or a computation. 0 lets the others run."""
        me = self.me()
        if span <= 0:
            return self.poll(gives_way=True)
        until = self._event_queue.now + span
        self.at(until, lambda: self.wake(me))
        waited = me.waited
        while self._event_queue.now < until:  # a sleep that was broken off may wake us too early
            self.park(why=_sleeping)
        me.slept += me.waited - waited
        me.waited = waited

    def asks_store(self) -> None:
        me = self._current
        if self.store_span is None or me is None or me.is_stopped:
            return
        if span := self.store_span(me.rank):
            self.pause(span)

    def heard_store(self, operation: str, keys: Sequence[str], answer: Sequence[bytes]) -> None:
        if self.store_answered is not None and self._current is not None:
            self.store_answered(self._current.rank, operation, keys, answer)

    @property
    def happened(self) -> int:
        """How many events there were."""
        return self._event_queue.happened

    # ----------------------------------------------------------- for conditions and transports

    def settle(self, act: Callable[[], None]) -> None:
        """Let `act` happen at the end of this instant, when nobody has anything left to do in it:
        then it does not matter who did it first."""
        self._event_queue.settle(act)

    def poll(self, gives_way: bool = False) -> None:
        """The caller looked for something in vain. Polling is a way of waiting: it
        lets the others run and time go on, which else would stand still for ever."""
        me = self.me()
        if me.is_stopped:
            raise Stopped
        me.spins = me.spins + 1 if me.spun_at == self._event_queue.now else 1
        me.spun_at = began = self._event_queue.now
        if me.spins >= SPINS:
            self._pollers.append(me)
            me.is_parked, me.why, me.about = True, _polling, ()
        elif gives_way and self._ready:
            self._ready.append(me)
        else:
            return
        self._hand_over(me)
        self._resumed(me, began)

    def _join(self, sim_thread: SimThread, timeout: float | None) -> None:
        if not self._is_running:
            return self.run()
        if not sim_thread.is_over:
            me = self.me()
            sim_thread.joiners += (me,)
            self.park(
                None if timeout is None else picoseconds(timeout),
                lambda: Waiting((), f"the end of {sim_thread.name!r}"),
            )


def maker(engine: str, live: Live, join: Join) -> Callable[..., SimThread]:
    """The class of the simulated threads of one clock, which all share these two functions of it."""
    if engine == "threads":
        return partial(SimThread, live, join)
    if engine != "greenlet":
        raise ValueError(f"a clock's engine is 'threads' or 'greenlet', not {engine!r}")
    if not has_greenlets():
        raise ValueError(
            "the engine 'greenlet' needs the package greenlet: pip install 'minitorch_dist[fast]', "
            "or take engine='threads', which does the same in more time"
        )
    from transports.virtual import greenlets

    return partial(greenlets.GreenletSimThread, greenlets.GreenletThread(), live, join)


def has_greenlets() -> bool:
    """Whether the engine `greenlet` can be had."""
    return find_spec("greenlet") is not None


def _sleeping() -> Waiting:
    return Waiting((), "the end of a sleep")


def _polling() -> Waiting:
    return Waiting((), "something for which it polls")
