"""The distance that hides messages in 1F1B: the round trip in periods of F, I and W.

It is enough in the middle of the step. But at first the last stage puts its Ws off, so it takes a new micro-batch in every two units. If
messages are long, it waits for them.

Caught by: messages
Passes: exactly once, correct, bubble, memory, held
"""

# BLANK 5: in steps of three units
return 1 + math.ceil(2 * message / 3)
# END
