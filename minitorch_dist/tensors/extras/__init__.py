"""Operations under torch's names that neither the course, the programs, the models nor the floors above use.

elementwise   more exponentials and logarithms, truth tables, questions about infinity, in-place forms
rearranging   triangles, diagonals, repetition, grids, one-hot rows
counting      distinct values, how often they occur, and into which bucket a value falls
products      beta · input + alpha · a product
outputs       `out=`, for some functions that have it in torch
methods       all of them as methods of a tensor

They are written as those of `ops`. The package's face offers them as functions. Nothing else imports them; `setup.cfg` and a test
hold that. An operation that the house begins to use moves to `ops`.
"""
