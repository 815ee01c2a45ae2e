"""Parameters are averaged, gradients are not.

For plain SGD that comes to nearly the same, and the loss falls; asked about it, a maintainer of a well-known library first
called it equivalent. But each optimizer has seen its own rank's gradients only, so Adam's moments part; and in a hook of
backward the average comes a step late.

Caught by: right, replicas
Passes: bytes
Seen: https://github.com/horovod/horovod/issues/651
"""

# BLANK 2: p instead of p.grad
all_reduce(p.data)
p.data /= dist.get_world_size()
# END
