"""The transport writes letters and digits instead of bytes

All of it arrives: the reader takes two digits for a byte. But the logs are twice as long as the messages.

Caught by: your transport
Passes: correct, a folder
"""

# BLANK 4: in hexadecimal digits
if not 0 <= dst < self.world_size:
    raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
if dst in self.lost:
    raise self.lost[dst]
with self.turn:
    if dst == self.rank:
        self.deliver(dst, header, body)
    else:
        whole = frames.pack(len(header), len(body)) + header + body
        self.writers[dst].append(whole.hex().encode())
# END
# BLANK 5: and back
for peer, reader in self.readers.items():
    for digits in reader.new():
        message = bytes.fromhex(digits.decode())
        if message == GOODBYE:
            self.leaves(peer)
        else:
            length, _ = frames.unpack(message[: frames.LENGTH])
            end = frames.LENGTH + length
            self.deliver(peer, message[frames.LENGTH : end], message[end:])
# END
