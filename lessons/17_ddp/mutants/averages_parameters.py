"""Parameters are averaged, gradients are not.

With plain SGD the result is nearly the same, and the loss falls. A maintainer of a well-known library first called it equivalent.
But each optimizer has seen its own rank's gradients only, so Adam's averages differ from rank to rank. And in a hook of backward
the average comes a step late.

Caught by: average, correct, replicas
Passes: start, buffers, loss, bytes
Seen: https://github.com/horovod/horovod/issues/651
"""

# BLANK 2: p instead of p.grad
all_reduce(p.data)
p.data /= dist.get_world_size()
# END
