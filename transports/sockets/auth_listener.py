"""The way in: strangers are told from peers before a byte more than the handshake is read.

An `AuthListener` listens. Each connection gets a slot with a buffer of 140 bytes and a deadline. There are
few slots. When they are full, the connection that has been silent longest is closed. So a stranger that
scans, or sends garbage or half a handshake, holds up nobody and costs nothing.

A member has to be quicker than the crowd behind it. So nobody is shown out before FAIR seconds: until then
new connections wait in the system's own queue. And a look at the listener takes in BATCH of them at most,
so that a flood leaves time for those who are inside. `dial` is the other side.
"""

from __future__ import annotations

import errno
import selectors
import socket
from collections import Counter
from contextlib import suppress

from transports.clock import Clock, Deadline
from transports.errors import DistNetworkError, OtherJob, TrustError
from transports.job import JobCard, are_apart
from transports.sockets import endpoints, handshake, liveness
from transports.sockets.handshake import Claim

SLOTS = 128
SECONDS = 5.0  # for a whole handshake
FAIR = 0.25  # of them, in which nobody loses its slot to a newcomer
BATCH = 16  # newcomers taken in at one look
NO_FILES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
RETRY = 0.05


class Unauthenticated:
    """Somebody who has connected and not yet proved anything."""

    __slots__ = ("deadline", "greeting", "heard", "socket")

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self.socket, self.deadline = connection, deadline
        self.greeting, self.heard = handshake.greet(), bytearray()


class AuthListener:
    """A listening socket and those who stand before it. Where a `job` is given, members of others are refused;
    the owner may add to `jobs`."""

    def __init__(self, listener: socket.socket, key: bytes, clock: Clock, job: JobCard | None = None) -> None:
        self._key, self._clock = key, clock
        self.jobs = [] if job is None else [job]
        self.listener = listener
        self.listener.setblocking(False)
        self.host, self.port = self.listener.getsockname()[:2]
        self._strangers: dict[int, Unauthenticated] = {}
        self.refused: Counter[str] = Counter()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.listener, selectors.EVENT_READ)

    def fileno(self) -> int:
        """One file, which is ready when a stranger has come or said something."""
        return self._selector.fileno()

    def wait(self, seconds: float) -> list[tuple[socket.socket, Claim]]:
        """Wait for at most so long; those who have proved themselves, with their claims."""
        admitted = []
        for file in [key.fd for key, _ in self._selector.select(seconds)]:
            stranger = self._strangers.get(file)
            if stranger is not None:
                claim = self._hear(stranger)
                if claim is not None:
                    admitted.append((stranger.socket, claim))
            elif file == self.listener.fileno():
                self._open()
        for file, stranger in list(self._strangers.items()):
            if stranger.deadline.is_over():
                self._refuse(file, f"said nothing for {SECONDS:g} s")
        return admitted

    def _open(self) -> None:
        """Take in newcomers, as long as there is a slot for them."""
        for _ in range(BATCH):
            if len(self._strangers) >= SLOTS and not self._make_room("came too many at once"):
                return
            try:
                connection, _ = self.listener.accept()
            except OSError as error:
                if error.errno in NO_FILES:  # of this process; some are the guests'
                    self._make_room("left no files for others")
                return
            connection.setblocking(False)
            stranger = Unauthenticated(connection, self._clock.deadline(SECONDS))
            self._strangers[connection.fileno()] = stranger
            self._selector.register(connection, selectors.EVENT_READ)
            with suppress(OSError):
                connection.send(stranger.greeting)  # 40 bytes fit into any fresh socket

    def _make_room(self, why: str) -> bool:
        """Show out the stranger that came first, if it had its time."""
        file, stranger = next(iter(self._strangers.items()), (0, None))
        if stranger is None or stranger.deadline.elapsed() < FAIR:
            return False
        self._refuse(file, why)
        return True

    def _hear(self, stranger: Unauthenticated) -> Claim | None:
        """Read no more than a hello. The claim, once it is proved."""
        file = stranger.socket.fileno()
        try:
            data = stranger.socket.recv(handshake.HELLO_LENGTH - len(stranger.heard))
            stranger.heard += data
            if not data:
                raise TrustError("left")
            if not stranger.heard.startswith(handshake.MAGIC[: len(stranger.heard)]):
                raise TrustError("did not speak the handshake")
            if len(stranger.heard) < handshake.HELLO_LENGTH:
                return None
            claim, welcome = handshake.judge(self._key, stranger.greeting, bytes(stranger.heard))
            apart = [are_apart(one.marks(), claim.job) for one in self.jobs]
            is_ours = not apart or not all(apart)
            if not is_ours or claim.dst == handshake.WHO:
                text = f"{self.jobs[-1]}" if self.jobs else "somebody with the same key"
                said = handshake.instead(self._key, welcome, is_ours)
                stranger.socket.send(said + handshake.account(self._key, welcome, text))
                self._refuse(file, "asked whose this is" if is_ours else "belonged to another job")
                return None
            stranger.socket.send(welcome)
        except BlockingIOError:
            return None
        except TrustError as error:
            if len(stranger.heard) == handshake.HELLO_LENGTH:
                with suppress(OSError):
                    stranger.socket.send(handshake.REFUSAL)
            self._refuse(file, str(error))
        except OSError as error:
            self._refuse(file, error.strerror or "broke off")
        else:
            self._let_go(file)
            return claim
        return None

    def _refuse(self, file: int, why: str) -> None:
        self.refused[why] += 1
        self._let_go(file).close()

    def _let_go(self, file: int) -> socket.socket:
        self._selector.unregister(file)
        return self._strangers.pop(file).socket

    def close(self) -> None:
        self._selector.close()
        self.listener.close()
        for stranger in self._strangers.values():
            stranger.socket.close()
        self._strangers.clear()

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {why}" for why, count in self.refused.items())
        where = endpoints.shown(self.host, self.port)
        return f"<AuthListener {where}, {len(self._strangers)} before it, refused {told or 'nobody'}>"


def dial(
    host: str, port: int, key: bytes, claim: Claim, clock: Clock, deadline: Deadline, job: JobCard | None = None
) -> socket.socket:
    """A connection to a listener that holds the key, and knows that we do.

    Tries again until the deadline, since the listener may be on its way. DistNetworkError says why
    it did not work; at once TrustError, if a stranger answers, and OtherJob, if another `job` does.
    """
    while True:
        try:
            return dial_once(host, port, key, claim, deadline, job)
        except OSError as error:
            why: OSError = error
        if deadline.is_over():
            raise DistNetworkError(
                f"no connection to {endpoints.shown(host, port)} within {deadline.seconds} s: {why.strerror or why}. Does the "
                "program there run, is the host's name right, and do firewalls let it through?"
            ) from why
        clock.sleep(RETRY)


def dial_once(
    host: str, port: int, key: bytes, claim: Claim, deadline: Deadline, job: JobCard | None = None
) -> socket.socket:
    """One try. OSError if nobody answers, TrustError if a stranger answers, OtherJob if another job does."""
    connection, is_ours, text = _knock(host, port, key, claim, deadline, job)
    if is_ours and not text:
        connection.settimeout(None)
        liveness.watch_over(connection)
        return connection
    connection.close()
    where = endpoints.shown(host, port)
    raise job.refusal(where, text, ADVICE) if job is not None else OtherJob(f"{where} belongs to {text}")


def ask_whose(host: str, port: int, key: bytes, deadline: Deadline, job: JobCard) -> tuple[bool, str] | None:
    """Whether the listener there belongs to our job, and what it says of its own; None if it has not our key."""
    try:
        claim = Claim(0, handshake.WHO)
        connection, is_ours, text = _knock(host, port, key, claim, deadline, job)
    except (OSError, TrustError):
        return None
    connection.close()
    return is_ours, text


def _knock(
    host: str, port: int, key: bytes, claim: Claim, deadline: Deadline, job: JobCard | None
) -> tuple[socket.socket, bool, str]:
    """A connection, whether its listener is of our job, and its account, where it gives one instead of a welcome."""
    if job is not None:
        claim = claim._replace(job=job.marks())
    left = deadline.left()
    limit = SECONDS if left is None else max(min(left, SECONDS), 0.001)
    connection = socket.create_connection((host, port), timeout=limit)
    try:
        greeting = _exactly(connection, handshake.GREETING_LENGTH)
        hello, welcome = handshake.answer(key, greeting, claim)
        connection.sendall(hello)
        received = _exactly(connection, handshake.WELCOME_LENGTH)
        if handshake.is_welcome(welcome, received):
            return connection, True, ""
        if received not in [handshake.instead(key, welcome, is_ours) for is_ours in (True, False)]:
            raise TrustError(_REJECTED.format(endpoints.shown(host, port)))
        is_ours = received == handshake.instead(key, welcome, True)
        said = _exactly(connection, handshake.ACCOUNT_LENGTH)
        return connection, is_ours, handshake.read_account(key, welcome, said)
    except BaseException:
        connection.close()
        raise


ADVICE = (
    "Give each job a port of its own (MASTER_PORT, --master-port, --rdzv-endpoint; 29500 is everybody's default), or let "
    "`mtdrun --standalone` take a free one"
)
_REJECTED = (
    "{} does not hold the same key as we. Ranks on several hosts, or of several users, need the same MINITORCH_DIST_KEY"
)


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise ConnectionResetError("the connection was closed during the handshake")
        data += piece
    return data
