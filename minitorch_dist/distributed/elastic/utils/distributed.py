"""A free port, for those who start a world by hand."""

from __future__ import annotations

from minitorch_dist.distributed.elastic.utils.api import (
    get_socket_with_port as get_socket_with_port,
)


def get_free_port() -> int:
    """A port that nobody listens on. Somebody else may take it before you do: port 0 has no such gap."""
    with get_socket_with_port() as found:
        return int(found.getsockname()[1])
