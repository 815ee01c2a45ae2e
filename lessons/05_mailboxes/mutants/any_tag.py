"""Tags are ignored: the oldest message of the sender is taken, whatever it is about.

Caught by: correct, in order
Passes: plugged in
Seen: https://github.com/pytorch/pytorch/issues/94819
Seen: https://github.com/meta-pytorch/torchcomms/pull/2991
"""

# BLANK 1: only the source is looked at
while not (matching := [m for m in mailbox if src in (None, m.src)]):
    world.wait()
message = matching[0]
mailbox.remove(message)
# END
