"""A laptop of a class: an ear that hears orders, and hands that carry out the newest.

    ear     waits at the queue `to/<me>`; says each second that we are here; closes the transport when the
            order that is being carried out is no longer the newest, so that a thread that waits in a collective notices
    hands   (the caller of `run`) train, race, or wait

The code of all that a laptop does is here. An order only chooses one of these things, and gives its numbers.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import numpy as np

import minitorch_dist.distributed as dist
from minitorch_dist.distributed import world
from minitorch_dist.distributed.exceptions import DistError, PeerLost
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.inventory.release import __version__
from minitorch_dist.tensors.dtypes import float64
from minitorch_dist.tensors.makers.creation import full
from mtd.course.classroom import messages
from mtd.course.classroom.racing import MOST_FLOATS, MOST_TIMES
from mtd.course.classroom.slip import Slip
from mtd.course.classroom.training import STEPS, Training, TrainingState
from transports.clock import PICO, SYSTEM, Thread
from transports.errors import StoreTimeout
from transports.stores.store import PrefixStore, Store

BEAT: Final = 1.0  # seconds between two pulses
JOIN: Final = 15.0  # seconds for the others to come to a world
OPERATION: Final = 60.0  # seconds for a collective
AWAY: Final = 6.0  # seconds without an answer of the host until we say so
SLICE: Final = 0.05  # seconds of a pause between two looks at the orders
MOST_LAPTOPS: Final = 1024
MOST_PACE: Final = 60.0


class Superseded(Exception):
    """There is a newer order."""


class Ended(Exception):
    """The class is over for this laptop; says why. `is_fine`: it was meant to end so."""

    def __init__(self, text: str, is_fine: bool) -> None:
        super().__init__(text)
        self.is_fine = is_fine


Say = Callable[[str], None]


class Pupil:
    """One laptop, on a store that it shares with the host."""

    def __init__(
        self, store: Store, me: str, name: str, where: str = "", backend: str = "mqtt", say: Say = lambda text: None
    ) -> None:
        self.store, self.me, self.name, self.where, self.backend = store, me, name, where, backend
        self.say = say
        self.seat = 0
        self.doing = "joining"
        self._changed = SYSTEM.condition()
        self._orders: list[Any] = []
        self._is_closed = False
        self._trouble: BaseException | None = None  # the store is gone
        self._ear: Thread | None = None
        self._interrupts: list[Thread] = []
        self._reached = SYSTEM.now()  # when the host's store last answered

    # ---------------------------------------------------------------------------------------- the ear

    def tell(self, said: messages.Said) -> None:
        """Tell the host. Our name stands before the message."""
        self.store.queue_push("desk", self.me.encode() + b" " + messages.encode(said))

    def _listen(self) -> None:
        try:
            self.tell(messages.Hello(self.name[:80], __version__, messages.PROTOCOL, self.where[:80]))
            while not self._is_closed:
                try:
                    data = self._pop()
                except StoreTimeout:
                    self.tell(messages.Pulse())
                    continue
                finally:
                    self._reached = SYSTEM.now()
                self._hear(data)
        except DistError as error:
            with self._changed:
                self._trouble = error
                self._changed.notify_all()
            self._interrupt()

    def _pop(self) -> bytes:
        self.store.wait([f"to/{self.me}"], BEAT)
        return self.store.queue_pop(f"to/{self.me}", block=False)

    def _hear(self, data: bytes) -> None:
        try:
            order = messages.decode(data, messages.ORDERS)
        except messages.Nonsense as error:
            self.say(f"the host said something that is not understood: {error}")
            return
        with self._changed:
            self._orders.append(order)
            self._changed.notify_all()
        if not isinstance(order, messages.Go | messages.Welcome):
            self._interrupt()

    def _interrupt(self) -> None:
        """End all waiting for messages: their threads get an error."""
        here = world.place().world
        if here is not None:  # it may wait a while for what was sent last: not here
            self._interrupts.append(SYSTEM.start(here.transport.close, "an interrupt"))

    # -------------------------------------------------------------------------------------- the hands

    def run(self) -> str:
        """Take part until the class is over; its last words. Ended says why it ended otherwise."""
        self._ear = SYSTEM.start(world.inherited(self._listen), f"the ear of {self.name[:20]}")
        try:
            while True:
                order = self._next()
                if isinstance(order, messages.Over):
                    return order.text  # and say goodbye: the host waits for that
                try:
                    self._carry_out(order)
                except Superseded:
                    pass
                finally:
                    self._leave_world()
        finally:
            self.close()

    def _next(self) -> Any:
        """The newest order, once there is one; those before it are void, but for the words of welcome."""
        with self._changed:
            is_away = False
            while not self._orders and self._trouble is None:
                self._changed.wait(BEAT)
                is_away = self._mention(is_away)
            if not self._orders:
                raise Ended(f"{self._trouble}", is_fine=False)
            order = self._orders.pop(0)
            if not isinstance(order, messages.Welcome | messages.Over | messages.Refused):
                while self._orders and not isinstance(self._orders[0], messages.Over | messages.Refused):
                    later = self._orders.pop(0)
                    order = order if isinstance(later, messages.Welcome) else later
            return order

    def _mention(self, was_away: bool) -> bool:
        """Say when the host cannot be reached, once, and when it can again; whether it cannot."""
        is_away = (SYSTEM.now() - self._reached) / PICO > AWAY
        if is_away and not was_away:
            self.say("The teacher's machine cannot be reached (Wi-Fi? cable?). Trying again …")
        elif was_away and not is_away:
            self.say("It is there again.")
        return is_away

    def _is_old(self) -> bool:
        """Whether something else is to be done."""
        return bool(self._orders) or self._trouble is not None or self._is_closed

    def _carry_out(self, order: Any) -> None:
        if isinstance(order, messages.Welcome):
            self.seat, self.name = order.seat, order.name
            self.doing = "waiting"
            self.say(f"You are {order.name}, seat {order.seat}. Wait for the teacher.")
        elif isinstance(order, messages.Refused):
            raise Ended(order.why, is_fine=False)
        elif isinstance(order, messages.Gather):
            self.doing = f"ready for generation {order.generation}"
            self.tell(messages.Ready(order.generation))
        elif isinstance(order, messages.Unplugged):
            self.doing = "unplugged"
            self.say("The teacher has unplugged you. The others go on; wait to be plugged in again.")
        elif isinstance(order, messages.Train | messages.Race):
            try:
                if isinstance(order, messages.Train):
                    self._train(order)
                else:
                    self._race(order)
            except (DistError, TimeoutError, ValueError) as error:
                if self._is_old():
                    raise Superseded from error
                rank = error.rank if isinstance(error, PeerLost) else -1
                self.doing = "waiting for the others"
                self.say("Somebody is gone. Wait for the next generation.")
                why = f"{type(error).__name__}: {error}"
                if isinstance(error, PeerLost):
                    why = messages.POLITE if error.kind == "closed" else error.reason
                self.tell(messages.Lost(order.generation, rank, why[:500]))

    def _enter_world(self, order: messages.Train | messages.Race, table: int = 0) -> Slip:
        slip = Slip()
        world.place().given["journal"] = slip
        with warnings.catch_warnings():  # that it is not encrypted is said in the page for teachers
            warnings.simplefilter("ignore", RuntimeWarning)
            store = PrefixStore(f"g/{order.generation}/{table}", self.store)
            rank, size, timeout = order.rank, order.size, timedelta(seconds=JOIN)
            dist.init_process_group(self.backend, store=store, rank=rank, world_size=size, timeout=timeout)
        world.current().default_group.set_timeout(timedelta(seconds=OPERATION))
        if self._is_old():  # it came while there was no transport to close
            raise Superseded
        return slip

    def _leave_world(self) -> None:
        if dist.is_initialized():
            with suppress(DistError):
                dist.destroy_process_group()

    # --------------------------------------------------------------------------------------- training

    def _train(self, order: messages.Train) -> None:
        _demand(0 <= order.rank < order.size <= MOST_LAPTOPS, "no rank of its world", order)
        can_be = 0 <= order.step <= order.steps <= STEPS and 0 <= order.pace <= MOST_PACE
        _demand(can_be, "no steps", order)
        _demand(order.algorithm in choice.known("all_reduce"), "no algorithm", order)
        state = TrainingState.of(order.state)
        slip = self._enter_world(order)
        training = Training(state, order.step, order.algorithm)
        self.say(f"Generation {order.generation}: you are rank {order.rank} of {order.size}, from step {order.step}.")
        while training.step_number < order.steps:
            self.doing = f"step {training.step_number + 1}"
            begun = SYSTEM.now()
            slip.tear()
            loss = training.step(order.rank, order.size)
            step = training.step_number
            if order.rank == 0:
                self.tell(messages.Saved(order.generation, step, loss, training.state().text()))
            if order.picture and (step % order.picture == 0 or step == order.step + 1):
                self.tell(messages.Drawn(order.generation, step, slip.tear()))
            self._pause(order.pace - (SYSTEM.now() - begun) / PICO)
        self.doing = "done"
        self.say(f"All {order.steps} steps are made: weights {training.state().digest}.")
        self.tell(messages.Done(order.generation, training.state().digest))

    def _pause(self, seconds: float) -> None:
        deadline = SYSTEM.deadline(max(seconds, 0.0))
        while True:
            if self._is_old():
                raise Superseded
            left = deadline.left()
            if not left:
                return
            SYSTEM.sleep(min(left, SLICE))

    # ------------------------------------------------------------------------------------------ races

    def _race(self, order: messages.Race) -> None:
        _demand(0 <= order.rank < order.size <= MOST_LAPTOPS, "no rank of its world", order)
        _demand(1 <= order.floats <= MOST_FLOATS and 1 <= order.times <= MOST_TIMES, "no race", order)
        is_known = order.algorithm in choice.known("all_reduce")
        _demand(is_known and 0 <= order.table < 16, "no table", order)
        self.say(f"A race: you are at table {order.table + 1}, which takes {order.algorithm}.")
        slip = self._enter_world(order, order.table)
        dist.barrier()
        self.tell(messages.Prepared(order.generation))
        self._await_go(order.generation)
        slip.tear()
        begun, sent, is_right = SYSTEM.now(), 0, True
        for _ in range(order.times):
            mine = full([order.floats], float(order.rank + 1), dtype=float64)
            dist.all_reduce(mine, algorithm=order.algorithm)
            wanted = order.size * (order.size + 1) // 2
            is_right &= bool((np.asarray(mine.array) == wanted).all())
            sent += _sent(slip.tear())
        seconds = (SYSTEM.now() - begun) / PICO
        self.say(f"{order.times} sums in {seconds:.2f} s.")
        self.tell(messages.Raced(order.generation, seconds, sent, is_right))

    def _await_go(self, generation: int) -> None:
        while True:
            with self._changed:
                while not self._orders and self._trouble is None:
                    self._changed.wait(BEAT)
                if self._orders and self._orders[0] == messages.Go(generation):
                    self._orders.pop(0)
                    return
            raise Superseded

    # -------------------------------------------------------------------------------------------- end

    def close(self) -> None:
        """Say goodbye, and end the ear."""
        if self._is_closed:
            return
        if self._trouble is None:
            with suppress(DistError):
                self.tell(messages.Leave())
        self._is_closed = True
        self._leave_world()
        for thread in (self._ear, *self._interrupts):
            if thread is not None:
                thread.join()

    def __repr__(self) -> str:
        return f"<Pupil {self.name!r}, seat {self.seat}, {self.doing}>"


def _demand(is_so: bool, what: str, order: Any) -> None:
    if not is_so:
        raise ValueError(f"an order that makes no sense ({what}): {str(order)[:200]}")


def _sent(lines: str) -> int:
    """Payload bytes that left, by the journal."""
    events = map(json.loads, lines.splitlines())
    return sum(event["bytes"] for event in events if event["what"] == "send")
