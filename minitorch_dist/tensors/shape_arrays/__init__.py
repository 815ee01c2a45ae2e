"""Arrays without numbers: a shape, an element type and strides, and no bytes.

    array       the type: a numpy array over addresses that are reserved and never written
    layouts     the strides that numpy gives to a result
    selection   the shape that an index gives
    ufuncs      answers of `np.add` and its kin, and of their reductions
    functions   answers of `np.concatenate` and its kin, and the methods of an array
    mode        where new arrays have no numbers: on the device `meta`, and in a block

Nothing in the core knows of them. numpy hands them each call by its own protocols, `__array_ufunc__` and
`__array_function__`. So operations, views, gradients, layers and optimizers run on them as they are.
"""
