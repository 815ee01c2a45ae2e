"""Each rank takes the mean of its own samples, and the ranks' means are averaged.

This is right as long as all shares are equally large. In the last batch of an epoch they are not. Then samples of small shares
weigh more, and an empty share turns everything into nan.

Caught by: loss, correct
Passes: start, average, buffers, replicas, bytes
Seen: https://github.com/pytorch/pytorch/issues/37359
"""

# BLANK 4: the loss as one rank would write it
return (error * error).mean()
# END
