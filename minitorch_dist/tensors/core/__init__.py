"""The core: a tensor, the graph of what was computed, and the gradients that travel back.

The ordinary road, in the order in which `(a * b).sum().backward()` takes it:

    operations        products, sums and Python's operators: how an operation is written
    base              a tensor: an array, the bytes under it, a place in the graph
    graph             a node, and how an operation is recorded as one
    engine            gradients travel back, the newest node first

These modules are used by them:

    without_warnings  numpy without its floating-point warnings
    dtypes            the types of elements, and which type a result has
    grad_mode         whether operations are recorded
    device_labels     the label that says where a tensor lives
    observers         the events that the core tells to its observers

Rarer things, beside the ordinary road:

    promotion         operands of different types or shapes, and numbers
    joint             operations with several results, or with one function for all gradients
    views             sharing bytes, and writing in place
    view_geometry     where a view lies in its base
    view_notes        why some views must not be written to
    hooks             functions that are called when a gradient passes by
    node_api          torch's names for a node, and what a checkpoint does to it
    attended          a pass with hooks, with `inputs`, or with an observer

`setup.cfg` holds that the core imports nothing else of ours; a test runs it alone.
"""
