"""A worker whose messages fail or come late, by their kinds.

    send ─► fails?  no ──► comes late?  no ──► Sender
              │ yes             │ yes, then
              │                 └──────────► the deadline thread ─► Sender
              ├─ of an RRef's forks, or of a context's end: again after 1, 1.5, 2.25, … s, five times
              └─ any other: the call fails with RpcTimeout, and nothing is sent

The names of the kinds are torch's. There, SCRIPT stands for operations of torch, and PYTHON for all other functions. A
call in a context of autograd is of a third kind, which neither fails nor comes late. In torch, the thread that sends
sleeps while a message is late. Here it goes on, so `rpc_async` returns at once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from inspect import isfunction
from math import inf
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed.exceptions import RpcTimeout
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import RpcAgent
from minitorch_dist.distributed.rpc.call import PendingCall
from minitorch_dist.distributed.rpc.members import WorkerInfo
from minitorch_dist.distributed.rpc.message import REQUEST, Sender, context_id
from minitorch_dist.distributed.rpc.options import RpcBackendOptions
from minitorch_dist.distributed.rpc.rref import RRef
from transports.clock import PICO
from transports.contract import Transport
from transports.errors import PeerLost, TransportClosed

RETRIED: Final = {
    serve.FORK: "RREF_FORK_REQUEST",
    serve.ADOPT: "RREF_CHILD_ACCEPT",
    serve.DELETE: "RREF_USER_DELETE",
    serve.CLEAN: "CLEANUP_AUTOGRAD_CONTEXT_REQ",
}
CALLS: Final = {  # with PYTHON_ or SCRIPT_ before them
    serve.CALL: "CALL",
    serve.METHOD: "CALL",
    serve.TYPE: "CALL",
    serve.REMOTE: "REMOTE_CALL",
    serve.FETCH: "RREF_FETCH_CALL",
}
KINDS: Final = {*RETRIED.values(), *(f"{of}_{call}" for of in ("PYTHON", "SCRIPT") for call in CALLS.values())}  # fmt: skip
FACE: Final = "minitorch_dist"  # it and its floor `tensors` have torch's operations
TRIES, FIRST, BACKOFF = (
    5,
    1.0,
    1.5,
)  # after a failure: how often again, after how many seconds, and how much longer
_log = logging.getLogger("minitorch_dist.distributed.rpc")


class FaultyTensorPipeRpcBackendOptions(RpcBackendOptions):
    """Which kinds of messages fail, each message `num_fail_sends` times, and which come so many seconds late."""

    def __init__(
        self, num_worker_threads: int, rpc_timeout: float | timedelta, init_method: str,
        messages_to_fail: Sequence[str], messages_to_delay: Mapping[str, float], num_fail_sends: int,
    ) -> None:  # fmt: skip
        super().__init__(rpc_timeout, init_method)
        self.num_worker_threads, self.num_fail_sends = num_worker_threads, num_fail_sends
        self.messages_to_fail = list(messages_to_fail)
        self.messages_to_delay = dict(messages_to_delay)

    def check(self) -> None:
        """Raise torch's error about a name that no kind of message has."""
        for name in (*self.messages_to_fail, *self.messages_to_delay):
            if name not in KINDS:
                raise RuntimeError(
                    f"No mapping to rpc::MessageType exists for {name}. There are {', '.join(sorted(KINDS))}"
                )


class FaultyTensorPipeAgent(RpcAgent):
    """A worker with a `FaultySender`. Its deadline thread sends what is late."""

    sender: FaultySender

    def __init__(
        self, options: FaultyTensorPipeRpcBackendOptions, transport: Transport, me: WorkerInfo,
        threads: int, timeout: float,
    ) -> None:  # fmt: skip
        self.options = options
        super().__init__(transport, me, threads, timeout)

    def new_sender(self, transport: Transport) -> Sender:
        return FaultySender(self, transport)

    def next_instant(self) -> float:
        return min(super().next_instant(), self.sender.next_instant())

    def do_what_is_due(self) -> None:
        super().do_what_is_due()
        self.sender.send_what_is_due()


class DueSend(NamedTuple):
    """A send that is due at an instant."""

    due: int
    act: Callable[[], None]


class FaultySender(Sender):
    def __init__(self, agent: FaultyTensorPipeAgent, transport: Transport) -> None:
        super().__init__(transport)
        self._agent, self._options = agent, agent.options
        self._failures: Counter[bytes] = Counter()  # by what the message says
        self._operations: set[object] = (
            set()
        )  # the objects that operations of torch's made, by number
        self._late: list[DueSend] = []

    def send(
        self, dst: int, kind: int, id: int, parts: list[Any], flags: int = 0, floor: int = 0
    ) -> None:
        name = self._name(id, parts[0][0]) if kind == REQUEST else ""
        if name in KINDS:
            parts = [bytes(part) for part in parts]  # its arrays may be written to meanwhile
        go = partial(super().send, dst, kind, id, parts, flags, floor)
        if name in self._options.messages_to_fail:
            self._try(name, id, parts[0], go, 0)
        else:
            self._after(self._options.messages_to_delay.get(name, 0), go)

    def _name(self, id: int, operation: int) -> str:
        """torch's name for the kind of a request; empty if torch's faulty agent knows none."""
        if operation not in CALLS:
            return RETRIED.get(operation, "")
        call = self._agent.caller.calls.get(id)
        if context_id.get() is not None or call is None:
            return ""
        of = "SCRIPT" if self._is_of_an_operation(call, operation) else "PYTHON"
        return f"{of}_{CALLS[operation]}"

    def _is_of_an_operation(self, call: PendingCall, operation: int) -> bool:
        """Whether a call runs an operation of torch's, or asks for what such a one made."""
        if operation == serve.FETCH:
            return isinstance(call.keeps, RRef) and call.keeps._held.id in self._operations
        module = call.doing.__module__ if isfunction(call.doing) else ""
        found = module == FACE or module.startswith(f"{FACE}.tensors.")
        if found and operation == serve.REMOTE:
            self._operations.add(call.keeps.id)  # type: ignore[attr-defined]  # what `rref.make` keeps
        return found

    def _try(self, name: str, id: int, said: bytes, go: Callable[[], None], retries: int) -> None:
        if self._failures[said] >= self._options.num_fail_sends:
            self._after(self._options.messages_to_delay.get(name, 0), go)
            return
        self._failures[said] += 1
        if name in RETRIED.values() and retries < TRIES:
            again = partial(self._try, name, id, said, go, retries + 1)
            self._after(FIRST * BACKOFF**retries, again)
        elif (call := self._agent.caller.calls.pop(id, None)) is not None:
            self._agent.caller.calls.has_given_up = True  # `shutdown` counts it as sent
            call.finish(error=RpcTimeout(f"RPCErr:2:Send attempt failed intentionally for {call}"))
        else:
            _log.warning("%s of %r: all sends failed intentionally", name, self._agent.me.name)

    # ------------------------------------------------------------------------------ what is late

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        if not seconds:
            act()
            return
        due = self._agent.clock.now() + round(seconds * PICO)
        self._late.append(DueSend(due, act))
        if due < self._agent.pool.deadlines.wakes:
            self._agent.pool.deadlines.expect(due)

    def next_instant(self) -> float:
        return min((late.due for late in list(self._late)), default=inf)

    def send_what_is_due(self) -> None:
        now = self._agent.clock.now()
        for late in [late for late in list(self._late) if now >= late.due]:
            self._late.remove(late)  # only this thread takes any out
            with suppress(PeerLost, TransportClosed):
                late.act()
