"""Parts are added into the array that came first, which somebody else may hold as well.

x + y hands the same array to x and to y. A part that is added for x is then added for y, too.

Caught by: correct
Passes: order, plugged in
Seen: https://github.com/Oneflow-Inc/oneflow/pull/9497
"""

# BLANK 2: += on an array writes into it
if following in grads:
    grads[following] += part
else:
    grads[following] = part
# END
