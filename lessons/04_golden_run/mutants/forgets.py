"""The velocity is made anew at each step: `momentum` is an argument without any effect.

Caught by: correct, golden
Seen: https://github.com/kozistr/pytorch_optimizer/pull/516
"""

# BLANK 1: always as the first time
state["momentum_buffer"] = grad.clone()
velocity = state["momentum_buffer"]
# END
