"""How the ranks of the file transport come together, before the first message.

    1. all      leave a card in the store (who they are, which address they were given)
    2. rank 0   sees from the cards whether rings will do, makes the file, tells where it is
    3. others   open it and prove it
    4. all      say so, or why not; whoever fails, all know it, and why

Then rank 0 takes the names away: all have open what they need, and nobody else shall. Only between hosts names stay.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from transports import identity, rendezvous
from transports.clock import Clock, Deadline
from transports.contract import Store
from transports.errors import ConnectError, StoreTimeout
from transports.identity import PeerIdentity
from transports.shared_file import logs, mounts, signed_file
from transports.shared_file.places import FileAddress
from transports.shared_file.signed_file import SignedFile, Terms


@dataclass
class Setup:
    """One rank, on its way in."""

    rank: int
    world_size: int
    address: str
    place: FileAddress
    key: bytes
    store: Store
    clock: Clock
    deadline: Deadline
    job: str = ""  # its id and generation

    def settle(self, enter: Callable[[SignedFile, list[PeerIdentity]], None]) -> SignedFile:
        """Find the others and the file, and `enter` it; ConnectError names who is missing, or what went
        wrong with whom."""
        identities = self._introduce()
        held, failure = None, None
        try:
            held = self._lead(identities) if self.rank == 0 else self._follow()
            enter(held, identities)
        except Exception as error:
            failure = error
        try:
            self._agree(failure)
            assert held is not None, "a rank that has no file has failed"
        except BaseException:  # no world comes of it
            if held is not None and self.rank == 0:
                held.remove()
            if held is not None:
                held.leave()
            raise
        if self.rank == 0 and not is_far(held, identities):
            held.remove()
        if not held.is_folder:
            held.file.close()  # the mapping keeps it
        return held

    def _agree(self, failure: Exception | None) -> None:
        """Tell all that we are ready, or what our trouble is; ConnectError unless all are ready."""
        trouble = "" if failure is None else f"{failure}" or type(failure).__name__
        try:
            answers = self._exchange("file/attached", trouble.encode())
        except ConnectError:
            if not trouble:
                raise
            answers = []  # others are late, but what went wrong here is the news
        if trouble:
            raise ConnectError(f"rank {self.rank} over file: {trouble}") from failure
        troubles = [f"rank {rank}: {text.decode()}" for rank, text in enumerate(answers) if text]
        if troubles:
            raise ConnectError(f"rank {self.rank} is ready over file, but not all are: {'; '.join(troubles)}")

    def _exchange(self, name: str, card: bytes) -> list[bytes]:
        left = self.deadline.left()
        return rendezvous.exchange(self.store, name, self.rank, self.world_size, card, self.clock, left)

    def _introduce(self) -> list[PeerIdentity]:
        """The identities of all ranks; ConnectError if they were not given the same address."""
        card = {"address": self.address, **vars(identity.here())}
        identities = []
        for rank, text in enumerate(self._exchange("file", json.dumps(card).encode())):
            try:
                facts = json.loads(text)
                address = facts.pop("address")
                identities.append(PeerIdentity(**facts))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise ConnectError(
                    f"rank {rank} left {text[:80]!r} in the store, which is no card of this transport"
                ) from error
            if address != self.address:
                what = f"rank {self.rank} was told to meet at {self.address} and rank {rank} at {address}"
                raise ConnectError(f"{what}; all ranks need the same address")
        return identities

    def _lead(self, identities: Sequence[PeerIdentity]) -> SignedFile:
        """Rank 0: make the file and tell where it is, or what was wrong."""
        place, said = self.place, dict[str, str]()
        try:
            for text in signed_file.sweep(place.base):
                if not place.is_ours:  # where nobody named the place, tidying it is nobody's concern
                    warnings.warn(f"file transport: {text}", RuntimeWarning, stacklevel=2)
            mode, maker, size = _mode(place, identities), identities[0], self.world_size
            terms = Terms(mode, size, place.room(mode, size), os.urandom(16), maker.boot, f"{maker}", self.job)
            held = signed_file.make(place.base, terms, self.key)
            if held.is_folder and not is_far(held, identities):
                logs.lay_out(held.path, self.world_size)
            said = {"path": f"{held.path}", "generation": terms.generation.hex()}
        except BaseException as error:
            said = {"trouble": f"{error}"}
            raise
        finally:
            self.store.set("file/place", json.dumps(said))
        return held

    def _follow(self) -> SignedFile:
        """The others: open what rank 0 has made."""
        try:
            self.store.wait(["file/place"], self.deadline.left())
        except StoreTimeout as late:
            why = ", but rank 0 made no file"
            raise rendezvous.missed("file", self.rank, self.world_size, [0], late.seconds, why) from late
        there = json.loads(self.store.get("file/place"))
        if "trouble" in there:
            raise ConnectError(f"rank 0 could make no file: {there['trouble']}")
        try:
            generation = bytes.fromhex(there["generation"])
            return signed_file.attach(Path(there["path"]), generation, self.key, self.job)
        except FileNotFoundError:
            raise ConnectError(
                f"{there['path']}, which rank 0 made, is not to be seen on {identity.here().host}. "
                "Give a folder that all ranks see (file:///path), or use tcp://"
            ) from None


def is_far(held: SignedFile, identities: Sequence[PeerIdentity]) -> bool:
    """Whether ranks see the files over a network, and have to open them again and again."""
    has_hosts = len({identity.boot for identity in identities}) > 1
    return held.is_folder and (has_hosts or mounts.is_network(mounts.kind_of(held.path)))


def _mode(place: FileAddress, identities: Sequence[PeerIdentity]) -> str:
    """Rings, unless mappings cannot be trusted here; then it says so."""
    kind = mounts.kind_of(place.base.parent)
    hosts = ", ".join(sorted({identity.host for identity in identities}))
    is_one_host = len({identity.boot for identity in identities}) == 1
    if place.mode == "rings" and not is_one_host:
        raise ConnectError(
            f"mode=rings was asked for, but the ranks are on several hosts ({hosts}), each of which "
            "would see memory of its own. Leave the mode out, or use tcp://"
        )
    if place.mode is not None:
        return place.mode
    if mounts.is_network(kind):
        why = f"{place.base.parent} lies on a network file system ({kind})"
    elif not is_one_host:
        why = f"the ranks are on several hosts ({hosts})"
    else:
        return "rings"
    warnings.warn(
        f"file transport: {why}, where mapped files are not coherent, so append-only files are "
        "used, which are slower. Use a local folder for ranks of one host, and tcp:// between "
        "hosts; or say ?mode=append to accept this",
        RuntimeWarning,
        stacklevel=2,
    )
    return "append"
