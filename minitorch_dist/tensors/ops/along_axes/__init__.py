"""Operations that run along axes.

reductions  norms  variance      many elements to fewer
extrema  ordering                the largest, the sorted
scans                            running totals: as many as before
"""
