"""A parameter without a gradient is not packed.

Ranks that used different parameters then have buckets of different lengths, and their numbers belong to different parameters.

Caught by: pack, average
Passes: assign, pieces, correct, bytes, rounds
"""

# BLANK 2: None is skipped
return torch.cat([p.grad.view(-1) for p in bucket if p.grad is not None])
# END

# BLANK 3: and has no place in the vector
flat = pack(bucket)
all_reduce(flat)
flat /= dist.get_world_size()
unpack(flat, [p for p in bucket if p.grad is not None])
# END
