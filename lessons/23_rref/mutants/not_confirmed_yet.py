"""A fork that nobody wants is given back, entered or not.

DELETE arrives before FORK, or comes for a fork that the owner does not know yet.

Caught by: correct
"""

# BLANK 1: nobody wants it, and no children
return fork.is_released and not fork.children
# END
