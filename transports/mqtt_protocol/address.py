"""The parts of an address: `mqtt://user:password@host:port/run?chunk=131072&broker_timeout=60&tls=1`.

Everything but the scheme may be left out. Without a user the name and password are those of the
embedded broker, made from the job's key. `chunk` is the body of the largest frame in bytes (some brokers in
clouds take 128 KB in all). `broker_timeout` is the number of seconds for which the broker may be away.
`tls=1` encrypts. `ca` is a PEM file with the certificate of the authority that signed the broker's.
"""

from __future__ import annotations

import ssl
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from transports.contract import MAX_HEADER

CHUNK = 256 << 10
MIN_CHUNK = MAX_HEADER + 1024  # the first chunk of a message holds its header
MAX_CHUNK = 8 << 20
BROKER_TIMEOUT = 30.0


class Address(NamedTuple):
    """Where the broker is and how to talk to it; an empty host means that there is none yet."""

    host: str
    port: int
    username: str | None
    password: str | None
    run: str
    chunk: int
    broker_timeout: float
    tls: bool
    ca: str | None

    @property
    def shown(self) -> str:
        """For errors: without the password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"mqtt://{host}:{self.port}"

    @property
    def is_in_clear(self) -> bool:
        """Whether others on the way could read what is sent, and the password of the broker."""
        return not self.tls and self.host not in ("127.0.0.1", "::1", "localhost")

    def tls_context(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=self.ca) if self.tls else None


def parse(text: str) -> Address:
    """ValueError says what of an address cannot be understood."""
    parts = urlsplit(text)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    try:
        tls = options.pop("tls", "0") not in ("", "0")
        chunk = int(options.pop("chunk", CHUNK))
        broker_timeout = float(options.pop("broker_timeout", BROKER_TIMEOUT))
        ca = options.pop("ca", None)
        port = parts.port or (8883 if tls else 1883)
    except ValueError as error:
        raise ValueError(f"{shown(text)}: {error}") from None
    if options:
        raise ValueError(f"{shown(text)}: unknown {', '.join(options)}; known are chunk, broker_timeout, tls, ca")
    if not MIN_CHUNK <= chunk <= MAX_CHUNK:
        raise ValueError(f"{shown(text)}: chunk is not between {MIN_CHUNK} and {MAX_CHUNK}")
    if not broker_timeout > 0:
        raise ValueError(f"{shown(text)}: broker_timeout is not positive")
    user, password = (None if part is None else unquote(part) for part in (parts.username, parts.password))
    run = parts.path.strip("/")
    return Address(parts.hostname or "", port, user, password, run, chunk, broker_timeout, tls, ca)


def shown(text: str) -> str:
    """The address without what should not be read in a log."""
    front, at, back = text.rpartition("@")
    return f"mqtt://…@{back}" if at and front else text
