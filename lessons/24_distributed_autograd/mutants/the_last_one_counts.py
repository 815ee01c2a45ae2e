"""A new gradient overwrites the sum, instead of being added.

In a graph without branches this is right: each node has one gradient.

Caught by: correct, any order
"""

# BLANK 3: it is here
self.sums[node] = grad
self.awaits[node] -= 1
if not self.awaits[node]:
    self.run(node, self.sums[node])
# END
