"""A store for processes that share a folder: a log of commands in one file, under a lock.

    command:  lock ─ read what others have appended ─ do it on our own key-value table ─ append it ─ unlock

PyTorch's `FileStore`. Everybody replays the same log, so all key-value tables are equal. A record that a
killed process has left half-written is cut off by the next process that holds the lock. A waiting process
looks again, first often and then seldom.

The log begins with its users: for each the host, the boot, the process and when that started. So a file
that a crashed run has left behind is told from one in use: all its users are gone, and the error says so.
When the last user closes its handle, the file is deleted.
"""

from __future__ import annotations

import fcntl
import os
import stat
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from math import inf
from pathlib import Path

from transports import frames
from transports.clock import SYSTEM, Clock
from transports.errors import DistStoreError, TrustError
from transports.stores import processes, protocol
from transports.stores.key_values import READS, KeyValues, NotYet
from transports.stores.protocol import StoreRequest
from transports.stores.store import ADVICE, TIMEOUT, Store

JOIN, LEAVE = "user.join", "user.leave"
PAUSES = (0.0005, 0.02)  # seconds between two looks, at first and at last


class FileStore(Store):
    """`world_size`, if it is told, is how many have to come before the file can be deleted."""

    def __init__(
        self,
        file_name: str | os.PathLike[str],
        world_size: int = -1,
        timeout: float | timedelta = TIMEOUT,
        clock: Clock = SYSTEM,
    ) -> None:
        super().__init__(timeout)
        self._path, self._world_size, self._clock = Path(file_name), world_size, clock
        self._guard = clock.condition()  # threads that share this handle share its file's lock
        self._log = Log(self._path)
        user = f"{processes.mark()} {os.urandom(4).hex()}".encode()
        try:
            with self._guard, self._log.locked(create=True):
                self._log.read()
                self._log.demand_fresh(world_size)
                self._log.write(StoreRequest(JOIN, [], [user], 0.0))
        except BaseException:
            self._log.close()
            raise
        self._finalizer = weakref.finalize(self, _leave, self._log, user, world_size)

    @property
    def path(self) -> str:
        return str(self._path)

    def command(
        self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float
    ) -> list[bytes]:
        deadline = self._clock.deadline(None if timeout == inf else timeout)
        request = StoreRequest(operation, list(keys), list(values), 0.0)
        record = b"" if operation in READS else protocol.pack_request(request)
        pause, longest = PAUSES
        need: NotYet | None = None
        while True:
            is_late = deadline.is_over()
            with self._guard, self._log.locked():
                self._log.read()
                # Others wait for the lock: of many keys that are missing, one is looked at.
                if need is None or is_late or self._log.has(operation, need.missing[-1]):
                    try:
                        return self._log.carry_out(request, record)
                    except NotYet as missing:
                        need = missing
            if is_late:
                raise need.late(timeout, keys, self._note())
            left = deadline.left()
            self._clock.sleep(pause if left is None else min(pause, left))
            pause = min(2 * pause, longest)

    def _note(self) -> str:
        came = f"{self._log.joined} users of {self._path} have come so far. "
        return came + ADVICE

    def clone(self) -> FileStore:
        return FileStore(self._path, self._world_size, self._seconds, self._clock)

    def close(self) -> None:
        """Leave; the last one deletes the file."""
        with self._guard:
            self._finalizer()

    def __repr__(self) -> str:
        state = f"{len(self._log.users)} users" if self._finalizer.alive else "closed"
        return f"<FileStore {self._path} of {len(self._log.key_values.values)} keys, {state}>"


class Log:
    """The file, and what it says as far as we have read it."""

    def __init__(self, path: Path) -> None:
        self.path, self.key_values = path, KeyValues()
        self.users: list[bytes] = []
        self.joined = 0
        self._offset = 0
        self._file = -1
        self.is_whole = True  # our key-value table is what the file says up to our offset

    def _forget(self) -> None:
        """Begin anew: a command was interrupted between the key-value table and the file."""
        self.key_values, self.users, self.joined = KeyValues(), [], 0
        self._offset, self.is_whole = 0, True

    @contextmanager
    def locked(self, create: bool = False) -> Iterator[None]:
        """Hold the lock of the file that now stands at the path."""
        while True:
            if create and self._file < 0:
                self._file = self._open()
            if self._file < 0:
                raise DistStoreError(f"the FileStore {self.path} was closed")
            fcntl.flock(self._file, fcntl.LOCK_EX)
            if self._is_in_place():
                break
            if not create:
                fcntl.flock(self._file, fcntl.LOCK_UN)
                raise DistStoreError(
                    f"{self.path} was deleted or replaced while this store used it. Leave the "
                    "deleting to the store: its last user does it"
                )
            self.close()  # its last user deleted it between our open and our lock
        try:
            yield
        finally:
            if self._file >= 0:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _open(self) -> int:
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DistStoreError(
                f"cannot open the store's file {self.path}: {error.strerror}. Its folder has to "
                "exist and to be writable for every rank (file:///folder/name, three slashes)"
            ) from error
        found = os.fstat(file)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
            os.close(file)
            raise TrustError(
                f"{self.path} belongs to user {found.st_uid} with mode "
                f"{stat.S_IMODE(found.st_mode):04o}: others could write into this store. Take "
                "another name, in a folder of your own"
            )
        return file

    def _is_in_place(self) -> bool:
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        ours = os.fstat(self._file)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def read(self) -> None:
        """Replay what others have appended. The lock is held."""
        if not self.is_whole:
            self._forget()
        self.is_whole = False
        data = self._unread()
        start = 0
        while True:
            rest = memoryview(data)[start:]
            try:
                length = protocol.frame_length(bytes(rest[: frames.LENGTH]))
                if length is None or length > len(rest):
                    break
                self._replay(protocol.unpack_request(rest[frames.LENGTH : length]))
            except (frames.FrameError, DistStoreError, NotYet, ValueError, IndexError) as error:
                raise DistStoreError(
                    f"{self.path} is no store's file, or is damaged at byte {self._offset}: "
                    f"{error}. Take another name, or delete it"
                ) from error
            start += length
            self._offset += length
        if len(data) > start:  # half a record, of a process that was killed while it wrote
            os.ftruncate(self._file, self._offset)
        self.is_whole = True

    def _unread(self) -> bytes:
        """All that follows our offset. The system hands out two gigabytes at once, at most."""
        pieces, at, size = list[bytes](), self._offset, os.fstat(self._file).st_size
        while at < size and (piece := os.pread(self._file, size - at, at)):
            pieces.append(piece)
            at += len(piece)
        return b"".join(pieces)

    def _replay(self, request: StoreRequest) -> None:
        if request.operation == JOIN:
            processes.read(_mark(request.values[0]))  # ValueError if it is none
            self.users.append(request.values[0])
            self.joined += 1
            self.key_values.own_keys = 1  # this count
        elif request.operation == LEAVE:
            self.users.remove(request.values[0])
        else:
            self.key_values.do(request.operation, request.keys, request.values)

    def has(self, operation: str, key: str) -> bool:
        return self.key_values.is_there(operation, key)

    def carry_out(self, request: StoreRequest, record: bytes) -> list[bytes]:
        """Do a command on our key-value table, and append its record. The lock is held and all is read."""
        self.is_whole = False  # until what was done is written, too
        try:
            answer = self.key_values.do(request.operation, request.keys, request.values)
        except (NotYet, DistStoreError):  # nothing was changed
            self.is_whole = True
            raise
        self._append(record)
        self.is_whole = True
        return answer

    def write(self, request: StoreRequest) -> None:
        """Append word of a user. The lock is held and all is read."""
        self.is_whole = False
        self._append(protocol.pack_request(request))
        self._replay(request)
        self.is_whole = True

    def _append(self, record: bytes) -> None:
        written = 0
        while written < len(record):
            rest = memoryview(record)[written:]
            written += os.pwrite(self._file, rest, self._offset + written)
        self._offset += len(record)

    def demand_fresh(self, world_size: int) -> None:
        """DistStoreError if this is what a run has left behind that crashed."""
        dead = [user for user in self.users if not processes.is_alive(_mark(user))]
        is_late = not self.users and self.joined >= world_size > 0
        if not self.joined or (len(dead) < len(self.users)) or (not dead and not is_late):
            return
        who = ", ".join(processes.shown(_mark(user)) for user in dead) or "all its users"
        age = processes.age_of(self.path)
        raise DistStoreError(
            f"{self.path} is left from an earlier run: {who} used it and ended without closing it; "
            f"it was last written {age} ago. If no rank of this run has just crashed, "
            f"run: rm {self.path}"
        )

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _mark(user: bytes) -> str:
    return user.decode().rpartition(" ")[0]


def _leave(log: Log, user: bytes, world_size: int) -> None:
    with suppress(DistStoreError, OSError), log.locked():
        log.read()
        log.write(StoreRequest(LEAVE, [], [user], 0.0))
        alive = [other for other in log.users if processes.is_alive(_mark(other))]
        if not alive and log.joined >= world_size:
            log.path.unlink()
    log.close()
