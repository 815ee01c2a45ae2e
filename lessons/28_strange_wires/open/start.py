"""A shared folder. `mtd contest 28` says how far you are from the bound.

`end` is one rank's way to the folder and to its inbox:

    end.rank, end.world_size
    end.append(log, data)                  writes bytes at the end of a log, which has one writer: 1 ms, and 1 ms for 100 kB
    end.read(log, start)                   the bytes of a log from there on: 0.5 ms, and 1 ms for 100 kB
    end.sizes()                            the bytes of each log, by its name: 0.4 ms
    end.deliver(src, header, payload)      hands a message to this rank
    end.now()                              in milliseconds
    with end.lock:                         one thread at a time; it is held while `write` or `look` is called

Return three functions. `send(dst, header, payload)` may be called by several threads at once. `write()` is called before each
look, every 2 ms while the rank does something else, and at the end: what `send` has kept back may go then. `look()` is called
as long as the rank waits. Each message has to be delivered once, and those of one sender in their order.
"""

from wires import record, records


def transport(end):
    """A log for each pair of ranks, a record for each message, and a look reads all logs."""
    places = {peer: 0 for peer in range(end.world_size) if peer != end.rank}

    def send(dst, header, payload):
        with end.lock:
            if dst == end.rank:
                end.deliver(dst, header, payload)
            else:
                length = len(header).to_bytes(4, "little")
                end.append(f"{end.rank}-{dst}", record(length + header + payload))

    def write():
        """Nothing is kept back."""

    def look():
        for peer in places:
            found, read = records(end.read(f"{peer}-{end.rank}", places[peer]))
            places[peer] += read
            for message in found:
                behind = 4 + int.from_bytes(message[:4], "little")
                end.deliver(peer, message[4:behind], message[behind:])

    return send, write, look
