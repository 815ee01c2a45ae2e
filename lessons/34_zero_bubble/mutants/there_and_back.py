"""One more for the way there, and one more for the way back.

It hides the messages, and holds nearly twice what is needed.

Caught by: held
Passes: exactly once, correct, bubble, memory, messages
"""

# BLANK 5: each way by itself
return 1 + 2 * math.ceil(message)
# END
