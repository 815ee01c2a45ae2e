"""The transport has no way to its own rank

There are logs to all others, and a program that sends to itself meets a KeyError. With one rank, all messages do.

Caught by: your transport
Passes: correct, a folder
"""

# BLANK 4: to others only
if not 0 <= dst < self.world_size:
    raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
if dst in self.lost:
    raise self.lost[dst]
with self.turn:
    self.writers[dst].append(frames.pack(len(header), len(body)) + header + body)
# END
