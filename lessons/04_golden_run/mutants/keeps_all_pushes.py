"""The velocity is added up anew from all gradients since the start: right, but it needs more memory at each step.

Caught by: memory
Passes: correct, resumed
"""

# BLANK 1: a list that grows
pushes = state.setdefault("pushes", [])
pushes.append(grad.clone())
velocity = pushes[0].clone()
for later in pushes[1:]:
    velocity = momentum * velocity + (1 - dampening) * later
# END
