"""The name and password with which members of the job come to its broker."""

from __future__ import annotations

import hashlib
import hmac

from transports.keys import job_key

USERNAME = "mtd"
OWNER = "owner"
OWNER_KEY = "MINITORCH_DIST_OWNER_KEY"  # of a broker with private topics (`rules`), for its process only


def credentials() -> tuple[str, str]:
    """The user name, and a password that only holders of the job's key can make."""
    return USERNAME, job_key("mqtt broker").hex()


def owner_password(key: str) -> str:
    """The password of the owner whose key this is; the key itself goes over no wire."""
    return hmac.digest(hashlib.sha256(key.encode()).digest(), b"mqtt owner", "sha256").hex()
