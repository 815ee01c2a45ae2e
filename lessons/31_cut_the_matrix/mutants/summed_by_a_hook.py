"""A hook sums up the finished gradient of each shared parameter.

`p.grad` also has what earlier backwards left there, and that was summed up already: with two pieces of a batch it counts P times. A hook is
added in each forward, too.

Caught by: rows
Passes: correct, heads
"""

# BLANK 13: a hook
if self.in_rows and p.requires_grad:
    p.register_post_accumulate_grad_hook(lambda p: dist.all_reduce(p.grad))
return p
# END
