"""Messages between ranks: in order, from anybody, and None when there are none."""

from __future__ import annotations

from typing import Any

import pytest

from minitorch_dist import launch, sim
from minitorch_dist.distributed import world
from mtd.course.post import MessageBox


def exchange() -> list[Any]:
    """Everybody writes two messages to everybody, and reads until it is quiet."""
    post, found = MessageBox(), []
    for number in range(2):
        for to in range(post.size):
            post.send(to, {"from": post.rank, "number": number})
    while (message := post.receive(30.0)) is not None:
        found.append(message)
    post.leave()
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_all_messages_come_in_each_senders_order(size: int) -> None:
    for found in sim.run(exchange, size).results:
        for src in range(size):
            said = [(0, src), (1, src)]
            assert [(m["number"], m["from"]) for who, m in found if who == src] == said
        assert len(found) == 2 * size


def test_what_came_too_late_for_one_receive_is_for_the_next() -> None:
    def program() -> list[Any]:
        post = MessageBox()
        if post.rank:
            world.place().clock.sleep(1.5)
            post.send(0, "late")
        heard = [post.receive(1.0), post.receive(1.0)] if post.rank == 0 else []
        post.leave()
        return heard

    assert sim.run(program, 2).results[0] == [None, (1, "late")]


def test_faults_lose_and_double_messages() -> None:
    def seen(fault: str) -> list[int]:
        plan = sim.Plan((sim.parse(fault),), reliable=False)
        found = sim.run(exchange, 2, faults=plan).results[1]
        return [message["number"] for src, message in found if src == 0]

    assert seen("drop=0>1#0") == [1]
    assert seen("duplicate=0>1#0") == [0, 0, 1]
    assert seen("reorder=0>1#0,1s") == [1, 0]


def test_exhaust_tries_every_order() -> None:
    def program() -> list[int]:
        post = MessageBox()
        if post.rank:
            post.send(0, post.rank)
        heard = [post.receive(), post.receive()] if post.rank == 0 else []
        post.leave()
        return [message[0] for message in heard if message]

    found = sim.exhaust(program, 3)
    assert sorted(result[0] for result in found.results) == [[1, 2], [2, 1]]


def test_over_threads_in_real_time() -> None:
    def program() -> Any:
        post = MessageBox()
        post.send((post.rank + 1) % post.size, "hello")
        heard = post.receive(30.0)
        post.leave()
        return heard

    assert launch(program, 3, "queue://") == [(2, "hello"), (0, "hello"), (1, "hello")]
