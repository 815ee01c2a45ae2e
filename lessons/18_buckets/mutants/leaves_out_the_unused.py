"""What has no gradient is not packed.

Ranks that used other parameters then have buckets of other lengths, whose numbers belong to other parameters.

Caught by: right
Passes: bytes, rounds
"""

# BLANK 2: None is skipped
used = [p for p in bucket if p.grad is not None]
if used:
    flat = torch.cat([p.grad.view(-1) for p in used])
    all_reduce(flat)
    flat /= dist.get_world_size()
    for p, part in zip(used, flat.split([p.numel() for p in used])):
        p.grad = part.view_as(p)
# END
