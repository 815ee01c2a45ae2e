"""The command `python -m transports.broker`, which is also `mtd broker`: serve until told to stop.

The first line on standard output is the broker's address. The password is made from the job's key
(`transports.keys`), so clients with the same key need no configuration. Nothing secret stands in the
arguments, which other users of the machine can see.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from contextlib import suppress

from transports.broker.credentials import OWNER_KEY, credentials, owner_password
from transports.broker.rules import AccessRules
from transports.broker.server import MAX_STRANGERS, BrokerServer
from transports.broker.session import House
from transports.errors import DistError

SPARE = 64  # files, beside connections
LOOPBACK = ("127.0.0.1", "::1")  # reached from this machine only


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (%(default)s)")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one (%(default)s)")
    parser.add_argument("--max-packet", type=int, default=16 << 20, help="bytes of one packet (%(default)s)")
    parser.add_argument("--open", action="store_true", help="let all programs of this machine in, without a password")
    parser.add_argument("--private", default="", help=argparse.SUPPRESS)  # see `rules`
    parser.add_argument("--leash", action="store_true", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    if options.open and options.host not in LOOPBACK:
        print(f"error: --open is for {' and '.join(LOOPBACK)}; others could come in, too", flush=True)
        return 2
    try:
        asyncio.run(_serve(options))
    except (OSError, OverflowError, DistError) as error:
        print(f"error: the broker could not start: {error}", flush=True)
        return 1
    return 0


async def _serve(options: argparse.Namespace) -> None:
    username, password = credentials()
    house = House(username, password.encode(), max_packet=options.max_packet)
    house.is_open = options.open
    if options.private:
        house.rules = AccessRules(options.private)
        house.owner_password = owner_password(os.environ[OWNER_KEY]).encode()
    _have_files(house.max_clients)
    server = BrokerServer(house)
    loop = asyncio.get_running_loop()
    await server.start(options.host, options.port)
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, server.stop)
    if options.leash:
        await _watch(server)
    host = f"[{server.host}]" if ":" in server.host else server.host
    print(f"mqtt://{host}:{server.port}", flush=True)
    await server.run()


def _have_files(clients: int) -> None:
    """Let this process open as many files as it may need, if the system allows it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = clients + MAX_STRANGERS + SPARE
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _watch(server: BrokerServer) -> None:
    """The process that started us holds our standard input: when it ends, nobody looks after us."""

    class Leash(asyncio.Protocol):
        def connection_lost(self, error: Exception | None) -> None:
            server.release()

        def data_received(self, data: bytes) -> None:
            server.release()

    await asyncio.get_running_loop().connect_read_pipe(Leash, sys.stdin)
