"""Single faults and lost messages in a picture, on a program of which one knows all messages."""

from __future__ import annotations

from minitorch_dist import sim
from mtd.course.envelopes import messages_scene
from mtd.course.post import MessageBox
from mtd.course.single_faults import in_words, single_faults


def there_and_back() -> None:
    post = MessageBox()
    if post.rank == 0:
        post.send(1, "ask")
        post.send(0, "a note to myself")
    while (message := post.receive(30.0)) is not None:
        if message[1] == "ask":
            post.send(0, "reply")
    post.leave()


def test_every_message_between_two_ranks_meets_every_fault() -> None:
    found = [str(fault) for fault in single_faults(there_and_back, 2)]
    assert found == [
        "drop=0>1#0",
        "duplicate=0>1#0",
        "reorder=0>1#0,3s",
        "drop=1>0#0",
        "duplicate=1>0#0",
        "reorder=1>0#0,3s",
    ]
    words = [in_words(fault) for fault in single_faults(there_and_back, 2)[2:4]]
    assert words[0] == "the first message from rank 0 to rank 1 comes 3 s late"
    assert words[1] == "the first message from rank 1 to rank 0 is lost"


def test_arrows_are_what_the_wire_did() -> None:
    faults = [sim.parse("duplicate=0>1#0"), sim.parse("drop=1>0#0")]
    drawn = messages_scene(there_and_back, 2, faults)
    seen = [(a.source, a.to, a.text, a.is_received) for a in drawn.arrows if a.source != a.to]
    assert seen == [(0, 1, "ask", True), (0, 1, "ask", True), (1, 0, "reply", False), (1, 0, "reply", True)]
    assert drawn.moments[-2].text == "reply, to rank 0: lost"


def test_a_run_that_fails_is_drawn_until_then_and_a_long_one_in_part() -> None:
    def failing() -> None:
        there_and_back()
        raise RuntimeError

    assert len(messages_scene(failing, 2).arrows) == 2
    drawn = messages_scene(there_and_back, 2, most=1)
    assert len(drawn.arrows) == 1 and drawn.note == "… and 1 more"
