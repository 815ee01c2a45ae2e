"""Looks through all nodes again and again for one that is ready: right, but slow.

Caught by: cheap
Passes: order, correct, plugged in
"""

# BLANK 1: a search for each step
waiting = list(awaits)
while waiting:
    for node in waiting:
        brings = [other for other in waiting if node in next_nodes(other)]
        if not brings:
            order.append(node)
            waiting.remove(node)
            break
# END
