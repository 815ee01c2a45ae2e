"""Laptops as threads: the whole class in one process, over queues, with the golden weights at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from minitorch_dist.distributed import world
from mtd.cli.classroom import hosting
from mtd.course.classroom import messages, pages, pupil, racing, view
from mtd.course.classroom.host import ClassHost
from mtd.course.classroom.messages import Race, Train, Welcome
from mtd.course.classroom.pupil import Ended, Pupil
from mtd.course.classroom.room import ClassPlan, Room
from tests.course.classroom.room_tools import beginning
from transports.clock import SYSTEM
from transports.stores.store import HashStore

PATIENCE = 300.0


@pytest.fixture(autouse=True)
def _quick_pulses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pupil, "BEAT", 0.05)


class School:
    """A host, and laptops in threads."""

    def __init__(self, *names: str, **plan: object) -> None:
        self.store = HashStore()
        self.room = Room(20, ClassPlan(pace=0.0, **plan))  # type: ignore[arg-type]
        self.host = ClassHost(self.store, self.room)
        self.ends: dict[str, str | BaseException] = {}
        self.said: dict[str, list[str]] = {name: [] for name in names}
        self.threads = [SYSTEM.start(lambda name=name: self._live(name), name) for name in names]  # type: ignore[misc]

    def _live(self, name: str) -> None:
        with world.StandingIn(world.WorldScope()):
            me = name.encode().hex().rjust(16, "0")[:16]
            laptop = Pupil(self.store, me, name, "here", backend="queue", say=self.said[name].append)
            try:
                self.ends[name] = laptop.run()
            except BaseException as error:
                self.ends[name] = error

    def until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not is_so():
            self.host.pump()
            SYSTEM.sleep(0.002)
            assert time.monotonic() < end, f"{self.room!r}: {self.room.story}"


@contextmanager
def school(*names: str, **plan: object) -> Iterator[School]:
    here = School(*names, **plan)
    try:
        here.until(lambda: len(here.room.seats.here()) == len(names))
        yield here
    finally:
        here.room.end("bye")
        here.host.send()
        for thread in here.threads:
            thread.join()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_however_many_the_weights_are_those_of_one_alone(count: int) -> None:
    names = [f"P{n}" for n in range(count)]
    with school(*names, steps=20) as here:
        here.room.start()
        here.until(lambda: here.room.is_finished)
        assert here.room.is_golden, here.room.verdict
        assert {seat.digest for seat in here.room.seats.all()} == {here.room.state.digest}
    assert here.ends == dict.fromkeys(names, "bye")


@pytest.mark.slow
def test_somebody_is_unplugged_and_plugged_in_in_the_middle_and_then_they_race() -> None:
    with school("Ada", "Bob", "Kim", "Lee", steps=160) as here:
        here.room.start()
        here.until(lambda: here.room.step >= 10)
        here.room.unplug("Ada")  # rank 0
        here.until(lambda: here.room.step >= 40)
        here.room.plug("Ada")
        here.until(lambda: here.room.phase == "training" and len(here.room.generation.members) == 4)
        here.until(lambda: here.room.is_finished)
        assert here.room.is_golden and set(here.room.verdicts) == set(range(20, 161, 20))
        assert any("unplugged you" in line for line in here.said["Ada"])
        assert len(here.room.past) >= 3 and here.room.past[-1].last == 160
        check_views(here.room)
        here.room.race(racing.contest("ring,tree", 1000, 3))
        here.until(lambda: bool(here.room.races))
        ring, tree = here.room.races[0].tables
        assert ring.is_right and tree.is_right and ring.sent == tree.sent == 3 * 2 * 1000 * 8
        digests = [seat.digest for seat in here.room.seats.all()]
        assert here.room.is_golden and digests == [here.room.state.digest] * 4, "a race takes nothing away"


def check_views(room: Room) -> None:
    """What is shown of a class that has trained: 80 columns, and every name."""
    assert room.drawing is not None
    scene = room.drawing.scene
    assert len(scene.lanes) == len(room.drawing.names) and len(scene.arrows) >= len(scene.lanes) - 1
    assert all(0 <= arrow.departed <= arrow.arrived for arrow in scene.arrows)
    picture = view.picture(room, 80)
    assert picture is not None and all(len(line) <= 80 for line in picture.lines)
    assert all(name in page for name in ("Ada", "Lee") for page in (pages.live(room, "join"), pages.certificate(room)))


def test_the_end_of_the_store_ends_a_laptop_in_words() -> None:
    class Gone(HashStore):
        def command(self, *arguments: object) -> list[bytes]:
            from transports.errors import DistNetworkError

            raise DistNetworkError("the store is gone: rank 0 closed it")

    with pytest.raises(Ended, match="rank 0 closed it"), world.StandingIn(world.WorldScope()):
        Pupil(Gone(), "0" * 16, "Ada", backend="queue").run()


FINE = Train(1, 0, 1, 0, 1, beginning(), "binomial", 0.0, 0)
RACE = Race(1, 0, "ring", 0, 1, 1, 1)
HOSTILE = [
    FINE._replace(rank=1),  # no rank of its world
    FINE._replace(rank=-1),
    FINE._replace(size=1 << 30),
    FINE._replace(steps=1 << 30),
    FINE._replace(step=2),
    FINE._replace(algorithm="os.system"),
    FINE._replace(state="zz"),
    FINE._replace(state=beginning()[:-16]),
    FINE._replace(pace=1e9),
    RACE._replace(floats=1 << 39),  # memory
    RACE._replace(times=1 << 39),  # time
    RACE._replace(table=99),
    RACE._replace(algorithm="../ring"),
]


def test_an_order_that_makes_no_sense_is_not_carried_out() -> None:
    """Nor does it end the laptop: it says that it cannot, and waits for a better one."""
    store, me = HashStore(), "a" * 16
    said: list[str] = []

    def live() -> None:
        with world.StandingIn(world.WorldScope()):
            said.append(Pupil(store, me, "Ada", backend="queue").run())

    thread = SYSTEM.start(live, "Ada")
    assert heard(store) == "Hello"
    for data in (b"", b"nonsense", b'["Pulse"]', b'["Eval","1"]', messages.encode(Welcome(1, "Ada"))):
        store.queue_push(f"to/{me}", data)
    for order in HOSTILE:
        store.queue_push(f"to/{me}", messages.encode(order))
        assert heard(store) == "Lost", order
    store.queue_push(f"to/{me}", messages.encode(FINE))
    assert [heard(store), heard(store)] == ["Saved", "Done"]
    store.queue_push(f"to/{me}", messages.encode(messages.Over("bye")))
    thread.join()
    assert said == ["bye"]


def heard(store: HashStore) -> str:
    """The next word at the desk but for pulses."""
    while True:
        _, _, data = store.queue_pop("desk").partition(b" ")
        word = messages.decode(data, messages.SAID)
        if not isinstance(word, messages.Pulse):
            return type(word).__name__


def test_a_host_out_of_reach_is_said_once_and_again_when_it_is_back() -> None:
    said: list[str] = []
    laptop = Pupil(HashStore(), "b" * 16, "Bob", backend="queue", say=said.append)
    assert not laptop._mention(False)
    laptop._reached -= round((pupil.AWAY + 1) * 10**12)
    assert laptop._mention(False) and laptop._mention(True)
    laptop._reached = SYSTEM.now()
    assert not laptop._mention(True)
    assert [line[:14] for line in said] == ["The teacher's ", "It is there ag"]


def test_the_teacher_goes_only_when_all_laptops_know_that_the_class_is_over() -> None:
    with school("Ada", "Bob", "Kim") as here:
        hosting._end(here.host, 0)
        assert here.room.unparted == [] and len(here.room.parted) == 3
    assert here.ends == dict.fromkeys(["Ada", "Bob", "Kim"], "The class is over.")
