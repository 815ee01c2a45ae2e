"""The errors while nodes meet, under torch's names."""

from __future__ import annotations

from transports.errors import DistError


class RendezvousError(DistError):
    """The family."""


class RendezvousClosedError(RendezvousError):
    """The job is over."""


class RendezvousTimeoutError(RendezvousError):
    """Not enough nodes came in time."""


class RendezvousConnectionError(RendezvousError):
    """The store that the nodes meet at cannot be reached."""


class RendezvousStateError(RendezvousError):
    """A value in the store does not belong to this job."""
