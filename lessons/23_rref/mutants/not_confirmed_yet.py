"""Give back what nobody wants, entered or not.

DELETE overtakes FORK, or comes for a fork that the owner has never heard of.

Caught by: right
"""

# BLANK 1: nobody wants it, and no children
return fork.is_released and not fork.children
# END
