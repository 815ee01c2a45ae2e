"""A send that waits for its receive, in both directions at once

Stage 0 sends an activation to the right while stage 1 sends a gradient to the left: each waits for the other to
receive. It works as long as the messages are small enough to be buffered.
Caught by: never stuck
Passes: exactly once, correct, bubble, memory
Seen: https://github.com/pytorch/pytorch/issues/172668
Seen: https://github.com/NVIDIA/nccl/issues/479
"""

# BLANK 2: the send
dist.send(tensor, to, tag=k)
# END
