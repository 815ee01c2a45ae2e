"""The answers that one thinks of first."""

import wires


def packed(header, payload):
    return wires.record(len(header).to_bytes(4, "little") + header + payload)


def unpacked(message):
    end = 4 + int.from_bytes(message[:4], "little")
    return message[4:end], message[end:]


def a_log_for_each_pair(end):
    """A record for each message, and a look reads all logs."""
    places = dict.fromkeys({*range(end.world_size)} - {end.rank}, 0)

    def send(dst, header, payload):
        with end.lock:
            if dst == end.rank:
                end.deliver(dst, header, payload)
            else:
                end.append(f"{end.rank}-{dst}", packed(header, payload))

    def write():
        """Nothing is kept back."""

    def look():
        for peer in places:
            new_of(end, places, peer)

    return send, write, look


def new_of(end, places, peer):
    """Deliver what a log of a pair has, from its place on."""
    found, behind = wires.records(end.read(f"{peer}-{end.rank}", places[peer]))
    places[peer] += behind
    for message in found:
        end.deliver(peer, *unpacked(message))


def only_what_has_grown(end):
    """The same, but a look lists the folder first."""
    send, write, _ = a_log_for_each_pair(end)
    places = dict.fromkeys({*range(end.world_size)} - {end.rank}, 0)

    def look():
        sizes = end.sizes()
        for peer, place in places.items():
            if sizes.get(f"{peer}-{end.rank}", 0) > place:
                new_of(end, places, peer)

    return send, write, look


def kept_until_one_waits(end):
    """The same, but what goes to one rank is kept back, and then written together."""
    _, _, look = only_what_has_grown(end)
    kept = {}

    def send(dst, header, payload):
        with end.lock:
            if dst == end.rank:
                end.deliver(dst, header, payload)
            else:
                kept[dst] = kept.get(dst, b"") + packed(header, payload)

    def write():
        while kept:
            dst, data = kept.popitem()
            end.append(f"{end.rank}-{dst}", data)

    return send, write, look
