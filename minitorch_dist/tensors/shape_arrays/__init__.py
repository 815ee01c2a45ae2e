"""Arrays without numbers: a shape, an element type and strides, and no bytes.

    array       the type: a numpy array over addresses that are reserved and never written
    answers     shape, type and strides of a result: numpy is asked with small arrays
    selection   the shape that an index gives
    functions   answers of `np.concatenate` and its kin, and the methods of an array
    mode        where new arrays have no numbers: on the device `meta`, and in a block

Nothing in the core knows of them. numpy hands them each call by its own protocols, `__array_ufunc__` and
`__array_function__`. So operations, views, gradients, layers and optimizers run on them as they are.
"""
