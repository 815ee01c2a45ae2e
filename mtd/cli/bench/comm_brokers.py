"""Which broker `mtd bench comm` measures: `mqtt` means our own, an address names another one."""

from __future__ import annotations

import asyncio
import os
from typing import Any
from urllib.parse import urlsplit

from transports.mqtt_protocol import address as addresses
from transports.mqtt_protocol.address import Address

OURS = "mqtt"
PATIENCE = 5.0  # seconds for a broker to let us in
ANSWER = 1.0  # seconds for it to say what it is
VERSION = "$SYS/broker/version"  # where mosquitto, EMQX, HiveMQ and VerneMQ say it


def is_broker(word: str) -> bool:
    return word.startswith("mqtt://")


def parse(word: str) -> Address:
    """The broker's address; ValueError says what is wrong with it."""
    address = addresses.parse(word)
    if not address.host:
        raise ValueError(f"{word!r} names no broker: {OURS} measures our own, mqtt://host:port another one")
    return address


def meeting(word: str) -> str:
    """An address under which the ranks of one world meet there, and no others."""
    parts = urlsplit(word)
    run = f"{parts.path.strip('/') or 'bench'}-{os.urandom(4).hex()}"
    return parts._replace(path=f"/{run}").geturl()


def title(word: str) -> str:
    """For the table: `mqtt://127.0.0.1:1883 (mosquitto version 2.0.21)`. ConnectionError says why
    nothing can be measured there."""
    if word == OURS:
        return "mqtt, our own broker"
    address = parse(word)
    try:
        return f"{address.shown} ({asyncio.run(_version(address))})"
    except OSError as error:
        raise ConnectionError(f"{address.shown}: {error}") from error


async def _version(address: Address) -> str:
    import aiomqtt

    from transports.broker.credentials import credentials

    who = credentials() if address.username is None else (address.username, address.password or "")
    options: dict[str, Any] = {"tls_context": address.tls_context(), "timeout": PATIENCE}
    try:
        async with aiomqtt.Client(address.host, address.port, username=who[0], password=who[1], **options) as client:
            await client.subscribe(VERSION)
            async with asyncio.timeout(ANSWER):
                async for message in client.messages:
                    return bytes(message.payload).decode(errors="replace")
    except TimeoutError:
        pass
    except aiomqtt.MqttError as error:
        raise ConnectionError(
            f"{error}. Is a broker there? Name and password stand in the address, as in "
            "mqtt://user:password@host:port; without them those of our own broker are offered"
        ) from error
    return "a broker that does not say which"
