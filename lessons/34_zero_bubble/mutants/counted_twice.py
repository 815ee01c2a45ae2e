"""The list is never emptied, so each micro-batch brings the notes of all before it again.

With one micro-batch nobody sees it. torch counted a weight twice that was used at two places of a stage.

Caught by: split, correct
Passes: exactly once, bubble
Seen: https://github.com/pytorch/pytorch/issues/180952
"""

# BLANK 2: a copy, and the list stays
self.backward(k)
self.late[k] = [*self.fresh]
# END
