"""Sync, but each gradient is added when it comes.

The gate lets all begin a step at the same time, not at the same values: who reads late reads what the early ones have pushed already.

Caught by: right, fresh
Passes: never stuck, prompt
Seen: https://github.com/PaddlePaddle/Paddle/issues/7643
"""

# BLANK 3: it is always time
if self.held:
    self.step(self.values, [self.held[worker] for worker in sorted(self.held)])
    self.held = {}
# END
