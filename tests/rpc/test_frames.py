"""Parts of messages are put together in whatever order they come; announced ones cost nothing."""

from __future__ import annotations

import tracemalloc
from typing import Any

from hypothesis import given, strategies as st

from minitorch_dist.distributed.rpc import message, worker


def arrive(inbox: worker.RpcInbox, part: int, parts: int, octets: bytes, id: int = 7) -> None:
    header = message.HEADER.pack(message.REQUEST, 0, part, parts, id, 0)
    sink: Any = inbox.sink(1, header, len(octets))
    if octets:
        sink.write(memoryview(octets))


@given(st.integers(1, 6).flatmap(lambda n: st.permutations(range(n))), st.data())
def test_parts_in_any_order_and_twice(order: list[int], data: st.DataObject) -> None:
    inbox = worker.RpcInbox()
    for place, part in enumerate(order):
        for again in order[: data.draw(st.integers(0, place))]:
            arrive(inbox, again, len(order), b"%d" % again * again)
        arrive(inbox, part, len(order), b"%d" % part * part)
    assert len(inbox.arrived) == 1
    found = [bytes(part) for part in inbox.arrived[0].parts]
    assert found == [b"%d" % part * part for part in range(len(order))]


def test_many_parts_that_are_only_announced() -> None:
    inbox = worker.RpcInbox()
    tracemalloc.start()
    try:
        for id in range(1000):
            arrive(inbox, 0, 65_535, b"", id)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert not inbox.arrived
