"""The name and password with which members of the job come to its broker."""

from __future__ import annotations

from transports.keys import job_key

USERNAME = "mtd"


def credentials() -> tuple[str, str]:
    """The user name, and a password that only holders of the job's key can make."""
    return USERNAME, job_key("mqtt broker").hex()
