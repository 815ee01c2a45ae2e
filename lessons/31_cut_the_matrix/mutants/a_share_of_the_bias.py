"""Each rank adds a P-th of the bias before the sum.

The result is right, but backward divides by P as well, and nobody adds these gradients up. The bias learns P times too slowly.

Caught by: correct, trains
Passes: pieces, enter and leave, heads
Seen: https://github.com/pytorch/torchtitan/pull/4332
"""

# BLANK 14: a P-th of the bias
hidden = self.first(self.enter(x)).relu()
return self.leave(self.second(hidden) + self.shared(self.second.bias) / dist.get_world_size())
# END
