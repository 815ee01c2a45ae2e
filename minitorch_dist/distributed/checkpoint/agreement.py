"""Ranks that load together load one checkpoint, and no rank waits for another.

A save of another job may end after one rank has opened a folder, and before the next one does. So the first rank notes in the
group's store what it loads, before it fills anything, and the others load the same:

    rank 0   has opened A, and nothing is noted      notes A, loads A
             another job saves B; A stays for readers
    rank 1   has opened B, and A is noted            opens A, loads A
             another job saves C; A is removed
    rank 2   has opened C, and A is noted            CheckpointException: A is gone

Loads of the ranks belong together if they are of one path, and the n-th of it since the group began its latest collective. So
ranks may differ in how often they load, wherever a collective lies between. Within such a stretch, a rank that finds a note of an
earlier checkpoint looks whether somebody has loaded a later one since then. If so, either that rank had loaded alone before,
or the ranks mix two checkpoints. Loading the later one is right in the first case; in the second, this rank's next load tells.
A rank that loads alone had better say so: `no_dist=True`.
"""

from __future__ import annotations

import json
import weakref
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.checkpoint.folder import Checkpoint
from minitorch_dist.distributed.checkpoint.index import CheckpointException
from minitorch_dist.distributed.groups import Group
from transports.errors import DistNetworkError
from transports.sockets.endpoints import host_mark


class Note(NamedTuple):
    """The first rank's word in the store."""

    generation: str
    first: str  # of its folder
    rank: int
    host: str


NOTHING: Final = b"null"  # no note is like this


@dataclass
class LoadCounts:
    """The loads of a rank between two collectives of a group. A load that fails before it fills something does not count."""

    begun: int  # how many collectives have begun
    loads: Counter[Path] = field(default_factory=Counter)
    errors: dict[Path, tuple[int, CheckpointException]] = field(
        default_factory=dict
    )  # from which load on


_counts: weakref.WeakKeyDictionary[Group, LoadCounts] = weakref.WeakKeyDictionary()


class JointLoad:
    """One load of a folder, as part of the loads of all ranks of a group."""

    def __init__(self, folder: Path, group: Any, no_dist: bool) -> None:
        self.folder, self.group = folder.absolute(), _who_load(group, no_dist)
        self._noted: Note | None = None  # what the ranks load; None: not known yet

    def other_than(self, found: Checkpoint) -> Checkpoint | None:
        """The checkpoint to load in place of `found`, which this rank has opened; None: that one is right. CheckpointException
        if another rank loads one that is there no more."""
        if self.group is None or not found.generation:
            return None
        if self._noted is None:
            self._agree(found)
        if self.is_settled_on(found) or self._is_of_other_disk(found):
            return None
        assert self._noted is not None
        for one in (found, Checkpoint(self.folder)):  # another rank may have seen a newer one
            other = one.of_generation(self._noted.generation)
            if other is not None:
                return other
        raise self.failure()

    def is_settled_on(self, found: Checkpoint) -> bool:
        """Whether the ranks load this one, so that no other will do."""
        return self._noted is not None and self._noted.generation == found.generation

    def failure(self) -> CheckpointException:
        """This rank does not get what another rank has noted."""
        return self._stop(self.number)

    def _stop(self, number: int) -> CheckpointException:
        """An error of the load with this number, and of all after it, until there is another collective."""
        assert self._noted is not None
        now = Checkpoint(self.folder).generation
        error = CheckpointException(
            f"the ranks would have a mixture of two checkpoints. Rank {self._noted.rank} loads {self._noted.generation} of "
            f"{self.folder}, and rank {self.group.rank()} finds {now} there, of another save. Load again on all "
            "ranks, after a barrier, or while no job saves there. A rank that loads alone says no_dist=True"
        )
        self.counts.errors[self.folder] = number, error
        return error

    def _agree(self, found: Checkpoint) -> None:
        """Find the note that counts for this load, or make it."""
        begun = self.group.channel.count
        self.counts = _counts.get(self.group, LoadCounts(-1))
        if self.counts.begun != begun:
            self.counts = _counts[self.group] = LoadCounts(begun)
        self.counts.loads[self.folder] += 1
        self.number = number = self.counts.loads[self.folder]
        last, error = self.counts.errors.get(self.folder, (0, None))
        if error is not None and number >= last:
            raise error
        try:
            self._noted = latest = self._note(found)
            if self.is_settled_on(found) or self._is_of_other_disk(found):
                return
            while (said := self._read(number + 1)) is not None:
                number, latest = number + 1, said
            if latest.generation != self._noted.generation:
                self._stop(number)
                self._noted = latest
        except DistNetworkError:  # the store's rank has ended, and loads no more
            self._noted = self._mine(found)

    def _key(self, number: int) -> str:
        return f"checkpoint/load/{self.counts.begun}/{number}/{self.folder}"

    def _mine(self, found: Checkpoint) -> Note:
        return Note(found.generation, found.first, self.group.rank(), host_mark())

    def _note(self, found: Checkpoint) -> Note:
        """The note for this load; the first rank makes it. The last one takes it away."""
        store, key = self.group.get_group_store(), self._key(self.number)
        mine = json.dumps(self._mine(found)).encode()
        noted = Note(*json.loads(store.compare_set(key, b"", mine)))
        if store.add(f"{key}/count", 1) == self.group.size():
            store.delete_key(key)
            store.delete_key(f"{key}/count")
        return noted

    def _read(self, number: int) -> Note | None:
        """The note of the load with this number, if there is one; it does not wait."""
        said = self.group.get_group_store().compare_set(self._key(number), NOTHING, NOTHING)
        return None if said == NOTHING else Note(*json.loads(said))

    def _is_of_other_disk(self, found: Checkpoint) -> bool:
        """Hosts may have disks of their own under one path, and checkpoints there that have nothing to do with each other."""
        assert self._noted is not None
        return self._noted.first != found.first and self._noted.host != host_mark()


def _who_load(group: Any, no_dist: bool) -> Any:
    """The group whose ranks have to agree; None if this rank is alone, or stands for others (see `mtd.planning.fold`)."""
    if no_dist or not distributed_c10d.is_initialized():
        return None
    group = distributed_c10d._get_default_group() if group is None else group
    is_alone = not isinstance(group, Group) or group.size() == 1 or group.world.trace is not None
    return None if is_alone else group
