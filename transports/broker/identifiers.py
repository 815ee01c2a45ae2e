"""Identifiers of clients that nobody else can come with.

    "mtd" + name + secret        name = the first 16 digits of SHA-256(secret); both are 16 hexadecimal digits

A broker lets the newer of two clients with one identifier push out the older one. So a laptop that lost its network
can come back at once, and anybody who knows an identifier may end its client. Ours hold a secret, which a client
draws when it comes to life and shows to its broker only. Our own broker knows clients by the name, and whether
they have proved it; for other brokers the whole is an identifier that cannot be guessed.
"""

from __future__ import annotations

import hashlib
import os
import re

FRONT = "mtd"
_WHOLE = re.compile(rf"{FRONT}([0-9a-f]{{16}})([0-9a-f]{{16}})")


def draw() -> tuple[str, str]:
    """A new identifier, and the name in it, which is no secret."""
    secret = os.urandom(8).hex()
    name = FRONT + _digits(secret)
    return name + secret, name


def named(identifier: str) -> tuple[str, bool]:
    """The name by which a client is known, and whether the identifier proves it."""
    found = _WHOLE.fullmatch(identifier)
    if found is None or _digits(found[2]) != found[1]:
        return identifier, False
    return FRONT + found[1], True


def _digits(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()[:16]
