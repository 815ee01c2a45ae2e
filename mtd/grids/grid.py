"""The contents of each rank, chunk by chunk and step by step: a grid that fills with contributions.

             at first       1              2
    chunk    0  1  2        0  1  2        0   1   2        a letter is a rank: `ac` is the sum of what
    rank 0   a  a  a        a  a  ac       abc a   ac       ranks 0 and 2 gave
    rank 1   b  b  b        ab b  b        ab  abc b        · nothing yet
    rank 2   c  c  c        c  bc c        c   bc  abc      ✘ the first wrong cell

One object for all pictures of contents: letters (`grid_letters`), SVG, also one that moves (`grid_svg`), and a page
that can be stepped (`grid_page`), which a notebook shows.
"""

from __future__ import annotations

from textwrap import wrap

from minitorch_dist.pictures.spacetime import Picture
from mtd.grids import grid_letters, grid_page
from mtd.grids.grid_cells import GridCells


class Grid(GridCells):
    """A grid that shows itself."""

    def draw(self, width: int = 80, most: int = grid_letters.MOST_LINES) -> Picture:
        """In letters."""
        return grid_letters.draw(self, width, most)

    def __str__(self) -> str:
        words = [line for text in self.words() for line in wrap(text, 80, subsequent_indent="  ")]
        return "\n".join([*self.draw().lines, *words])

    def _repr_html_(self) -> str:
        return grid_page.part(self)
