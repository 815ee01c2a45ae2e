"""Grids: what each rank holds of each chunk, step by step.

contributions  a grid is filled while somebody's own code runs, or from a schedule's replay
fill_history   the changes of the cells, and the first wrong one
labels         numbers of which each sum tells what is in it
grid           the picture, and its fault in words; its contents stand in `grid_cells`
grid_letters   drawn in a terminal
grid_svg       as SVG, also one that moves
grid_page      a page, or a notebook's output, that can be stepped
"""
