"""One element at a time.

arithmetic  division  powers  updating  mixtures      two tensors or more; in place; fused
smooth  error_function    functions of one number, as a table; one that numpy has not
rounding  extremes  comparison  logic                 signs, bounds, truth
copying  conversion  filling                          the same values again; in another type; one value
"""
