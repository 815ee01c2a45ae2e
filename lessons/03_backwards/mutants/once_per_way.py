"""Down every way, as plain recursion does: shared nodes come once for each way that leads to them.

Each time they pass on all that has arrived, so parts are counted again and again.

Caught by: order, correct
Seen: https://github.com/karpathy/micrograd/pull/64
Seen: https://github.com/karpathy/micrograd/issues/68
"""


# BLANK 1: recursion without memory
def visit(node):
    order.append(node)
    for following in next_nodes(node):
        visit(following)


visit(root)
# END
