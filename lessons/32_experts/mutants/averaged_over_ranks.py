"""Gradients of exchanged rows are divided by the number of ranks, as if the experts were replicas.

Each expert exists once, and gets the gradients of all tokens that visited it. There is nothing to average. Several trainers have had the
wrong factor here, in either direction.

Caught by: exchange, correct, trains
Passes: choice, seats, combine
Seen: https://github.com/pytorch/pytorch/issues/160285
Seen: https://github.com/databricks/megablocks/pull/20
"""

# BLANK 6: the mean
return exchanged(grad, ctx.came, ctx.sent) / dist.get_world_size(), None, None
# END
