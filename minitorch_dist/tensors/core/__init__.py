"""The core: a tensor, the graph of what was computed, and the gradients that travel back.

The ordinary call path, in the order in which `(a * b).sum().backward()` takes it:

    operations        products, sums and Python's operators: how an operation is written
    base              a tensor: an array, the bytes under it, a place in the graph
    graph             a node, and how an operation is recorded as one
    engine            gradients travel back, the newest node first

Beside it:

    views             sharing bytes, and writing in place
    view_geometry     where a view lies in its base
    without_warnings  numpy without its floating-point warnings
    grad_mode         whether operations are recorded
    device_labels     the label that says where a tensor lives
    observers         the events that the core tells to its observers
    rare_cases        the cases that it leaves to others

Nothing else of ours is imported here; `setup.cfg` holds that, and a test runs the core alone. Types of elements,
promotion, hooks, checkpoints, simulated devices and torch's errors attach from outside.
"""
