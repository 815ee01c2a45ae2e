"""The transport takes the first new message of each log

The reader has read all new records, and does not give them again. Where messages come one by one all is well.

Caught by: your transport
Passes: correct, a folder
"""

# BLANK 5: one for each look
for peer, reader in self.readers.items():
    for message in reader.new()[:1]:
        if message == GOODBYE:
            self.leaves(peer)
        else:
            length, _ = frames.unpack(message[: frames.LENGTH])
            end = frames.LENGTH + length
            self.deliver(peer, message[frames.LENGTH : end], message[end:])
# END
