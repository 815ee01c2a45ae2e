"""A transport around another one. Subclasses change what they are about and inherit the rest."""

from __future__ import annotations

from collections.abc import Callable

from transports.contract import Buffer, Inbox, Store, Transport


class WrappedTransport(Transport):
    """Passes everything on to `inner`, and `inner` calls the inbox that `watched` returns."""

    scheme = "wrapped"

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner.rank, inner.world_size, inner.address, inner.clock)
        self.inner = inner
        inner.uses_board = False  # data on a board would not be seen here

    @property
    def patience(self) -> float | None:
        return self.inner.patience

    @patience.setter
    def patience(self, seconds: float | None) -> None:
        self.inner.patience = seconds

    def watched(self, inbox: Inbox) -> Inbox:
        """The wrapper stands between `inner` and the inbox above."""
        return inbox

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        self.inner.connect(store, self.watched(inbox), timeout)

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        self.inner.send(dst, header, payload)

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        return self.inner.progress(timeout, done)

    def close(self) -> None:
        self.inner.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} around {self.inner!r}>"
