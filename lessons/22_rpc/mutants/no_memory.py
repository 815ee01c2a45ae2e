"""The caller asks again after a while, and the callee carries out every request that comes.

A timeout says that no answer came. It does not say that nothing was done.

Caught by: at most once
Passes: correct
Seen: https://github.com/jaseci-labs/jac/issues/7902
"""

# BLANK 1: carry it out
self.post.send(src, (ANSWER, number, carry_out(func, args, kwargs)))
# END
