"""Whether to average is said between forward and backward, when it is too late.

The wrapper decides in forward. So the last piece, whose forward ran while averaging was still off, stays local; and the first one
is averaged, alone. The lecture's loop was repaired when somebody who had only made the batches smaller got a worse loss.

Caught by: right
Seen: https://github.com/karpathy/build-nanogpt/pull/30
"""

# BLANK 4: the flag is set after forward
for number, (x, y) in enumerate(pieces):
    error = loss(model(x), y, total)
    model.require_backward_grad_sync = number == len(pieces) - 1
    error.backward()
# END
