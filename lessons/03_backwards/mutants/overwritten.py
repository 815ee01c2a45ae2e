"""The last part that arrives takes the place of the others.

Where nothing is used twice it is right.

Caught by: correct
Passes: order, plugged in
Seen: https://github.com/PaddlePaddle/Paddle/issues/3689
"""

# BLANK 2: an assignment for an addition
grads[following] = part
# END
