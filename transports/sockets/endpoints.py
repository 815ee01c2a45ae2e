"""Hosts, ports and interfaces: where to listen, and what to say when that fails."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from transports.errors import DistNetworkError

INTERFACE = ("MINITORCH_DIST_INTERFACE", "GLOO_SOCKET_IFNAME")  # variables that name a network card
_BACKLOG = 1024


def split(address: str) -> tuple[str, int, dict[str, str]]:
    """Host ("" if none), port (0 if none) and options of `scheme://host:port?name=value`."""
    parts = urlsplit(address)
    try:
        return parts.hostname or "", parts.port or 0, dict(parse_qsl(parts.query))
    except ValueError as error:
        raise ValueError(f"{address!r} is no address: {error}") from error


def shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_mark() -> str:
    """The same for processes that share a loopback, different for others."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.stat('/proc/self/ns/net').st_ino}"  # noqa: PTH116 - not a real path
    return socket.gethostname()


def own_address(towards: str) -> str:
    """The address of ours from which `towards` is reached; chosen by the system's routes.

    Connecting a datagram socket sends nothing; it only asks for the route. A network card that is
    named in the environment goes first. Loopback comes last: many systems let a host's own name
    lead there, where no other host can follow.
    """
    for variable in INTERFACE:
        name = os.environ.get(variable)
        if name:
            return _address_of(name, variable)
    # 192.0.2.1 is nobody's (RFC 5737): it stands for "anywhere", that is, the default route
    for target in (towards, "192.0.2.1"):
        if not target:
            continue
        with suppress(OSError):
            family, kind, protocol, _, place = socket.getaddrinfo(target, 9, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(place)
                found = str(probe.getsockname()[0])
            if not found.startswith("127.") and found != "::1":
                return found
    return "127.0.0.1"


def _address_of(interface: str, variable: str) -> str:
    """The IPv4 address of a network card (Linux)."""
    import fcntl
    import struct

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            request = struct.pack("256s", interface.encode()[:15])
            found = fcntl.ioctl(probe, 0x8915, request)  # SIOCGIFADDR
            return socket.inet_ntoa(found[20:24])
    except OSError as error:
        known = ", ".join(name for _, name in socket.if_nameindex())
        raise DistNetworkError(
            f"{variable}={interface}: this network card has no IPv4 address ({error.strerror}); there are {known}"
        ) from error


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; DistNetworkError says which program holds the port and what to do."""
    wildcard = host in ("", "::", "0.0.0.0")
    try:
        if wildcard and socket.has_dualstack_ipv6():
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG)
        family, *_, place = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(place[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        where = shown(host or "*", port)
        raise DistNetworkError(f"cannot listen on {where}: {error.strerror or error}. {_advice(port)}") from error


def _advice(port: int) -> str:
    holder = holder_of(port)
    held = f"Port {port} is held by {holder}. " if holder else ""
    return (
        f"{held}Choose another port (MASTER_PORT, or 0 for any that is free; for one machine "
        "--standalone or --rdzv-endpoint=localhost:0 do that), or end the program that holds it"
    )


def holder_of(port: int) -> str:
    """The process that listens on a port, "pid 12 (python train.py)"; "" where that cannot be seen."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{words[9]}]")
    if not inodes:
        return ""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            with os.scandir(process / "fd") as files:
                is_holder = any(os.readlink(file.path) in inodes for file in files)  # noqa: PTH115 - thousands of them
            if is_holder:
                command = (process / "cmdline").read_text("utf-8", "replace").replace("\0", " ").strip()
                return f"pid {process.name} ({command[:100]})"
    return "a process of another user"
