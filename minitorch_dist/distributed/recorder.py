"""What a journal is told: the face of whoever writes down what a rank does."""

from __future__ import annotations

from typing import Protocol

from minitorch_dist.distributed.wire import Fingerprint


class Doing(Protocol):
    """What a rank is doing: an operation, or a send or a receive."""

    site: str

    @property
    def fingerprint(self) -> Fingerprint: ...
    @property
    def sequence(self) -> int: ...
    @property
    def group(self) -> str:
        """The name of its group."""

    def describe(self) -> str: ...


class Recorder(Protocol):
    """Set as `Mailbox.recorder`, it is called in the thread to which these things happen. `to` and
    `source` are ranks of the world, and the step of a send or a receive is its tag."""

    def began(self, doing: Doing) -> None: ...
    def sent(self, doing: Doing, to: int, step: int, nbytes: int) -> None: ...
    def received(self, doing: Doing, source: int, step: int, nbytes: int) -> None: ...
    def ended(self, doing: Doing, error: BaseException | None) -> None: ...
