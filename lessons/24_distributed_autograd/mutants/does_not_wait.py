"""Do not count. Hand each gradient on as soon as it is there: sums are sums, whatever comes first. Right, and dear.

A value at the end of k diamonds gets 2^k gradients instead of one, over the wire.

Caught by: letters
Passes: right, any order, contexts
"""

# BLANK 3: on with it; a leaf adds up by itself
self.sums[node] += grad
self.run(node, grad if node.edges or isinstance(node, Recv) else self.sums[node])
# END
