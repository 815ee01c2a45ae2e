"""Every fork is asked for, also one that comes from the owner: right, but each time with three messages too many.

Caught by: messages
Passes: correct, never too early, always freed, leaks
"""

# BLANK 4: it can do no harm to ask
self.post.send(owner, (FORK, id, number))
# END
