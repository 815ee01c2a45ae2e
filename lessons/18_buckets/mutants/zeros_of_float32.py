"""A missing gradient is packed as zeros of float32, whatever the parameter's type is.

Where a rank lacks all gradients of a bucket, its vector has another type than those of the other ranks.

Caught by: pack, average
Passes: assign, pieces, correct, bytes, rounds
"""

# BLANK 2: the shape alone
grads = [torch.zeros(p.shape) if p.grad is None else p.grad for p in bucket]
return torch.cat([grad.view(-1) for grad in grads])
# END
