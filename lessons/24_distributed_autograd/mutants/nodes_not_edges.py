"""A node waits for one gradient from each node that leads to it, not for one over each edge.

In x·x two edges lead from the product to x.

Caught by: correct, library
"""

# BLANK 1: the nodes that lead to each
starts = list(starts)
parents, stack = {node: {id(node)} for node in starts}, list(starts)
while stack:
    node = stack.pop()
    for edge in node.edges:
        if edge not in parents:
            parents[edge] = set()
            stack.append(edge)
        parents[edge].add(id(node))
return {node: len(found) for node, found in parents.items()}
# END
