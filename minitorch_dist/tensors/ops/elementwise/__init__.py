"""One element at a time.

arithmetic  division  powers  updating  mixtures      two tensors or more; in place; fused
smooth  exponentials  trigonometry  error_function    functions from the table, and their one mechanism
rounding  extremes  comparison  logic                 signs, bounds, truth
copying  conversion  filling                          the same values again; in another type; one value
"""
