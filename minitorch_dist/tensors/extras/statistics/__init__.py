"""Rarely used operations of the room `ops.statistics`.

counting      distinct values, how often they occur, into which bin a value falls, and what is not zero
covariance    how variables (the rows) vary together over observations (the columns)
distances     how far apart points are: all pairs of two sets, the pairs within one, or row by row
"""
