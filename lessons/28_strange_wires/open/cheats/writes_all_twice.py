"""Writes letters and digits instead of bytes. All of it arrives, but the logs are twice as long as the messages.

Refused: are the most
"""

from wires import record, records


def transport(end):
    places = {peer: 0 for peer in range(end.world_size) if peer != end.rank}

    def send(dst, header, payload):
        with end.lock:
            if dst == end.rank:
                end.deliver(dst, header, payload)
            else:
                length = len(header).to_bytes(4, "little")
                end.append(f"{end.rank}-{dst}", record((length + header + payload).hex().encode()))

    def write():
        """Nothing is kept back."""

    def look():
        for peer in places:
            found, read = records(end.read(f"{peer}-{end.rank}", places[peer]))
            places[peer] += read
            for digits in found:
                message = bytes.fromhex(digits.decode())
                behind = 4 + int.from_bytes(message[:4], "little")
                end.deliver(peer, message[4:behind], message[behind:])

    return send, write, look
