"""How ranks find their store: an address says where it is, the environment who we are.

    env://            MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE
    tcp://host:port   rank 0 serves the store there
    file:///path      the store is a file that all ranks can reach
    mqtt://broker     the store is kept by a broker
    mpi://            under mpirun: MPI says who we are, and where rank 0 serves the store

Rank and world size are given beside the address or in it (`?rank=0&world_size=4`), not twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Final
from urllib.parse import SplitResult, urlsplit

from transports import job
from transports.errors import DistNetworkError
from transports.stores.store import PrefixStore, Store
from transports.stores.tcp import LOOPBACK, TCPStore

Found = tuple[Store, int, int]

TIMEOUT: Final = timedelta(minutes=30)
START: Final = (
    "mtdrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: start the script with "
    "`mtdrun --nproc-per-node=2 script.py`, or set all four in each process. `mtd run --ranks 2 script.py` "
    "simulates the ranks in one process, and needs none of them"
)


def rendezvous(url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = TIMEOUT) -> Found:
    """The store that an address means, our rank and the number of ranks."""
    if not (isinstance(url, str) and isinstance(rank, int) and isinstance(world_size, int)):
        raise RuntimeError(
            f"url must be a text, rank and world_size integers, but got {url!r}, {rank!r}, {world_size!r}"
        )
    parts = urlsplit(url)
    query = _query(parts)
    given = {"rank": rank, "world_size": world_size}
    given = {name: value for name, value in given.items() if value != -1}
    if given and ("rank" in query or "world_size" in query):
        raise AssertionError(f"The url: {url} has node-specific arguments(rank, world_size) already.")
    if parts.scheme not in HANDLERS:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    words = query | {name: str(value) for name, value in given.items()}
    return HANDLERS[parts.scheme](parts, words, timeout)


def _query(parts: SplitResult) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in parts.query.split("&") if pair)
    return {name: value for name, _, value in pairs}


def _error(scheme: str, text: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {text}")


def _who(scheme: str, query: dict[str, str]) -> tuple[int, int]:
    """Rank and world size from an address that must have them."""
    for name in ("rank", "world_size"):
        if name not in query:
            raise _error(scheme, f"{name.replace('_', ' ')} parameter missing")
    return int(query["rank"]), int(query["world_size"])


def _by_tcp(parts: SplitResult, query: dict[str, str], timeout: timedelta) -> Found:
    if parts.port is None:
        raise _error("tcp", "port number missing")
    rank, world_size = _who("tcp", query)
    if parts.hostname is None:
        raise AssertionError("hostname cannot be None")
    return tcp_store(parts.hostname, parts.port, rank, timeout, world_size), rank, world_size


def _by_file(parts: SplitResult, query: dict[str, str], timeout: timedelta) -> Found:
    if not parts.path:
        raise _error("file", "path missing")
    if parts.netloc not in ("", "localhost"):
        raise _error(
            "file",
            f"file://{parts.netloc}{parts.path} has two slashes, so that {parts.netloc!r} is a host and the "
            f"path is {parts.path!r}; write three: file:///{parts.netloc}{parts.path}",
        )
    rank, world_size = _who("file", query)
    kind = import_module("transports.stores.file").FileStore
    return kind(parts.path, world_size, of=job.here(world_size, rank)), rank, world_size


def _by_mqtt(parts: SplitResult, query: dict[str, str], timeout: timedelta) -> Found:
    rank, world_size = _who("mqtt", query)
    kind = import_module("transports.mqtt_protocol.store").MQTTStore
    rest = "&".join(f"{k}={v}" for k, v in query.items() if k not in ("rank", "world_size"))
    address = f"mqtt://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else "")
    mine = job.here(world_size, rank)
    return kind(address, rank, world_size, timeout, of=mine), rank, world_size


def _by_mpi(parts: SplitResult, query: dict[str, str], timeout: timedelta) -> Found:
    mpi = import_module("transports.mpi")
    rank, world_size = mpi.here()
    asked = query.get("world_size", "")
    if asked and int(asked) != world_size:
        raise _error(
            "mpi",
            f"a world of {asked} ranks is asked for, and MPI has started {world_size}: mpirun -n {asked} python …",
        )
    return mpi.store(timeout), rank, world_size


def _by_env(parts: SplitResult, query: dict[str, str], timeout: timedelta) -> Found:
    def demand(name: str) -> str:
        value = query.get(name.lower()) or os.environ.get(name)
        if not value:
            raise _error("env", f"environment variable {name} expected, but not set. {START}")
        return value

    rank, world_size = int(demand("RANK")), int(demand("WORLD_SIZE"))
    host, port = demand("MASTER_ADDR"), int(demand("MASTER_PORT"))
    return tcp_store(host, port, rank, timeout, world_size), rank, world_size


def tcp_store(host: str, port: int, rank: int, timeout: timedelta, world_size: int = 0) -> Store:
    """The store at this address; rank 0 serves it, unless torchrun's agent does."""
    mine = job.here(world_size, rank)
    if not 0 <= port < 2**16:
        raise ValueError(f"port must have value from 0 to 65535 but was {port}.")
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        kept = os.environ.get(AGENT_STORE)
        if kept is None:
            raise DistNetworkError(
                "this process was started by PyTorch's torchrun, whose store speaks another protocol "
                "than ours. Start it with mtdrun (python -m minitorch_dist.distributed.run), or set "
                "TORCHELASTIC_USE_AGENT_STORE=False and give a MASTER_PORT that is free"
            )
        agent_host, agent_port, namespace = kept.split(" ", 2)
        is_near = host in LOOPBACK and agent_host in LOOPBACK
        if port == int(agent_port) and (host == agent_host or is_near):
            store = TCPStore(host, port, timeout=timeout, of=mine.among_agents())
            return AgentStore(namespace, store)
        _demand_reachable(host, port)
    return TCPStore(host, port, None, rank == 0, timeout, multi_tenant=True, of=mine)


AGENT_STORE: Final = "MINITORCH_DIST_AGENT_STORE"  # host, port, and the prefix of our generation


class AgentStore(PrefixStore):
    """The part of the agent's store that belongs to one generation of workers."""

    def close(self) -> None:
        self.underlying_store.close()


def _demand_reachable(host: str, port: int) -> None:
    """A script under torchrun has an address of its own for the store. Rank 0 keeps it there, as it
    would without torchrun; where the other nodes could not reach that, say so at once."""
    nodes = os.environ.get("GROUP_WORLD_SIZE", "1")
    if nodes != "1" and host in LOOPBACK:
        raise DistNetworkError(
            f"the script has its ranks meet at {host}:{port}, but they are on {nodes} nodes, and "
            f"{host} is another host on each. The launcher has set MASTER_ADDR and MASTER_PORT "
            f"already ({os.environ[AGENT_STORE].rpartition(' ')[0]}): remove the lines that set them, "
            "and use init_method='env://'"
        )


HANDLERS: Final[dict[str, Callable[[SplitResult, dict[str, str], timedelta], Found]]] = {
    "tcp": _by_tcp,
    "env": _by_env,
    "file": _by_file,
    "mqtt": _by_mqtt,
    "mpi": _by_mpi,
}
