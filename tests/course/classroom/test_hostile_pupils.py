"""A pupil who knows the class's word may say anything. It ends its own part in the class, and nobody else's."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rich.console import Console as Terminal

from minitorch_dist.distributed.journal import events, reading
from minitorch_dist.inventory.release import __version__
from minitorch_dist.pictures.terminal import painted
from mtd.course.classroom import guard, host, messages, pages, racing, view
from mtd.course.classroom.console import Console
from mtd.course.classroom.guard import StoreGuard
from mtd.course.classroom.host import ClassHost
from mtd.course.classroom.messages import Drawn, Hello, Leave, Pulse, Ready, Saved
from mtd.course.classroom.room import ClassPlan, Room
from mtd.course.classroom.seats import HERE
from mtd.course.classroom.story import KEPT, Story
from mtd.course.classroom.training import FASTEST, NUMBERS, StateError, Training, TrainingState, script
from tests.course.classroom.room_tools import Class
from transports.stores.key_values import KeyValues
from transports.stores.protocol import StoreRequest
from transports.stores.store import HashStore

STEPS = 20
ESCAPES = ["\x1b[2J\x1b]0;mine\x07", "\u202eadA", "[red]Ada[/red]", "<script>", "é" + "\u0301" * 50]

numbers = st.one_of(
    st.integers(-3, 25),
    st.sampled_from([2**31, 2**40, 2**40 + 1, -(2**40), 2**63, 10**30, 10**400, -(10**400)]),
    st.sampled_from([0.5, -0.0, 1e-320, 5e-324, 1e12, 1e300, -1e12, float("nan"), float("inf")]),
)
texts = st.one_of(
    st.text(max_size=10), st.sampled_from([*ESCAPES, "\ud800", "x" * 90, "x" * 5000, "closed its transport"])
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner)),
    max_leaves=5,
)
lengths = st.one_of(st.integers(0, 9), st.integers(-2, 2**64), st.sampled_from([2**62, 10**400]))


small = st.integers(0, 2)


@st.composite
def journals(draw: Any) -> str:
    """Lines that could be of a journal; most of the journals have one line in which one word is odd."""
    rank, lines = draw(small), list[dict[str, Any]]()
    for _ in range(draw(st.integers(1, 6))):
        what, at = draw(st.sampled_from(events.KINDS)), draw(st.integers(0, 9))
        line: dict[str, Any] = {"what": what, "rank": rank, "at": at, "until": at + draw(small)}
        line |= {"group": draw(st.sampled_from(["", "g"])), "op": "all_reduce", "nth": draw(small)}
        if what in ("send", "receive", "post", "wait"):
            line |= {"from" if what == "receive" else "to": draw(small), "bytes": draw(small), "arrived": at}
        if draw(st.booleans()):
            line |= {"seq": draw(small), "step": draw(small)}
        lines.append(line)
    how, odd = (
        draw(st.sampled_from(["", "number", "number", "text", "anything", "world"])),
        draw(st.sampled_from(lines)),
    )
    if how == "number":
        word = ["bytes", "at", "until", "arrived", "memory", "root", "to", "from", "seq", "step", "nth", "rank"]
        odd[draw(st.sampled_from(word))] = draw(lengths)
    elif how == "text":
        odd[draw(st.sampled_from(["group", "op", "site", "error", "dtype"]))] = draw(texts)
    elif how == "anything":
        odd[draw(st.sampled_from(["shape", "op", "at", "beside"]))] = draw(anything)
    elif how == "world":
        walls = st.sampled_from([0, 1e300, -1e12, 10**400, float("nan")])
        lines.insert(0, {"what": "world", "rank": rank, "world_size": 3, "at": 0, "wall": draw(walls)})
    return "\n".join(map(json.dumps, lines))


floats = st.one_of(
    st.sampled_from([0.0, 4.0, -4.0, 4.5, 1 / 256, 1e-300, 65536.0, -65537.0, 1e300, -1e300]), st.floats()
)
states = st.one_of(
    st.tuples(floats, floats).map(lambda two: np.repeat(np.array(two, "<f8"), NUMBERS).tobytes().hex()),
    st.sampled_from(["", "zz", "00" * 8, "é" * 10, TrainingState.beginning().text()]),
)


@st.composite
def words(draw: Any) -> bytes | tuple[str, dict[str, Any]]:
    """What Mallory says. A message of a known kind is made when it is said, with the generation and step of then."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.one_of(st.binary(max_size=50), anything.map(lambda a: json.dumps(a).encode())))
    kind = draw(st.sampled_from([*sorted(messages.SAID), "Drawn", "Drawn", "Drawn", "Saved", "Saved", "Raced"]))
    fields = messages.FIELDS[messages.SAID[kind]]
    return kind, {
        "name": draw(texts), "where": draw(texts), "why": draw(texts), "digest": draw(texts),
        "version": draw(st.sampled_from([__version__, "0", "\x1b[31m"])), "protocol": 1,
        "rank": draw(numbers), "lines": draw(journals()), "state": draw(states), "loss": draw(numbers),
        "seconds": draw(numbers), "sent": draw(numbers), "is_right": draw(st.booleans()),
        "odd": {draw(st.sampled_from(sorted(fields))): draw(anything)} if fields and draw(st.integers(0, 4)) == 0 else {},
        "early": draw(st.sampled_from([0, 0, 0, 1, -1, 2**40])), "step": draw(st.sampled_from([1, 1, 1, 0, -1, 2**40])),
    }  # fmt: skip


def said(room: Room, word: bytes | tuple[str, dict[str, Any]]) -> bytes:
    if isinstance(word, bytes):
        return word
    kind, given = word
    values = {
        **given,
        "generation": room.generation.number + given["early"],
        "step": room.step + given["step"],
        **given["odd"],
    }
    fields = messages.FIELDS[messages.SAID[kind]]
    return json.dumps([kind, *(values[name] for name in fields)]).encode()


def look(room: Room) -> None:
    """All that a teacher can see of a class; no letter of it does anything to a terminal or to a page."""
    for page in (pages.live(room, "join"), pages.certificate(room)):
        page.encode()
        assert "<script" not in page and "\x1b" not in page
    seen = [view.headline(room), view.progress(room), view.loss_line(room, 80), *view.race(room)]
    seen += [*view.seats(room, 80), *view.story(room, 20), *Console(room).do("who").split("\n")]
    terminal = Terminal(file=io.StringIO(), width=80)
    picture = view.picture(room, 80)
    if picture is not None and room.drawing is not None:
        seen += picture.lines
        terminal.print(painted(picture, room.drawing.scene, terminal))
    for line in seen:
        assert line.isprintable(), repr(line)
        line.encode()


def go_on(here: Class) -> None:
    """Mallory is unplugged, and the others come to an end."""
    room = here.room
    for seat in room.seats.all():
        if seat.me == "Mallory" and seat.state != "unplugged":
            room.unplug(str(seat.number))
    if room.phase != "lobby":
        room.stop()
    here.fetch()
    for name in ("Ada", "Bob"):
        here.hear(name, Pulse())
    here.start("Ada", "Bob")
    assert [seat.me for seat in room.generation.members] == ["Ada", "Bob"]
    here.save("Ada", STEPS - room.step)
    assert room.step == STEPS
    here.done("Ada", "Bob")
    assert room.is_finished and not room.unlike
    look(room)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(words(), max_size=12), st.booleans(), st.booleans())
def test_whatever_a_pupil_says_the_others_go_on(spoken: list[Any], is_first: bool, races: bool) -> None:
    here = Class(*(["Mallory", "Ada", "Bob"] if is_first else ["Ada", "Bob", "Mallory"]), steps=STEPS)
    if races:
        here.hello("Kim")
        here.room.race(racing.contest("ring,tree", 10))
        here.gather("Ada", "Bob", "Mallory", "Kim")
    else:
        here.start("Ada", "Bob", "Mallory")
    for word in spoken:
        here.hear("Mallory", said(here.room, word))
        here.wait(0.5, "Ada", "Bob")
        here.gather("Ada", "Bob", "Mallory")
        for rank in range(len(here.room.generation.members)):
            seat = here.room.generation.members[rank]
            if seat.me != "Mallory":
                line = json.dumps({"what": "send", "rank": rank, "to": 0, "bytes": 8, "at": 5})
                here.hear(seat.me, Drawn(here.room.generation.number, here.room.step + 1, line))
        look(here.room)
    if races:
        here.hear("Kim", Leave())
    go_on(here)


# ------------------------------------------------------------------------------------ what was found


def in_class(*lines: dict[str, Any]) -> Class:
    """Ada and Mallory, of whom Mallory drew these lines."""
    here = Class("Ada", "Mallory", steps=STEPS)
    here.start("Ada", "Mallory")
    number = here.room.generation.number
    here.hear("Ada", Drawn(number, 1, ""))
    here.hear("Mallory", Drawn(number, 1, "\n".join(map(json.dumps, lines))))
    assert here.room.drawing is not None
    look(here.room)
    return here


SEND = {"what": "send", "rank": 1, "to": 0, "at": 0, "bytes": 1}


@pytest.mark.parametrize(
    "line",
    [
        {**SEND, "bytes": -1},
        {**SEND, "bytes": -(10**30)},
        {**SEND, "to": -5},
        {"what": "send", "rank": 1, "at": 0},
        {"what": "world", "rank": 1, "world_size": 2, "at": 0, "wall": 1e300},
        {"what": "world", "rank": 1, "world_size": 2, "at": 0, "wall": 10**400},
        {**SEND, "op": "\ud800\x1b[2J"},
        {**SEND, "site": "x" * 50_000},
        {**SEND, "shape": [0] * 9000},
    ],
)
def test_a_line_of_a_journal_that_cannot_be(line: dict[str, Any]) -> None:
    here = in_class(line, SEND)
    assert here.room.drawing is not None and len(str(here.room.drawing.scene)) < 5000


def test_journals_that_contradict_each_other() -> None:
    here = in_class({"what": "receive", "rank": 1, "from": 1, "at": 0, "bytes": 1}, {**SEND, "to": 1})
    assert here.room.drawing is not None
    assert "contradict" in here.room.drawing.scene.note


def test_lists_within_lists_are_no_journal() -> None:
    for depth in range(100, 1100, 25):
        deep = "[" * depth + "]" * depth
        for word in ("shape", "host", "at", "op"):
            lines = ['{"journal":1}', f'{{"what":"world","rank":0,"world_size":1,"{word}":{deep}}}']
            for line in (lines[1], lines[1].replace("world", "send", 1)):
                try:
                    reading.parse_lines([lines[0], line])
                except events.JournalError:
                    continue


@pytest.mark.parametrize("weight", [4.5, -5.0, np.nextafter(4.0, 5.0), 1e300, -1e300, float("nan")])
def test_weights_that_no_step_leaves(weight: float) -> None:
    state = TrainingState(np.full(NUMBERS, weight), np.zeros(NUMBERS))
    with pytest.raises(StateError):
        TrainingState.of(state.text())
    here = Class("Mallory", "Ada", steps=STEPS)
    here.start("Mallory", "Ada")
    here.hear("Mallory", Saved(here.room.generation.number, 1, 1.0, state.text()))
    assert here.room.step == 0 and here.room.dropped["no weights"] == 1
    go_on_alone = here.room.state.text()
    assert go_on_alone == TrainingState.beginning().text()


@given(st.integers(0, 2**32 - 1), st.integers(0, 159))
@settings(max_examples=25)
def test_a_step_from_any_weights_that_are_taken_leaves_such(seed: int, step: int) -> None:
    """So nobody can bring weights from which the others could not go on."""
    draw, most = np.random.default_rng(seed), script().LARGEST
    state = TrainingState(most * draw.choice([-1.0, 1.0], NUMBERS), FASTEST * draw.choice([-1.0, 1.0], NUMBERS))
    training = Training(TrainingState.of(state.text()), step)
    assert 0 <= training.step(0, 1) <= messages.MOST
    TrainingState.of(training.state().text())


def test_numbers_that_are_too_long_for_a_float() -> None:
    with pytest.raises(messages.Nonsense, match="out of all bounds"):
        messages.decode(b'["Ready", 1%s]' % (b"0" * 400), messages.SAID)


def test_losses_below_nothing_and_near_it() -> None:
    here = Class("Mallory", steps=STEPS)
    here.start("Mallory")
    text, number = TrainingState.beginning().text(), here.room.generation.number
    here.hear("Mallory", Saved(number, 1, -1.0, text))
    assert here.room.step == 0
    for step, loss in enumerate([1e12, 5e-324, 0.0], 1):
        here.hear("Mallory", Saved(number, step, loss, text))
        look(here.room)
    assert here.room.step == 3


def test_an_unplugged_pupil_does_not_plug_itself_in_by_a_goodbye() -> None:
    here = Class("Ada", "Mallory", steps=STEPS)
    here.room.unplug("Mallory")
    for word in (Leave(), Pulse(), Ready(0), Leave(), Pulse()):
        here.hear("Mallory", word)
    assert [seat.me for seat in here.room.seats.here()] == ["Ada"]


# ---------------------------------------------------------------------------------------- floods


def test_one_who_comes_and_goes_fills_no_memory() -> None:
    here = Class("Ada", "Mallory", steps=STEPS)
    here.start("Ada", "Mallory")
    for _ in range(3 * KEPT):
        here.hear("Mallory", Leave())
        here.hear("Mallory", Pulse())
        here.orders.clear()
    assert len(here.room.story) < 2 * KEPT and here.room.story.told > 6 * KEPT
    assert not here.room.past and len(here.room.seats.all()) == 2
    for _ in range(50):
        here.gather("Ada", "Mallory")
        here.hear("Mallory", Leave())
        here.hear("Mallory", Pulse())
    assert not here.room.past  # they made no steps
    assert all(seat.generations == [] for seat in here.room.seats.all())
    go_on(Class("Ada", "Bob", "Mallory", steps=STEPS))


def test_a_story_keeps_its_last_lines_and_knows_how_many_there_were() -> None:
    story, told, heard = Story(), 0, list[str]()
    for number in range(5 * KEPT):
        story.append(f"{number}")
        if number % 7 == 0:
            heard += story.since(told)
            told = story.told
    heard += story.since(told)
    assert heard == [f"{number}" for number in range(5 * KEPT)]
    assert story[-1] == heard[-1] and KEPT <= len(story) < 2 * KEPT
    assert story.since(0) == list(story)


def push(asked: StoreGuard, key_values: KeyValues, mark: int, nbytes: int) -> bool:
    """What the keeper of the store does with a word for the desk."""
    data = b"%016x " % mark + bytes(nbytes)
    why = asked(mark, StoreRequest("queue_push", ["desk"], [data], 1.0), key_values)
    if not why:
        key_values.do("queue_push", ["desk"], [data])
    return not why


@pytest.mark.parametrize("nbytes", [0, 1, 100, 5000, messages.MAX_MESSAGE])
def test_the_desk_has_room_for_the_others_while_one_floods_it(nbytes: int) -> None:
    asked, key_values = StoreGuard(), KeyValues()
    taken = [push(asked, key_values, 0xB, nbytes) for _ in range(2 * guard.MAX_WORDS)]
    assert taken == sorted(taken, reverse=True) and not taken[-1]
    kept = sum(map(len, key_values.queues["desk"]))
    assert kept <= guard.MAX_BYTES and sum(taken) <= guard.MAX_WORDS
    for mark in range(0x10, 0x20):
        assert push(asked, key_values, mark, 3000)
    for _ in range(sum(taken) // 2 + 1):  # the host hears some of it
        asked.heard(*key_values.do("queue_pop", ["desk"], []))
    assert push(asked, key_values, 0xB, nbytes)


def test_a_pupil_that_fetches_nothing_fills_no_queue() -> None:
    store = HashStore()
    ours = ClassHost(store, Room(5, ClassPlan(steps=STEPS)))
    me = f"{0xB:016x}"
    hello = messages.encode(Hello("Mallory", __version__, messages.PROTOCOL, "x"))
    for _ in range(3 * host.MOST_ORDERS):
        store.queue_push("desk", me.encode() + b" " + hello)
        ours.pump()
    assert store.queue_len(f"to/{me}") == host.MOST_ORDERS


def test_each_newcomer_without_a_seat_is_told_so() -> None:
    """Also the one behind thousands; and what is kept for those who never fetch it is bounded."""
    store = HashStore()
    ours = ClassHost(store, Room(1, ClassPlan(steps=STEPS)))
    hello = messages.encode(Hello("Mallory", __version__, messages.PROTOCOL, "x"))
    for mark in range(2 * host.MOST_REFUSED + 10):
        store.queue_push("desk", f"{mark:016x} ".encode() + hello)
        ours.pump()
        if mark % 500 == 499:
            (word,) = [store.queue_pop(f"to/{mark:016x}", block=False)]
            assert isinstance(messages.decode(word, messages.ORDERS), messages.Refused)
    kept = [mark for mark in range(2 * host.MOST_REFUSED + 10) if store.queue_len(f"to/{mark:016x}")]
    assert len(kept) <= host.MOST_REFUSED + 1


def test_keys_of_a_generation_that_is_over_go() -> None:
    store = HashStore()
    ours = ClassHost(store, Room(5, ClassPlan(steps=STEPS)))
    me, room = f"{0xA:016x}", ours.room
    room.hear(me, messages.encode(Hello("Ada", __version__, messages.PROTOCOL, "x")), ours.now())
    room.start()
    before = store.num_keys()
    for _ in range(20):
        number = room.generation.number
        room.hear(me, messages.encode(Ready(number)), ours.now())
        room.tick(ours.now() + 1)
        ours.send()
        assert room.generation.members[0].state == HERE
        for key in range(guard.MAX_KEYS):
            name = f"g/{number}/0/{key}"
            assert not ours.guard(0xA, StoreRequest("set", [name], [b"x"], 1.0), KeyValues())
            store.set(name, b"x" * 100)
        room.hear(me, messages.encode(Leave()), ours.now())
        room.hear(me, messages.encode(Pulse()), ours.now())
    assert store.num_keys() <= before + guard.MAX_KEYS + 1
    assert len(ours.guard._places) == 1
