"""Encryption for `tcp`, where asked: `tcp://?certificate=job.pem&key=job.key&authority=ca.pem`.

    connect ─ handshake with the job's key (`handshake`) ─ TLS, both sides with certificates ─ frames

A machine that could change packets after the handshake cannot pass the second step. Both sides show
certificates and demand one that `authority` has signed (by default the certificate itself, so one
self-made pair of files for all ranks is enough). Hosts' names play no part: ranks are known by the
job's key. The same three can be told by MINITORCH_DIST_TLS_CERTIFICATE, _KEY and _AUTHORITY.

The store is not encrypted: it carries addresses, and the key itself never goes over any wire.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

from transports.clock import Clock
from transports.driven import Turn
from transports.errors import TrustError

OPTIONS = ("certificate", "key", "authority")
OTHERS = ("rank", "world_size")  # what torch's addresses may carry, read elsewhere
VARIABLE = "MINITORCH_DIST_TLS_"
SECONDS = 30.0  # for one TLS handshake, with a peer that holds the job's key


class TlsSocket(ssl.SSLSocket):
    """The part of a socket that `links` needs. It never waits.

    TLS may have to read in order to write and the other way round, and OpenSSL wants one thread at
    a time, so both take turns.
    """

    turn: Turn
    clock: Clock

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        turn = self.turn
        turn.try_take() or turn.take(self.clock.deadline(None))
        try:
            return super().recv_into(buffer, nbytes, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None
        finally:  # one call, so that an interrupt cannot come before it is done (see `turn`)
            turn.token.append(True)
            turn.tell()

    def send(self, data: Any, flags: int = 0) -> int:
        return self.sendmsg([data])

    def sendmsg(self, buffers: Iterable[Any], *rest: Any) -> int:  # type: ignore[override]
        """As much as goes, in records of TLS."""
        sent, turn = 0, self.turn
        turn.try_take() or turn.take(self.clock.deadline(None))
        try:
            for buffer in buffers:
                view = memoryview(buffer)
                while view:
                    step = super().send(view)
                    sent += step
                    view = view[step:]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if not sent:
                raise BlockingIOError from None
        finally:
            turn.token.append(True)
            turn.tell()
        return sent

    def shutdown(self, how: int) -> None:
        """Of the connection below. ssl's own would drop the encryption and keep the socket, and
        what another thread then sends would go out in the clear."""
        socket.socket.shutdown(self, how)


class Tls:
    """The certificates of one rank."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.certificate = options["certificate"]
        self.authority = options.get("authority", self.certificate)
        self._server = self._context(ssl.PROTOCOL_TLS_SERVER, options)
        self._client = self._context(ssl.PROTOCOL_TLS_CLIENT, options)
        self._server.num_tickets = 0  # nobody comes back

    def _context(self, protocol: int, options: Mapping[str, str]) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.sslsocket_class = TlsSocket
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, options.get("key"))
            context.load_verify_locations(self.authority)
        except OSError as error:
            raise TrustError(
                f"the certificate {self.certificate} or its key or authority {self.authority} cannot be used: {error}. "
                "All three are PEM files; key and authority may stand in the certificate's"
            ) from error
        return context

    def wrap(self, connection: socket.socket, is_listener: bool, clock: Clock) -> TlsSocket:
        """The same connection, encrypted; TrustError if the peer's certificate is not accepted."""
        context = self._server if is_listener else self._client
        connection.settimeout(SECONDS)
        try:
            wrapped = context.wrap_socket(connection, server_side=is_listener, do_handshake_on_connect=False)
        except OSError:
            connection.close()
            raise
        assert isinstance(wrapped, TlsSocket), "that is what the context makes"
        wrapped.turn, wrapped.clock = Turn(clock), clock
        try:
            wrapped.do_handshake()
        except OSError as error:
            wrapped.close()
            raise TrustError(
                f"TLS failed with a peer that holds the job's key: {error}. Every rank needs a "
                f"certificate that {self.authority} has signed, and all ranks the same options"
            ) from error
        return wrapped


def find(options: Mapping[str, str]) -> Tls | None:
    """The encryption that an address or the environment asks for; None if neither does."""
    unknown = sorted(set(options) - {*OPTIONS, *OTHERS})
    if unknown:
        raise ValueError(f"tcp has no options {unknown}; it has {', '.join(OPTIONS)}")
    told = {name: os.environ.get(VARIABLE + name.upper(), "") for name in OPTIONS}
    told = {name: options.get(name, told[name]) for name in OPTIONS}
    told = {name: value for name, value in told.items() if value}
    if told and "certificate" not in told:
        raise ValueError(f"{' and '.join(told)} without a certificate: TLS needs one on each side")
    return Tls(told) if told else None
