"""Writes real files, which cost no virtual time.

Refused: reached by end.append and end.read, and not by files
"""

from wires import Reader, Writer


def transport(end):
    writers = {peer: Writer(f"{end.rank}-{peer}.log") for peer in range(end.world_size)}
    readers = {peer: Reader(f"{peer}-{end.rank}.log") for peer in range(end.world_size)}

    def send(dst, header, payload):
        with end.lock:
            writers[dst].append(len(header).to_bytes(4, "little") + header + payload)

    def write():
        """Nothing is kept back."""

    def look():
        for peer, reader in readers.items():
            for message in reader.new():
                behind = 4 + int.from_bytes(message[:4], "little")
                end.deliver(peer, message[4:behind], message[behind:])

    return send, write, look
