"""A remote call, plain: a request and its reply over `send` and `recv`. The fast form is `agent`.

    caller                                  callee
    ("call", 7, function, args) ─────────►  receive ─► run it
    receive ◄─────────────────────────────  ("reply", 7, value, error)

A rank that waits for its reply serves the calls that come meanwhile. So calls may go in circles: rank 0
calls a function on rank 1 which calls one on rank 0. A reply carries its call's number, since another
reply may come first. Each rank calls `shutdown` at its end, and serves until all others have done so.

`agent` does the same and more. It has asynchronous calls, several threads, timeouts of calls, remote
references, and gradients that travel.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minitorch_dist.distributed.torch_api import membership, messages as dist


class PlainAgent:
    """One rank: it calls functions of other ranks, and runs those that they ask for."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.replies: dict[int, tuple[Any, Exception | None]] = {}  # that have come, by number
        self.finished: set[int] = set()  # ranks that will call no more

    def rpc_sync(
        self,
        to: int,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function on rank `to`: return what it returns, or raise what it raises."""
        number = next(self.numbers)
        dist.send_object_list([("call", number, function, args, kwargs or {})], to)
        while number not in self.replies:
            self.take_message()
        value, error = self.replies.pop(number)
        if error is not None:
            raise error
        return value

    def take_message(self) -> None:
        """Wait for the next message from any rank, and do what it asks for."""
        box: list[Any] = [None]
        source = dist.recv_object_list(box)
        kind, *content = box[0]
        if kind == "call":
            self.serve(source, *content)
        elif kind == "reply":
            number, value, error = content
            self.replies[number] = value, error
        else:
            self.finished.add(source)

    def serve(self, caller: int, number: int, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        value, failure = None, None
        try:
            value = function(*args, **kwargs)
        except Exception as error:
            failure = error
        dist.send_object_list([("reply", number, value, failure)], caller)

    def shutdown(self) -> None:
        """Serve the others until none of them calls any more."""
        others = {*range(membership.get_world_size())} - {membership.get_rank()}
        for rank in sorted(others):
            dist.send_object_list([("finished",)], rank)
        while self.finished != others:
            self.take_message()
