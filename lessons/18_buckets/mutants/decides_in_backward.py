"""The flag is set between forward and backward, which is too late.

The wrapper decides in forward. The last piece's forward ran while averaging was still off, so that piece stays local. Only the
first piece is averaged. The lecture's loop was repaired when somebody made only the batches smaller and got a worse loss.

Caught by: pieces, correct
Passes: assign, pack, average
Seen: https://github.com/karpathy/build-nanogpt/pull/30
"""

# BLANK 4: the flag is set after forward
for number, (x, y) in enumerate(pieces):
    error = loss(model(x), y, total)
    model.require_backward_grad_sync = number == len(pieces) - 1
    error.backward()
# END
