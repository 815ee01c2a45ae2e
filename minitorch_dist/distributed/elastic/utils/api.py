"""The environment, a free port, and arguments that name a worker."""

from __future__ import annotations

import os
import socket
from string import Template
from typing import Any


def get_env_variable_or_raise(env_name: str) -> str:
    """A variable that has to be there."""
    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return value


def get_socket_with_port() -> socket.socket:
    """A socket that listens on a free port of this host; close it before the port is used."""
    refused: list[OSError] = []
    for family, kind, protocol, _, address in socket.getaddrinfo(
        "localhost", 0, type=socket.SOCK_STREAM
    ):
        try:
            found = socket.socket(family, kind, protocol)
        except OSError as error:
            refused.append(error)
            continue
        try:
            found.bind(address)
            found.listen(0)
        except OSError as error:
            found.close()
            refused.append(error)
        else:
            return found
    raise RuntimeError(f"Failed to create a socket: {refused}")


class macros:
    """Placeholders for values that only the worker's process knows."""

    local_rank = "${local_rank}"

    @staticmethod
    def substitute(args: list[Any], local_rank: str) -> list[Any]:
        """The arguments of one worker."""
        return [
            Template(one).safe_substitute(local_rank=local_rank) if isinstance(one, str) else one
            for one in args
        ]
