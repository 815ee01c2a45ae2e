"""Depth first, each node as soon as it is first met.

The children of a shared node get what had arrived by then; the rest stays behind. Trees come out right.

Caught by: order, correct
Seen: https://github.com/lucasdelimanogueira/PyNorch/issues/90
Seen: https://github.com/TrenTorch/TrenTorch/pull/182
Seen: https://github.com/karpathy/micrograd/issues/2
"""

# BLANK 1: not asking whether all has arrived
met = {root}
while ready:
    node = ready.pop()
    order.append(node)
    for following in next_nodes(node):
        if following not in met:
            met.add(following)
            ready.append(following)
# END
