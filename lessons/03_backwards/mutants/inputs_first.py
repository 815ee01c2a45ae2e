"""Depth first, and each node after those that it leads to: the order is upside down.

Caught by: order, correct
Seen: https://github.com/karpathy/micrograd/issues/96
"""

# BLANK 1: not reversed
met = set()


def visit(node):
    if node not in met:
        met.add(node)
        for following in next_nodes(node):
            visit(following)
        order.append(node)


visit(root)
# END
