"""A room with laptops that only say what a test lets them say."""

from __future__ import annotations

from typing import Any

from minitorch_dist.inventory.release import __version__
from mtd.course.classroom import messages
from mtd.course.classroom.messages import Done, Hello, Order, Pulse, Ready, Saved, Train
from mtd.course.classroom.room import ClassPlan, Room
from mtd.course.classroom.training import Training, TrainingState


class Class:
    """A room, its time, and the last order of each laptop."""

    def __init__(self, *names: str, seats: int = 20, **plan: Any) -> None:
        self.room, self.now = Room(seats, ClassPlan(**plan)), 0.0
        self.orders: dict[str, list[Order]] = {}
        for name in names:
            self.hello(name)

    def hear(self, who: str, said: Any) -> None:
        data = said if isinstance(said, bytes) else messages.encode(said)
        self.room.hear(who, data, self.now)
        self.fetch()

    def hello(self, who: str, name: str = "", version: str = __version__) -> None:
        self.hear(who, Hello(name or who, version, messages.PROTOCOL, "a laptop"))

    def fetch(self) -> None:
        """Orders travel as bytes, so that all of them can."""
        for who, order in self.room.outbox:
            self.orders.setdefault(who, []).append(messages.decode(messages.encode(order), messages.ORDERS))
        self.room.outbox = []

    def last(self, who: str) -> Any:
        return self.orders[who][-1]

    def wait(self, seconds: float, *who: str) -> None:
        """Time passes; these say each second that they are there."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(self.now + 0.5, end)
            for one in who:
                self.hear(one, Pulse())
            self.room.tick(self.now)
            self.fetch()

    def gather(self, *who: str) -> None:
        """These become ready, and a generation begins."""
        for one in who:
            self.hear(one, Ready(self.room.generation.number))
        self.wait(0.5, *who)

    def start(self, *who: str) -> None:
        self.room.start()
        self.fetch()
        self.gather(*who)

    def ranks(self) -> list[str]:
        return [seat.name for seat in self.room.generation.members]

    def save(self, who: str, steps: int) -> None:
        """This laptop makes the next steps, alone, and brings them."""
        for _ in range(steps):
            training = Training(self.room.state, self.room.step)
            loss = training.step(0, 1)
            self.hear(who, Saved(self.room.generation.number, training.step_number, loss, training.state().text()))

    def done(self, *who: str, digest: str = "") -> None:
        for one in who:
            self.hear(one, Done(self.room.generation.number, digest or self.room.state.digest))


def train_order(order: Order) -> Train:
    assert isinstance(order, Train), order
    return order


def beginning() -> str:
    return TrainingState.beginning().text()
