"""Every sent tensor is kept until the step is over

The order is right, and would need little memory. But the stage keeps every tensor that it ever sent.
Caught by: memory
Passes: exactly once, correct, never stuck, bubble
Seen: https://github.com/pytorch/pytorch/issues/128910
"""

# BLANK 2: the send
self.leaving.append(dist.isend(tensor, to, tag=k))
self.sent = [*getattr(self, "sent", []), tensor]
# END
