"""Sync mode, but each gradient is added as soon as it comes.

The gate lets all workers begin a step at the same time, but not with the same values. A worker that reads late sees the pushes of
the early ones.

Caught by: correct, fresh
Passes: never stuck, prompt
Seen: https://github.com/PaddlePaddle/Paddle/issues/7643
"""

# BLANK 3: it is always time
if self.held:
    self.step(self.values, [self.held[worker] for worker in sorted(self.held)])
    self.held = {}
# END
