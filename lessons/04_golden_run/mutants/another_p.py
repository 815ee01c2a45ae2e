"""The step makes a new tensor and calls it p; the model keeps its old one and learns nothing.

Caught by: correct, golden
Seen: https://github.com/NVIDIA-NeMo/Emerging-Optimizers/pull/261
"""

# BLANK 2: an assignment to a local name
p = p - lr * push
# END
