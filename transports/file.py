"""Ranks of one host talk through one file: a mapped one of rings, or append-only ones.

    rank 0  ──►  ring 0 → 1  ──►  rank 1        one ring for each ordered pair; sender and receiver
    rank 0  ◄──  ring 1 → 0  ◄──  rank 1        never wait for each other's locks (see `rings`)

`file:///path`, in any folder, or `file://` for a place in memory (see `places`). The ranks find the
file through the store and prove it with the job's key (`setup`, `signed_file`); once all have it
open its name is taken away, so nothing is left even if all are killed. Where mappings cannot be
trusted, on a network file system or between hosts, or with `?mode=append`, each pair has
append-only files instead (`logs`). Their names go as well, unless several hosts have to find them. Behind the rings lies a `board`, for what many ranks read.

Nobody can be woken, so a rank that waits polls (see `polled`), and checks now and then whether the peers
still live (`peer_watch`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from transports import job
from transports.board import SLOTS, Board
from transports.clock import LONGEST_NAP, SYSTEM, Backoff, Clock
from transports.contract import Inbox, Store
from transports.costs import MessageCosts
from transports.identity import PeerIdentity
from transports.keys import job_key
from transports.polled import POLLS, STRIDE, YIELDS, PolledTransport
from transports.shared_file import places, setup
from transports.shared_file.logs import Logs
from transports.shared_file.peer_watch import BEAT, PeerWatch
from transports.shared_file.rings import Rings
from transports.shared_file.signed_file import SignedFile

# At a word of the board a rank polls faster. Not for longer: two ranks may have been put on one core even
# where there are two, and then each waits for the other to give it away.
BOARD_LOOKS, BOARD_YIELDS = 400, 400


class FileTransport(PolledTransport):
    """One rank's end."""

    scheme = "file"
    costs = MessageCosts(3e-6, 5e9)
    _medium: Rings | Logs
    _held: SignedFile
    _watch: PeerWatch

    def __init__(
        self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM, key: bytes | None = None
    ) -> None:
        super().__init__(rank, world_size, address, clock)
        self._place = places.parse(self.address)
        self._key = key
        self._board: Board | None = None
        self._rings: Rings | None = None

    # -- connecting -------------------------------------------------------------------------

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        key = job_key("file transport") if self._key is None else self._key
        self._inbox = inbox
        deadline, name = self.clock.deadline(timeout), job.world_name(self.world_size)
        try:
            self._held = setup.Setup(
                self.rank, self.world_size, self.address, self._place, key, store, self.clock, deadline, name
            ).settle(self._enter)
        except BaseException:
            if self._outlets:
                self._medium.close()
            raise
        self._begin()
        if self._watch.has_to_beat():
            self._heart = self.clock.start(self._beat, f"heart of rank {self.rank}")

    def _enter(self, held: SignedFile, identities: Sequence[PeerIdentity]) -> None:
        """Open our ends, before anybody is told that we are there."""
        self._watch = PeerWatch(held.terms.generation, self.rank, identities, self.clock)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if held.is_folder:
            is_far = setup.is_far(held, identities)
            self._medium = Logs(held, self.rank, is_far, self.clock)
            self._polls, self._yields = 0, 0 if is_far else YIELDS // 4
            self._nap = 10 * LONGEST_NAP if is_far else LONGEST_NAP
        else:
            self._medium = self._rings = rings = Rings(held, self.rank, self._place.board)
            has_cores = self.world_size <= (cores or 1)
            looks = BOARD_LOOKS if has_cores else BOARD_LOOKS // 40
            self._polls = POLLS if has_cores else POLLS // 10
            rings.spin.set(looks, YIELDS // 10)
            if (board := rings.board) is not None:
                self._board = board
                board.agree(self.uses_board)
                board.spin.set(looks, BOARD_YIELDS)
                if not has_cores:  # the more a rank does while it has one, the fewer turns it takes
                    board.ahead = SLOTS - 1
        if self._watch.has_neighbours():  # a thread that spins would keep the others from running
            self._polls = self._yields = 0
            for memory in (self._board, self._rings):
                if memory is not None:
                    memory.spin.set(0, 0)
        self._outlets, self._inlets = self._medium.outlets, tuple(self._medium.inlets)

    def _beat(self) -> None:
        with self._resting:
            while self._state == "open":
                self._medium.beat()
                self._resting.wait(BEAT)

    # -- memory ------------------------------------------------------------------------------

    def fetch(self, src: int, front: bytes, into: memoryview, is_next: Callable[[], bool]) -> bytes | None:
        rings = self._rings
        if rings is None or not self._turn.try_take():
            return None
        try:
            self._calls += 1
            if self._state != "open" or self._calls % STRIDE == 0 or not is_next():
                return None
            return rings.inlets[src].fetch(front, into, rings.spin)
        finally:
            self._turn.token.append(True)
            self._turn.tell()

    def board(self) -> Board | None:
        board = self._board
        return board if board is not None and board.is_wanted() else None

    def watch(self, timeout: float | None, done: Callable[[], bool]) -> None:
        """Look, deliver what comes, yield, sleep: until `done` says yes."""
        deadline = self.clock.deadline(timeout)
        pause = Backoff(self._polls, self._yields, self._nap, self._yielding)
        while not done() and not deadline.is_over():
            if self._make_way():
                pause.reset()
            else:
                pause.pause(deadline.left())
            if self._state != "open":
                self._demand_open()

    def _deaths(self) -> Mapping[int, str]:
        peers = [inlet.src for inlet in self._inlets if inlet.src != self.rank]
        deaths = {peer: self._watch.death_of(peer, self._medium.pulse) for peer in peers}
        return {peer: how for peer, how in deaths.items() if how is not None}

    def _let_go(self) -> None:
        self._board = self._rings = None
        self._medium.close()
        self._held.leave()
