"""Each rank keeps the gradients of its own loss, and drops those that come from others.

A tensor that all ranks have gathered influences the loss of each of them. GatherLayer.backward kept the part of its own rank, and
did not add the gradients of the others.

Caught by: correct, any order, contexts
Passes: library
Seen: https://github.com/lightly-ai/lightly/issues/1528
"""

# BLANK 2: the root, where it is; and only where it is not, the others
self.awaits = count(roots or self.sends.values())
# END

# BLANK 3: what nobody waits for any more is not needed
if not self.awaits.get(node):
    return
self.sums[node] += grad
self.awaits[node] -= 1
if not self.awaits[node]:
    self.run(node, self.sums[node])
# END
