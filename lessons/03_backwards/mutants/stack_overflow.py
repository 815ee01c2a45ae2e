"""The textbook's topological order, by recursion: right, until a graph is a thousand operations deep.

Caught by: deep
Passes: order, correct, plugged in, cheap
Seen: https://github.com/karpathy/micrograd/pull/90
"""

# BLANK 1: recursion
met = set()


def visit(node):
    met.add(node)
    for following in next_nodes(node):
        if following not in met:
            visit(following)
    order.insert(0, node)


visit(root)
# END
