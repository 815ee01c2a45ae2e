"""The rules of a class: who is in which generation, what counts, what is dropped."""

from __future__ import annotations

import pytest

from mtd.course.classroom import messages, racing
from mtd.course.classroom.messages import (
    Done,
    Drawn,
    Gather,
    Go,
    Hello,
    Leave,
    Lost,
    Over,
    Prepared,
    Pulse,
    Race,
    Raced,
    Ready,
    Refused,
    Saved,
    Unplugged,
    Welcome,
)
from mtd.course.classroom.room import Cannot
from mtd.course.classroom.training import golden
from tests.course.classroom.room_tools import Class, beginning, train_order


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_whoever_is_ready_gets_a_rank_from_the_host(count: int) -> None:
    names = [f"laptop{n}" for n in range(count)]
    here = Class(*names)
    assert [here.last(name) for name in names] == [Welcome(n + 1, f"laptop{n}") for n in range(count)]
    here.start(*names)
    orders = [train_order(here.last(name)) for name in names]
    assert [(order.rank, order.size, order.step) for order in orders] == [(n, count, 0) for n in range(count)]
    assert {order.state for order in orders} == {beginning()}


def test_all_steps_and_the_golden_weights() -> None:
    here = Class("Ada", "Bob", steps=20)
    here.start("Ada", "Bob")
    here.save("Ada", 20)
    here.done("Ada")
    assert not here.room.is_finished  # Bob may still have something to say
    here.done("Bob")
    assert here.room.is_finished and here.room.is_golden and "bit for bit" in here.room.story[-1]
    assert here.room.state.digest == golden()[20] and len(here.room.losses) == 20


def test_only_the_next_step_of_rank_0_of_this_generation_is_kept() -> None:
    here = Class("Ada", "Bob", steps=20)
    here.start("Ada", "Bob")
    here.save("Ada", 2)
    kept, now = here.room.state.text(), here.room.generation.number
    for who, word in [
        ("Bob", Saved(now, 3, 0.0, kept)),  # not rank 0
        ("Ada", Saved(now, 2, 0.0, beginning())),  # a step that was made
        ("Ada", Saved(now, 4, 0.0, beginning())),  # one too far
        ("Ada", Saved(now - 1, 3, 0.0, beginning())),  # of the past
        ("Ada", Saved(now + 1, 3, 0.0, beginning())),  # of the future
        ("Ada", Saved(now, 3, 0.0, "7f" * 10)),  # no weights
        ("Ada", Saved(now, 3, 0.0, "000000000000f07f" * 194)),  # infinities
        ("nobody", Saved(now, 3, 0.0, kept)),
    ]:
        here.hear(who, word)
        assert (here.room.step, here.room.state.text()) == (2, kept), word
    assert sum(here.room.dropped.values()) == 8


def test_wrong_weights_are_noticed_at_the_next_recorded_step_and_whose_they_were() -> None:
    here = Class("Ada", "Mallory", steps=20)
    here.start("Ada", "Mallory")
    for step in range(1, 21):
        here.hear("Ada", Saved(here.room.generation.number, step, 0.5, beginning()))
    here.done("Ada", "Mallory")
    assert here.room.is_finished and not here.room.is_golden
    assert any("step 20" in line and "Ada brought them" in line for line in here.room.story)


def test_a_laptop_that_ends_with_other_weights_is_named() -> None:
    here = Class("Ada", "Mallory", steps=20)
    here.start("Ada", "Mallory")
    here.save("Ada", 20)
    here.done("Ada")
    here.done("Mallory", digest="f" * 16)
    assert not here.room.is_golden and here.room.unlike == ["Mallory"] and "Mallory" in here.room.verdict


# ------------------------------------------------------------------------------------ generations


def test_who_is_killed_is_missed_and_the_others_go_on_from_the_last_step() -> None:
    here = Class("Ada", "Bob", "Kim", steps=40)
    here.start("Ada", "Bob", "Kim")
    here.save("Ada", 3)
    here.wait(2.6, "Bob", "Kim")
    here.hear("Kim", Lost(here.room.generation.number, 0, "its connection to the broker ended"))
    assert isinstance(here.last("Bob"), Gather)
    here.wait(0.5, "Bob", "Kim")
    here.gather("Bob", "Kim")
    order = train_order(here.last("Bob"))
    assert (order.rank, order.size, order.step) == (0, 2, 3) and here.ranks() == ["Bob", "Kim"]
    here.save("Bob", 17)
    assert here.room.verdicts == {20: True}
    assert [(one.first, one.last) for one in here.room.past] == [(0, 3)]


def test_who_only_closed_its_transport_is_not_blamed() -> None:
    """It has noticed a death earlier than we, and left its world politely."""
    here = Class("Ada", "Bob")
    here.start("Ada", "Bob")
    here.wait(3.0, "Ada")  # Bob computes for long
    here.hear("Ada", Lost(here.room.generation.number, 1, "it closed its transport"))
    here.wait(1.0, "Ada")
    assert here.room.seats.named("Bob").state == "here"  # type: ignore[union-attr]


def test_a_false_word_about_somebody_who_lives_removes_nobody() -> None:
    here = Class("Ada", "Mallory")
    here.start("Ada", "Mallory")
    here.hear("Mallory", Lost(here.room.generation.number, 0, "it is dead, believe me"))
    here.wait(3.0, "Ada", "Mallory")
    here.gather("Ada", "Mallory")
    assert here.ranks() == ["Ada", "Mallory"]


def test_a_laptop_that_sleeps_and_comes_back_takes_part_again_on_its_seat() -> None:
    here = Class("Ada", "Bob")
    here.start("Ada", "Bob")
    here.save("Ada", 1)
    here.wait(7.0, "Ada")
    assert "Bob is gone" in here.room.story
    here.gather("Ada")
    assert here.ranks() == ["Ada"]
    here.save("Ada", 1)
    here.hear("Bob", Pulse())
    assert "Bob is back" in here.room.story
    here.gather("Ada", "Bob")
    assert here.ranks() == ["Ada", "Bob"] and here.room.seats.named("2").name == "Bob"  # type: ignore[union-attr]
    assert train_order(here.last("Bob")).step == 2


def test_who_was_killed_and_joins_anew_gets_its_seat_back() -> None:
    here = Class("Ada", "Bob", "Kim")
    here.wait(7.0, "Ada", "Kim")
    here.hello("bob's new process", "bob")
    assert here.last("bob's new process") == Welcome(2, "bob")
    here.hear("Bob", Pulse())  # the old process has no seat any more
    assert here.room.dropped["stranger"] == 1


def test_two_of_one_name_are_told_apart() -> None:
    here = Class()
    for who in "abc":
        here.hello(who, "Kim")
    assert [here.last(who).name for who in "abc"] == ["Kim", "Kim 2", "Kim 3"]


def test_who_comes_in_the_middle_takes_part_in_the_next_generation() -> None:
    here = Class("Ada")
    here.start("Ada")
    here.save("Ada", 5)
    here.hello("Bob")
    here.gather("Ada", "Bob")
    assert train_order(here.last("Bob")) == train_order(here.last("Ada"))._replace(rank=1)
    assert train_order(here.last("Bob")).step == 5


def test_who_pulses_and_does_not_obey_is_left_out_until_it_does() -> None:
    here = Class("Ada", "Bob")
    here.room.start()
    here.hear("Ada", Ready(1))
    here.wait(21.0, "Ada", "Bob")
    assert here.ranks() == ["Ada"] and "Bob does not answer; the others go on" in here.room.story
    here.hear("Bob", Ready(1))
    here.gather("Ada", "Bob")
    assert here.ranks() == ["Ada", "Bob"]


def test_rank_0_dies_after_the_last_step_and_before_it_was_kept() -> None:
    here = Class("Ada", "Bob", steps=20)
    here.start("Ada", "Bob")
    here.save("Ada", 19)
    here.done("Bob", digest=golden()[20])
    here.wait(7.0, "Bob")
    here.gather("Bob")
    assert train_order(here.last("Bob")).step == 19
    here.save("Bob", 1)
    here.done("Bob")
    assert here.room.is_golden


def test_nobody_is_left_and_then_somebody_comes_back() -> None:
    here = Class("Ada", steps=20)
    here.start("Ada")
    here.save("Ada", 10)
    here.wait(10.0)
    assert here.room.phase == "gathering" and not here.room.seats.here()
    here.hear("Ada", Pulse())
    here.gather("Ada")
    here.save("Ada", 10)
    here.done("Ada")
    assert here.room.is_golden


# -------------------------------------------------------------------------------------- the teacher


def test_unplug_and_plug() -> None:
    here = Class("Ada", "Bob", "Kim")
    here.start("Ada", "Bob", "Kim")
    here.room.unplug("bob")
    here.fetch()
    assert here.last("Bob") == Unplugged()
    here.hear("Bob", Ready(here.room.generation.number))  # its cable is out
    here.gather("Ada", "Kim")
    assert here.ranks() == ["Ada", "Kim"]
    here.hear("Bob", Pulse())
    assert here.ranks() == ["Ada", "Kim"]
    here.room.plug("2")
    here.fetch()
    here.gather("Ada", "Bob", "Kim")
    assert here.ranks() == ["Ada", "Bob", "Kim"]
    for act, said in [(here.room.unplug, "nobody"), (here.room.plug, "Ada"), (lambda _: here.room.start(), "")]:
        with pytest.raises(Cannot):
            act(said)


def test_stop_and_go_on() -> None:
    here = Class("Ada", steps=20)
    here.start("Ada")
    here.save("Ada", 7)
    here.room.stop()
    here.fetch()
    assert isinstance(here.last("Ada"), Gather)
    here.hear("Ada", Saved(here.room.generation.number - 1, 8, 0.0, beginning()))
    here.start("Ada")
    assert train_order(here.last("Ada")).step == 7


def test_the_end_is_told_to_everybody_once_more_started_begins_anew() -> None:
    here = Class("Ada", "Bob", steps=20)
    here.start("Ada", "Bob")
    here.save("Ada", 20)
    here.done("Ada", "Bob")
    here.start("Ada", "Bob")
    assert train_order(here.last("Ada")).step == 0 and not here.room.is_finished
    here.room.end("bye")
    here.fetch()
    assert here.last("Ada") == here.last("Bob") == Over("bye")
    here.hello("late")
    assert here.last("late") == Refused("the class is over")


def test_full_another_version_and_leaving() -> None:
    here = Class("Ada", "Bob", seats=2)
    here.hello("Kim")
    assert "--seats 3" in here.last("Kim").why and "Ada, Bob" in here.last("Kim").why
    here.hello("Old", version="0.0.1")
    assert "0.0.1" in here.last("Old").why and "pip install" in here.last("Old").why
    here.hear("Old", Hello("Old", "x", messages.PROTOCOL + 1, ""))
    assert isinstance(here.last("Old"), Refused)
    here.hear("Bob", Leave())
    here.hello("Kim")
    assert here.last("Kim") == Welcome(2, "Kim")


# -------------------------------------------------------------------------------------------- races


def test_two_tables_race_and_the_odd_one_watches() -> None:
    names = ["Ada", "Bob", "Kim", "Lee", "Mia"]
    here = Class(*names)
    here.room.race(racing.contest("ring,tree", 100, 3))
    here.fetch()
    here.gather(*names)
    orders = [here.last(name) for name in names[:4]]
    assert [(o.table, o.algorithm, o.rank, o.size) for o in orders] == [
        (0, "ring", 0, 2),
        (0, "ring", 1, 2),
        (1, "binomial", 0, 2),
        (1, "binomial", 1, 2),
    ]
    assert isinstance(here.last("Mia"), Gather)
    now = here.room.generation.number
    here.hear("Ada", Raced(now, 0.0, 0, True))  # nobody runs before the start
    for word in (Prepared(now), Lost(now, 0, "I would like another race"), Raced(now, 0.1, 8, True)):
        here.hear("Mia", word)  # who only watches
    assert here.room.phase == "racing" and here.room.generation.number == now
    for name in names[:4]:
        assert not isinstance(here.last("Ada"), Go)
        here.hear(name, Prepared(now))
    assert here.last("Lee") == Go(now)
    for name, seconds in zip(names, (1.0, 2.0, 1.5, 1.6), strict=False):
        here.hear(name, Raced(now, seconds, 800, True))
    contest = here.room.races[0]
    assert contest.winner is contest.tables[1] and "binomial wins: 1.60 s; ring 2.00 s" in here.room.story[-1]
    assert contest.tables[0].sent == 1600 and here.room.phase == "lobby"


def test_a_table_with_a_wrong_sum_does_not_win_and_a_death_calls_for_another_start() -> None:
    here = Class("Ada", "Bob", "Kim", "Lee", "Mia")
    here.room.race(racing.contest("ring,tree"))
    here.gather("Ada", "Bob", "Kim", "Lee", "Mia")
    here.hear("Bob", Lost(here.room.generation.number, 0, "gone"))
    here.hear("Ada", Leave())
    here.gather("Bob", "Kim", "Lee", "Mia")
    now = here.room.generation.number
    assert [type(here.last(name)) for name in ("Bob", "Mia")] == [Race, Race]
    for name in ("Bob", "Kim", "Lee", "Mia"):
        here.hear(name, Prepared(now))
    for name in ("Bob", "Kim", "Lee", "Mia"):
        here.hear(name, Raced(now, 0.1 if name == "Kim" else 0.5, 8, name != "Kim"))
    assert here.room.races[0].winner is here.room.races[0].tables[1]


def test_a_race_that_cannot_be() -> None:
    here = Class("Ada", "Bob", "Kim")
    with pytest.raises(Cannot, match="4 laptops are needed"):
        here.room.race(racing.contest("ring,tree"))
    for words, what in [("ring", "two algorithms"), ("ring,cube", "cube"), ("", "two algorithms")]:
        with pytest.raises(racing.NoRace, match=what):
            racing.contest(words)
    with pytest.raises(racing.NoRace):
        racing.contest("ring,tree", 0)


# ------------------------------------------------------------------------------------- hostile words


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[",
        b"null",
        b"[]",
        b"{}",
        b"[[]]",
        b'["Train"]',
        b'["__class__"]',
        b'["Hello"]',
        b"\xff\xfe",
        b'["Hello","a","b",1]',
        b'["Hello","a","b",true,"c"]',
        b'["Hello",["a"],"b",1,"c"]',
        b"[" * 100_000,
        b'["Ready",1e400]',
        b'["Ready",NaN]',
        b'["Ready",99999999999999999999]',
        b'["Ready","1"]',
        b'["Saved",1,1,NaN,"00"]',
        b'["Saved",1,1,Infinity,"00"]',
        b'["Hello","' + b"x" * 100 + b'","0",1,""]',
        b'["Welcome",1,"I am the host"]',
        b'["Train",1,0,1,0,20,"","binomial",0,0]',
        b'["Over","all of you"]',
        b'["Pulse"]' + b" " * messages.MAX_MESSAGE,
        b'["Pulse","rank",0]',
        b"cos\nsystem\n(S'ls'\ntR.",
        b"\x80\x04K\x01.",
    ],
)
def test_nonsense_is_dropped_and_changes_nothing(data: bytes) -> None:
    here = Class("Ada", "Bob")
    here.start("Ada", "Bob")
    before = repr(here.room), list(here.room.story)
    here.hear("Ada", data)
    here.hear("a stranger", data)
    assert (repr(here.room), list(here.room.story)) == before and here.room.dropped["nonsense"] == 2


def test_nobody_can_ask_for_a_rank() -> None:
    """No word that a laptop can say has a place for one, but for whom it has lost."""
    with_rank = [
        kind for kind, fields in messages.FIELDS.items() if "rank" in fields and kind.__name__ in messages.SAID
    ]
    assert with_rank == [Lost]
    here = Class("Ada")
    here.start("Ada")
    for rank in (-5, 7, 1 << 39):
        here.hear("Ada", Lost(here.room.generation.number, rank, "?"))
        here.gather("Ada")
    assert here.ranks() == ["Ada"]


def test_who_is_in_no_roster_is_not_heard() -> None:
    here = Class("Ada", "Bob")
    here.start("Ada", "Bob")
    now = here.room.generation.number
    here.hello("Mallory")
    here.gather("Ada", "Bob")  # Mallory is not ready, so it does not begin …
    assert here.room.phase == "gathering"
    here.wait(20.0, "Ada", "Bob", "Mallory")  # … until patience ends
    now = here.room.generation.number
    for word in (Saved(now, 1, 0.0, beginning()), Done(now, "0" * 16), Drawn(now, 1, "{}"), Lost(now, 0, "")):
        here.room.hear("Mallory", messages.encode(word), here.now)
    assert here.room.step == 0 and "Mallory" not in here.ranks()


def test_a_flood_of_refusals_ends() -> None:
    here = Class("Ada", seats=1)
    for number in range(1200):
        here.hello(f"{number}")
    assert sum(isinstance(orders[-1], Refused) for orders in here.orders.values()) == 1200
    assert sum("could not join" in line for line in here.room.story) <= 1000


def test_the_end_waits_for_the_goodbye_of_each_who_is_here_and_shows_nobody_as_gone() -> None:
    here = Class("Ada", "Bob", "Kim", "Lee")
    here.room.unplug("Lee")
    here.hear("Kim", Leave())
    here.room.end("bye")
    here.fetch()
    assert [here.last(name) for name in ("Ada", "Bob", "Lee")] == [Over("bye")] * 3
    assert [seat.name for seat in here.room.unparted] == ["Ada", "Bob"]
    here.hear("Ada", Leave())
    here.wait(5.0, "Bob")
    assert [seat.name for seat in here.room.unparted] == ["Bob"]
    here.wait(7.0)  # Bob is silent
    assert here.room.unparted == []
    assert [seat.state for seat in here.room.seats.all()] == ["here", "away", "left", "unplugged"]
