"""The rules of a class, without wires and clocks: what is heard goes in, orders come out.

    room.hear(me, data, now)      what a laptop said: bytes, of whatever kind
    room.tick(now)                time has passed
    room.start, race, unplug …    what the teacher wants
    room.outbox                   orders: (whose, what)            room.story    what happened, in words

    lobby ── start ──► gathering ──► training ──► lobby (all steps are made)
      │                  ▲   ▲          │
      └───── race ───────┘   └──────────┘  somebody is gone, has come, or was unplugged: the next generation

Elastic training as in lesson 29. A laptop that misses another says so, and the next generation is opened.
All stop, and say that they are ready. Those that did so make the roster, and go on from the last step that
was kept. The roster is the host's, and a laptop's rank is its place in it. Messages of another generation,
another rank, or another step than the next are dropped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from minitorch_dist.inventory.release import __version__
from mtd.course.classroom import messages, names, racing
from mtd.course.classroom.drawing import StepDrawing
from mtd.course.classroom.racing import ClassContest
from mtd.course.classroom.seats import AWAY, HERE, LEFT, UNPLUGGED, Full, Seat, Seats
from mtd.course.classroom.story import Story
from mtd.course.classroom.training import STEPS, StateError, TrainingState, golden

LOBBY, GATHERING, TRAINING, RACING = "lobby", "gathering", "training", "racing"
SETTLE: Final = 0.3  # seconds that a gathering takes at least: who comes at the same time belongs to it
PATIENCE: Final = 20.0  # seconds for a laptop to become ready
MAX_REFUSALS: Final = 1000  # that are told to the class
AHEAD: Final = 20  # steps that a laptop may have made before rank 0's word of them is heard


class Cannot(Exception):
    """The teacher's wish cannot be carried out, and the text says why."""


@dataclass(frozen=True)
class ClassPlan:
    """The settings that are the same in all generations."""

    steps: int = STEPS
    pace: float = 0.25
    picture: int = 10
    algorithm: str = "binomial"


@dataclass
class Generation:
    """Those who worked together for a while."""

    number: int
    why: str
    members: list[Seat] = field(default_factory=list)  # by rank
    names: list[str] = field(default_factory=list)  # as they were then
    first: int = 0  # steps made before
    last: int = 0  # and after


class Room:
    def __init__(self, seats: int, plan: ClassPlan | None = None) -> None:
        self.seats, self.plan = Seats(seats), plan or ClassPlan()
        self.phase, self.now = LOBBY, 0.0
        self.generation = Generation(0, "")
        self.past: list[Generation] = []  # that made steps
        self.story = Story()
        self.outbox: list[tuple[str, messages.Order]] = []
        self.dropped: Counter[str] = Counter()
        self.contest: ClassContest | None = None  # the race that is being run, or was
        self.races: list[ClassContest] = []  # that came to an end
        self.drawing: StepDrawing | None = None  # the last whole picture
        self.is_over = False
        self.parted: set[int] = set()  # seats that have said goodbye since
        self._drawing: StepDrawing | None = None  # the one that is being put together
        self._opened = 0.0
        self._refusals = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.state = TrainingState.beginning()
        self.step = 0
        self.losses: list[tuple[int, float]] = []  # the generation, the loss
        self.verdicts: dict[int, bool] = {}  # step: were these the golden weights?
        self.is_finished = False
        self.past = []
        for seat in self.seats.all():
            seat.digest, seat.generations, seat.steps = "", [], 0

    # ------------------------------------------------------------------------- what the teacher wants

    def start(self) -> None:
        """Train: from the beginning, or on from where it stopped."""
        if self.phase != LOBBY:
            raise Cannot(f"the class is {self.phase} already")
        self._demand(1, "to train")
        if self.is_finished:
            self._begin_anew()
        self.contest = None
        self._gather("training begins" if not self.step else "training goes on")

    def race(self, contest: ClassContest) -> None:
        """All who are here, at as many tables as there are algorithms; the odd ones out watch."""
        if self.phase != LOBBY:
            raise Cannot(f"the class is {self.phase}: a race is for when it is in the lobby")
        tables = len(contest.algorithms)
        self._demand(2 * tables, f"for a race of {tables} tables")
        self.contest = contest
        self._gather("a race")

    def unplug(self, said: str) -> Seat:
        seat = self._seat(said)
        if seat.state == UNPLUGGED:
            raise Cannot(f"{seat} is unplugged already; plug {seat.number} lets it in again")
        seat.state = UNPLUGGED
        self._tell(seat, messages.Unplugged())
        self._say(f"{seat} was unplugged by the teacher")
        self._gone(seat, f"{seat} was unplugged")
        return seat

    def plug(self, said: str) -> Seat:
        seat = self._seat(said)
        if seat.state != UNPLUGGED:
            raise Cannot(f"{seat} is not unplugged: it is {seat.state}")
        seat.state, seat.heard = HERE, self.now
        self._say(f"{seat} was plugged in again")
        self._tell(seat, messages.Welcome(seat.number, seat.name))
        self._came(seat)
        return seat

    def stop(self) -> None:
        """Back to the lobby; the trained weights are kept."""
        if self.phase == LOBBY:
            raise Cannot("nothing is under way")
        self._close_generation()
        self.contest = None if self.phase == GATHERING else self.contest
        self.phase = LOBBY
        self.generation = Generation(self.generation.number + 1, "stopped")
        for seat in self.seats.here():
            self._tell(seat, messages.Gather(self.generation.number, "the teacher has stopped it"))
        self._say("stopped by the teacher")

    def end(self, text: str) -> None:
        """The class is over."""
        self._close_generation()
        self.is_over, self.phase = True, LOBBY
        for seat in self.seats.all():
            if seat.state != LEFT:
                self._tell(seat, messages.Over(text))

    @property
    def unparted(self) -> list[Seat]:
        """Laptops that are here and have not yet answered that the class is over."""
        return [seat for seat in self.seats.here() if seat.number not in self.parted]

    def _seat(self, said: str) -> Seat:
        seat = self.seats.named(said)
        if seat is None:
            there = ", ".join(seat.name for seat in self.seats.all()) or "nobody"
            raise Cannot(f"there is no {names.clean(said)!r}; there are {there}")
        return seat

    def _demand(self, count: int, what: str) -> None:
        here = len(self.seats.here())
        if here < count:
            needed = f"{count} laptops are" if count > 1 else "a laptop is"
            raise Cannot(f"{needed} needed {what}, and {here or 'none'} {'is' if here == 1 else 'are'} here")

    # ---------------------------------------------------------------------------------- what is heard

    def hear(self, me: str, data: bytes, now: float) -> None:
        """A word of a laptop; nonsense is dropped and counted."""
        self.now = now
        try:
            said = messages.decode(data, messages.SAID)
        except messages.Nonsense:
            self.dropped["nonsense"] += 1
            return
        seat = self.seats.of(me)
        if isinstance(said, messages.Hello):
            self._hello(me, seat, said)
        elif seat is None:
            self.dropped["stranger"] += 1
        else:
            self._listen(seat, said)

    def _hello(self, me: str, seat: Seat | None, said: messages.Hello) -> None:
        if seat is not None:  # it says so again: nothing new
            self._tell(seat, messages.Welcome(seat.number, seat.name))
            return
        why = self._why_not(said)
        if not why:
            try:
                seat = self.seats.give(me, said.name, said.where, self.now)
            except Full as full:
                why = (
                    f"all {self.seats.count} seats are taken ({names.clean(str(full), 200)}). The teacher can begin a "
                    f"class with more: mtd class host --seats {self.seats.count + 1}"
                )
        if seat is None:
            self.outbox.append((me, messages.Refused(why)))
            if self._refusals < MAX_REFUSALS:
                self._refusals += 1
                self._say(f"{names.clean(said.name) or names.NOBODY} could not join: {why}")
            return
        self._tell(seat, messages.Welcome(seat.number, seat.name))
        self._say(f"{seat} joins: seat {seat.number}")
        self._came(seat)

    def _why_not(self, said: messages.Hello) -> str:
        if self.is_over:
            return "the class is over"
        if said.protocol != messages.PROTOCOL or said.version != __version__:
            theirs = names.clean(said.version, 20)
            return (
                f"this laptop has minitorch_dist {theirs}, and the class {__version__}. Install the same: "
                f"pip install minitorch_dist=={__version__}, or the teacher's copy"
            )
        return ""

    def _listen(self, seat: Seat, said: messages.Said) -> None:
        seat.heard = self.now
        if self.is_over:
            if isinstance(said, messages.Leave):
                self.parted.add(seat.number)
            return
        if seat.state == UNPLUGGED:
            return  # the cable is out: nothing comes through, and no goodbye plugs it in again
        if isinstance(said, messages.Leave):
            self._leaves(seat)
            return
        if seat.state in (AWAY, LEFT):
            seat.state = HERE
            self._say(f"{seat} is back")
            self._came(seat)
        if seat.is_stuck and not isinstance(said, messages.Pulse):
            seat.is_stuck = False
            self._came(seat)
        seat.is_blamed = False
        if isinstance(said, messages.Pulse):
            return
        assert not isinstance(said, messages.Hello), "it was heard before"
        if said.generation != self.generation.number:
            self.dropped["old generation"] += 1
            return
        if isinstance(said, messages.Ready):
            seat.ready = said.generation
        elif seat not in self.generation.members:
            self.dropped["not in the roster"] += 1
        elif isinstance(said, messages.Lost):
            self._lost(seat, said)
        elif isinstance(said, messages.Prepared | messages.Raced) and self.phase == RACING:
            self._race_on(seat, said)
        elif self.phase == TRAINING:
            self._train_on(seat, said)
        else:
            self.dropped["out of turn"] += 1

    def _leaves(self, seat: Seat) -> None:
        if seat.state != LEFT:
            seat.state = LEFT
            self._say(f"{seat} leaves")
            self._gone(seat, f"{seat} left")

    def _lost(self, seat: Seat, said: messages.Lost) -> None:
        if self.phase not in (TRAINING, RACING):
            return
        members, why = self.generation.members, f"{seat} could not go on"
        if 0 <= said.rank < len(members) and members[said.rank] is not seat:
            other = members[said.rank]
            why = f"{seat} lost {other}"
            if messages.POLITE not in said.why:
                other.is_blamed = True
        self._say(f"{why}: {names.clean(said.why, 200)}" if said.rank < 0 else why)
        self._gather(why)

    # ------------------------------------------------------------------------------------- training

    def _train_on(self, seat: Seat, said: messages.Said) -> None:
        rank = self.generation.members.index(seat)
        if isinstance(said, messages.Saved):
            self._keep(rank, said)
        elif isinstance(said, messages.Drawn):
            self._draw(rank, said)
        elif isinstance(said, messages.Done):
            seat.digest = names.clean(said.digest)
            self._perhaps_finish()

    def _keep(self, rank: int, said: messages.Saved) -> None:
        if rank != 0 or said.step != self.step + 1 or said.step > self.plan.steps:
            self.dropped["not the next step"] += 1
            return
        try:
            if said.loss < 0:
                raise StateError("a loss below 0")
            self.state = TrainingState.of(said.state)
        except StateError:
            self.dropped["no weights"] += 1
            self._say(f"{self.generation.members[0]} brought weights that are none")
            return
        self.step = said.step
        self.losses.append((self.generation.number, said.loss))
        for seat in self.generation.members:
            seat.steps += 1
            if self.generation.number not in seat.generations:
                seat.generations.append(self.generation.number)
        wanted = golden().get(self.step)
        if wanted is not None:
            self.verdicts[self.step] = self.state.digest == wanted
            if not self.verdicts[self.step]:
                self._say(
                    f"step {self.step}: these are not the golden weights; {self.generation.members[0]} brought them"
                )
        self._perhaps_finish()

    def _draw(self, rank: int, said: messages.Drawn) -> None:
        size = len(self.generation.members)
        if said.step > self.step + AHEAD:  # nobody could draw an earlier one after it
            self.dropped["not a step of now"] += 1
            return
        here = self._drawing
        if here is None or (here.generation, here.step) != (said.generation, said.step):
            if here is not None and here.generation == said.generation and here.step > said.step:
                return
            here = StepDrawing(said.generation, said.step, list(self.generation.names))
            self._drawing = here
        here.add(rank, said.lines)
        if len(here.lines) == size:
            self.drawing, self._drawing = here, None

    def _perhaps_finish(self) -> None:
        """All who are here are done; if what they have done was kept, it is over."""
        members = [seat for seat in self.generation.members if seat.state == HERE and not seat.is_stuck]
        if self.phase != TRAINING or not members or not all(seat.digest for seat in members):
            return
        if self.step < self.plan.steps:
            if self.generation.members[0].state != HERE:
                self._gather("the last steps were not kept")
            return
        self._close_generation()
        self.phase, self.is_finished = LOBBY, True
        self._say(f"{self.step} steps are made, and {self.verdict}")

    @property
    def is_golden(self) -> bool:
        """Whether the weights are those of one laptop alone, recorded in lesson 4; on every laptop."""
        return self.is_finished and self.verdicts.get(self.step, False) and not self.unlike

    @property
    def unlike(self) -> list[str]:
        """The laptops that ended with other weights than those that were kept."""
        said = ((seat.name, seat.digest) for seat in self.seats.all() if seat.digest)
        return [name for name, digest in said if digest != self.state.digest]

    @property
    def verdict(self) -> str:
        if self.is_golden:
            return "the weights are the golden ones, bit for bit"
        if self.unlike:
            return f"these laptops have other weights than the class: {', '.join(self.unlike)}"
        if self.step not in golden():
            return f"no weights are recorded for step {self.step}"
        return "the weights are NOT the golden ones"

    # ----------------------------------------------------------------------------------------- races

    def _race_on(self, seat: Seat, said: messages.Prepared | messages.Raced) -> None:
        assert self.contest is not None, "only a race is raced"
        if self.contest.take(seat.number, said):
            for each in self.generation.members:
                self._tell(each, messages.Go(self.generation.number))
            self._say("go!")
        if self.contest.is_over:
            self.phase = LOBBY
            self.races.append(self.contest)
            self._say(self.contest.in_words())

    # ----------------------------------------------------------------------------------- generations

    def _came(self, seat: Seat) -> None:
        if self.phase in (TRAINING, GATHERING):
            self._gather(f"{seat} came")

    def _gone(self, seat: Seat, why: str) -> None:
        is_at_work = seat in self.generation.members and self.phase in (TRAINING, RACING)
        if is_at_work or self.phase == GATHERING:
            self._gather(why)

    def _gather(self, why: str) -> None:
        """Open the next generation: everybody stops, and says that it is ready."""
        self._close_generation()
        self.generation = Generation(self.generation.number + 1, why)
        self.phase, self._opened, self._drawing = GATHERING, self.now, None
        for seat in self.seats.all():
            if seat.state == HERE:
                self._tell(seat, messages.Gather(self.generation.number, why))

    def _close_generation(self) -> None:
        if self.phase == TRAINING and self.step > self.generation.first:
            self.generation.last = self.step
            self.past.append(self.generation)

    def tick(self, now: float) -> None:
        """Let time pass: a laptop that was silent for too long is away, and a gathering may be complete."""
        self.now = now
        for seat in self.seats.all():
            if seat.number in self.parted:
                continue
            if seat.state == HERE and now - seat.heard > seat.is_silent_after:
                seat.state = AWAY
                self._say(f"{seat} is gone")
                self._gone(seat, f"{seat} is gone")
        if self.phase == TRAINING:
            self._perhaps_finish()
        if self.phase == GATHERING:
            self._perhaps_begin()

    def _perhaps_begin(self) -> None:
        here, waited = self.seats.here(), self.now - self._opened
        late = [seat for seat in here if seat.ready != self.generation.number]
        if late and waited > PATIENCE:
            for seat in late:
                seat.is_stuck = True
                self._say(f"{seat} does not answer; the others go on")
            here, late = self.seats.here(), []
        if late or not here or waited < SETTLE:
            return
        if self.contest is not None and not self.contest.is_over:
            self._begin_race(here)
        else:
            self._begin_training(here)

    def _begin_training(self, here: list[Seat]) -> None:
        generation, plan = self.generation, self.plan
        generation.members, generation.names = here, [seat.name for seat in here]
        generation.first = generation.last = self.step
        self.phase = TRAINING
        who = f"{len(here)} laptop{'s' * (len(here) != 1)}"
        where = f"on from step {self.step}" if self.step else "from the beginning"
        self._say(f"generation {generation.number} ({generation.why}): {who} {where}")
        same = self.step, plan.steps, self.state.text(), plan.algorithm, plan.pace, plan.picture
        for seat in self.seats.all():
            seat.digest = ""
        for rank, seat in enumerate(here):
            self._tell(seat, messages.Train(generation.number, rank, len(here), *same))

    def _begin_race(self, here: list[Seat]) -> None:
        assert self.contest is not None, "somebody wanted it"
        if len(here) < 2 * len(self.contest.algorithms):
            self.phase, self.contest = LOBBY, None
            self._say("the race is off: too few are left")
            return
        self.contest = racing.ClassContest(self.contest.algorithms, self.contest.floats, self.contest.times)
        orders = self.contest.seat(here, self.generation.number)
        self.generation.members = [seat for seat, _ in orders]
        self.generation.names = [seat.name for seat in self.generation.members]
        self.phase = RACING
        self._say(self.contest.announcement())
        for seat, order in orders:
            self._tell(seat, order)

    def _tell(self, seat: Seat, order: messages.Order) -> None:
        self.outbox.append((seat.me, order))

    def _say(self, text: str) -> None:
        self.story.append(text)

    def __repr__(self) -> str:
        return (
            f"<Room {self.phase}, {self.seats!r}, generation {self.generation.number}, step {self.step} of "
            f"{self.plan.steps}>"
        )
