"""Several threads may be in `send` at the same time

A rank has more than one thread: one trains, another sends what is ready. Two that deliver at once mix their messages in the inbox. This
is seen once in many runs, so the check lets two threads meet there.

Caught by: your transport
Passes: correct, a folder
"""

# BLANK 4: without the lock
if not 0 <= dst < self.world_size:
    raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
if dst in self.lost:
    raise self.lost[dst]
if dst == self.rank:
    self.deliver(dst, header, body)
else:
    self.writers[dst].append(frames.pack(len(header), len(body)) + header + body)
# END
