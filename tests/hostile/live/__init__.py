"""Servers with honest clients at work, while odd clients and strangers come.

stores     a TCPStore
brokers    the embedded MQTT broker
meetings   ranks of tcp find each other, while strangers stand at their doors
members    members of a store, clients of a broker and pupils of a class, whose requests are legal and dear
"""

from __future__ import annotations

from tests.hostile.live import brokers, meetings, members, stores
from tests.hostile.running import Part


def live_parts() -> list[Part]:
    return [
        Part("live-store", "live", stores.open_it, 3.0),
        Part("live-broker", "live", brokers.open_plain, 3.0),
        Part("live-meeting", "live", meetings.open_it, 2.0),
        Part("members-store", "live", members.open_store, 3.0),
        Part("members-broker", "live", members.open_broker, 3.0),
        Part("pupils", "live", members.open_class, 3.0),
    ]
