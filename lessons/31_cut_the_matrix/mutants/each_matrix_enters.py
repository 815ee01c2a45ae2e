"""Query, key and value enter each for itself.

The result is right. But backward has three all_reduces where one sum of three gradients would do: half as much again for the block.

Caught by: bytes, messages
Passes: correct, heads, rows, never stuck, memory
"""

# BLANK 16: three times enter
seen = (heads_of(layer(self.enter(x)), self.heads) for layer in (self.query, self.key, self.value))
found = [self.weigh(q @ k.T) @ v for q, k, v in zip(*seen)]
summand = self.output(torch.cat(found, 1))
return self.leave(summand) + self.shared(self.output.bias)
# END
