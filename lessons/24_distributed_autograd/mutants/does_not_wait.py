"""The rank does not count. It hands each gradient on as soon as it comes: right, but it sends too many messages.

After k diamonds in a row a value gets 2^k gradients instead of one, each in a message.

Caught by: messages
Passes: correct, any order, contexts
"""

# BLANK 3: on with it; a leaf adds up by itself
self.sums[node] += grad
self.run(node, grad if node.edges or isinstance(node, Recv) else self.sums[node])
# END
