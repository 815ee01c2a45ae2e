"""A store for processes that share a folder: a log of commands in one file, under a lock.

    command:  lock ─ read what others have appended ─ do it on our own key-value table ─ append it ─ unlock

PyTorch's `FileStore`. Everybody replays the same log, so all key-value tables are equal. A record that a
killed process has left half-written is cut off by the next process that holds the lock. Its checksums tell it from
one that was damaged, which is never cut, nor taken for other values or another job's. A waiting process looks again,
first often and then seldom.

The log begins with its users: for each the host, the boot, the process and when that started. So a file
that a crashed run has left behind is told from one in use: all its users are gone, and the error says so.

Only a new or an empty file becomes a store. A file that does not begin with a user is somebody's: it is neither cut,
nor written, nor deleted. When the last user closes its handle, a file that a user has made is deleted, and one that was
there already (`tempfile.NamedTemporaryFile`) is empty again.
"""

from __future__ import annotations

import os
import weakref
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from math import inf
from pathlib import Path

from transports import frames, job, keeper
from transports.clock import SYSTEM, Clock
from transports.errors import DistStoreError, TrustError
from transports.job import JobCard, JobMarks
from transports.keeper import Held
from transports.stores import processes, protocol
from transports.stores.key_values import READS, KeyValues, NotYet
from transports.stores.protocol import StoreRequest
from transports.stores.store import ADVICE, TIMEOUT, Store

JOIN, LEAVE = "user.join", "user.leave"
PIECE = 1 << 20  # bytes that are read at a time: a file of somebody else may be large
BEGIN = frames.pack(0, 0)[:8]  # of each record
SUM = 4  # bytes of a checksum
HEAD = frames.LENGTH + SUM  # of a record
MADE = b"made"  # a user's last value: it has made the file
PAUSES = (0.0005, 0.02)  # seconds between two looks, at first and at last


class FileStore(Store):
    """A key-value store in a file that all processes can reach.

    Args:
        file_name: The path; the file is new or empty, or a store's own.
        world_size: How many processes have to come before the file can be deleted.
        timeout: The time limit of each request, in seconds or as a timedelta.
        clock: The clock that waits.
        of: The job that the store belongs to.

    Raises:
        DistStoreError: The file is damaged, or is no store.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = dist.FileStore(pathlib.Path(folder) / "store", 1)
        ...     store.add("visits", 1), store.add("visits", 2)
        (1, 3)
    """

    def __init__(
        self,
        file_name: str | os.PathLike[str],
        world_size: int = -1,
        timeout: float | timedelta = TIMEOUT,
        clock: Clock = SYSTEM,
        of: JobCard | None = None,
    ) -> None:
        """`of` is the job that the store belongs to, this process's by default; see `transports.job`."""
        super().__init__(timeout)
        self._path, self._world_size, self._clock = Path(file_name), world_size, clock
        self._job = job.here() if of is None else of
        self._guard = clock.condition()  # threads that share this handle share its file's lock
        self._log = Log(self._path)
        user = f"{processes.mark()} {os.urandom(4).hex()}".encode()
        try:
            with self._guard, self._log.locked(create=True):
                self._log.demand_same_job(self._job)
                self._log.demand_fresh(world_size)
                card = [self._job.marks().packed(), f"{self._job}".encode()]
                made = [MADE] * self._log.has_made
                self._log.write(StoreRequest(JOIN, [], [user, *card, *made], 0.0))
        except BaseException:
            self._log.give_up()
            raise
        self._finalizer = weakref.finalize(self, _leave, self._log, user, world_size, os.getpid())

    @property
    def path(self) -> str:
        return str(self._path)

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        deadline = self._clock.deadline(None if timeout == inf else timeout)
        record = b"" if operation in READS else packed(StoreRequest(operation, list(keys), list(values), 0.0))
        pause, longest = PAUSES
        need: NotYet | None = None
        while True:
            is_late = deadline.is_over()
            with self._guard, self._log.locked():
                # Others wait for the lock: of many keys that are missing, one is looked at.
                if need is None or is_late or self._log.key_values.is_there(operation, need.missing[-1]):
                    try:
                        return self._log.carry_out(operation, keys, values, record)
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

    def close(self) -> None:
        """Leave; the last one deletes the file."""
        with self._guard:
            self._finalizer()


class Log:
    """The file, and what it says as far as we have read it."""

    def __init__(self, path: Path) -> None:
        self.path, self.key_values = path, KeyValues()
        self.users: list[bytes] = []
        self.jobs: dict[bytes, tuple[JobMarks, str]] = {}  # of users, also of those that have left
        self.joined = 0
        self._offset = 0
        self._file = Held(-1)
        self._is_closed = False
        self.has_made = False  # whether the file was not there before we came
        self.is_of_users = False  # whether one of them has made it
        self._is_whole = True  # our key-value table is what the file says up to our offset

    def _forget(self) -> None:
        """Begin anew: a command ended with an error, perhaps between the key-value table and the file."""
        self.key_values, self.users, self.jobs, self.joined = KeyValues(), [], {}, 0
        self._offset, self.is_of_users = 0, False

    @contextmanager
    def locked(self, create: bool = False) -> Iterator[None]:
        """Hold the lock of the file that now stands at the path, and have read all of it."""
        while True:
            if self._is_closed:
                raise DistStoreError(f"the FileStore {self.path} was closed")
            try:
                if self._file.number < 0:  # also in a process that was forked: a lock belongs to one
                    self._file = self._open(create)
                self._file.lock(wait=True)
            except OSError as error:
                raise DistStoreError(
                    f"{self.path} cannot be a store's file: {error.strerror}. Take a new name in a folder that is there and "
                    "that every rank can write to (file:///folder/name, three slashes). A link is not followed, and a file "
                    "system without locks will not do"
                ) from error
            if self._file.is_at(self.path):
                break
            self._file.close()
            if not create:
                advice = "Leave the deleting to the store: its last user does it"
                raise DistStoreError(f"{self.path} was deleted or replaced while this store used it. {advice}")
            self.has_made = False  # its last user deleted it between our open and our lock
        was_whole, self._is_whole = self._is_whole, False  # until this has come to its end
        try:
            if not was_whole:
                self._forget()
            self._read()
            yield
            self._is_whole = True
        finally:
            if self._file.number >= 0:
                self._file.unlock()

    def _open(self, create: bool) -> Held:
        try:
            flags = os.O_CREAT | os.O_EXCL if create else 0
            file = Held(keeper.open_file(self.path, os.O_RDWR | flags, 0o600))
            self.has_made = create
        except FileExistsError:
            file = Held(keeper.open_file(self.path, os.O_RDWR))
        if odd := keeper.why_not_ours(file.number, 0o022):
            file.close()
            raise TrustError(f"{self.path} {odd}: others could write into this store. Take a name in a folder of yours")
        return file

    def _read(self) -> None:
        """Replay what others have appended. The lock is held."""
        size, data, start = os.fstat(self._file.number).st_size, b"", 0
        while self._offset < size:
            rest = memoryview(data)[start:]
            try:
                length = _record_length(rest)
                if length is not None and length <= len(rest):
                    self._replay(protocol.unpack_request(_checked(rest[HEAD:length])))
                    start += length
                    self._offset += length
                    continue
            except (frames.FrameError, DistStoreError, NotYet, ValueError, IndexError) as error:
                raise self._no_store(f"{error}") from error
            wanted = min(size - self._offset, max(PIECE, length or 0))
            if len(rest) >= wanted:  # half a record
                self._cut(bytes(rest[: frames.LENGTH]))
                break
            data, start = os.pread(self._file.number, wanted, self._offset), 0

    def _cut(self, begin: bytes) -> None:
        """Take away half a record, of a process that was killed while it wrote; never the bytes of somebody else."""
        if not self.joined or not BEGIN.startswith(begin[: len(BEGIN)]):
            raise self._no_store(f"there is {begin!r}, which no store wrote")
        os.ftruncate(self._file.number, self._offset)

    def _no_store(self, why: str) -> DistStoreError:
        what = f"is damaged at byte {self._offset}" if self.joined else "is no store's file"
        return DistStoreError(
            f"{self.path} {what}: {why}. It stays as it is. Take another name, or delete it if nobody needs it"
        )

    def _replay(self, request: StoreRequest) -> None:
        if not self.joined and request.operation != JOIN:
            raise ValueError(f"a store begins with a user, and not with {request.operation[:20]!r}")
        if request.operation == JOIN:
            processes.read(_mark(request.values[0]))  # ValueError if it is none
            self.users.append(request.values[0])
            marks, text = request.values[1:3]
            self.jobs[request.values[0]] = job.unpacked(marks), job.clean(text.decode())
            self.joined += 1
            self.is_of_users |= request.values[-1] == MADE
            self.key_values.own_keys = 1  # this count
        elif request.operation == LEAVE:
            self.users.remove(request.values[0])
        else:
            self.key_values.do(request.operation, request.keys, request.values)

    def carry_out(self, operation: str, keys: Sequence[str], values: Sequence[bytes], record: bytes) -> list[bytes]:
        """Do a command on our key-value table, and append its record. The lock is held and all is read."""
        try:
            answer = self.key_values.do(operation, keys, values)
        except (NotYet, DistStoreError):  # nothing was changed
            self._is_whole = True
            raise
        self._append(record)
        return answer

    def write(self, request: StoreRequest) -> None:
        """Append word of a user. The lock is held and all is read."""
        self._append(packed(request))
        self._replay(request)

    def _append(self, record: bytes) -> None:
        written = 0
        try:
            while written < len(record):
                rest = memoryview(record)[written:]
                written += os.pwrite(self._file.number, rest, self._offset + written)
        except BaseException:  # a full disk, a signal
            with suppress(OSError):
                os.ftruncate(self._file.number, self._offset)
            raise
        self._offset += len(record)

    def demand_same_job(self, mine: JobCard) -> None:
        """OtherJob if those who use this file are of another job than ours, or have left it to nobody else."""
        living = [user for user in self.users if processes.is_alive(_mark(user))]
        found = [self.jobs[user] for user in living or self.jobs if user in self.jobs]
        end = "" if living else f". Its processes have all ended: if it is over, run: rm {self.path}"
        for marks, text in found:
            mine.demand_same(f"{self.path}", marks, text, f"Give each job a file of its own{end}")

    def demand_fresh(self, world_size: int) -> None:
        """DistStoreError if this is what a run has left behind that crashed."""
        dead = [user for user in self.users if not processes.is_alive(_mark(user))]
        is_late = not self.users and self.joined >= world_size > 0
        if not self.joined or (len(dead) < len(self.users)) or (not dead and not is_late):
            return
        who = ", ".join(processes.shown(_mark(user)) for user in dead) or "all its users"
        raise DistStoreError(
            f"{self.path} is left from an earlier run: {who} used it and ended without closing it. "
            f"If no rank of this run has just crashed, run: rm {self.path}"
        )

    def take_away(self) -> None:
        """All have left, and the lock is held: nothing is to be left of the store."""
        if self.is_of_users:
            keeper.remove_held(self.path, self._file)
        else:
            os.ftruncate(self._file.number, 0)

    def give_up(self) -> None:
        """We could not join: a file that we have just made, and nobody has used, goes again."""
        with suppress(DistStoreError, OSError):
            if self.has_made and not self._is_closed and self._file.number >= 0:
                with self.locked():
                    if not os.fstat(self._file.number).st_size:
                        keeper.remove_held(self.path, self._file)
        self.close()

    def close(self) -> None:
        self._is_closed = True
        self._file.close()


def packed(request: StoreRequest) -> bytes:
    """The record of a request."""
    return framed(protocol.pack_request(request))


def framed(frame: bytes) -> bytes:
    """A frame as a record: its head and its body, each with its checksum."""
    head, body = frame[: frames.LENGTH], frame[frames.LENGTH :]
    return head + _sum(head) + body + _sum(body)


def _record_length(rest: memoryview) -> int | None:
    """How long the record at the head of `rest` is; None if its beginning is not all there."""
    if len(rest) < HEAD:
        return None
    length = protocol.frame_length(_checked(rest[:HEAD]))
    assert length is not None, "its head is there"
    return length + 2 * SUM


def _checked(data: memoryview) -> bytes:
    """The data before its checksum; ValueError if the two do not agree."""
    if data[-SUM:] != _sum(data[:-SUM]):
        raise ValueError("these are not the bytes that were written")
    return bytes(data[:-SUM])


def _sum(data: bytes | memoryview) -> bytes:
    return zlib.crc32(data).to_bytes(SUM, "little")


def _mark(user: bytes) -> str:
    return user.decode().rpartition(" ")[0]


def _leave(log: Log, user: bytes, world_size: int, process: int) -> None:
    if process == os.getpid():  # a forked child is not the user
        with suppress(DistStoreError, OSError), log.locked():
            log.write(StoreRequest(LEAVE, [], [user], 0.0))
            alive = [other for other in log.users if processes.is_alive(_mark(other))]
            if not alive and log.joined >= world_size:
                log.take_away()
    log.close()
