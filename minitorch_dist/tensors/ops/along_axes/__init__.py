"""Operations that run along axes.

reductions  norms  variance      many elements to fewer
extrema  ordering  quantiles     the largest, the sorted, those in the middle
scans                            running totals: as many as before
"""
