# %% Which check finds which mistake: two ranks, the labels, strict sends, and yours
import matplotlib.pyplot as plt

from mtd.course import all_reduces
from mtd.course.scoring import score


def two_ranks(all_reduce):
    assert play(all_reduce, [[1.0, 2.0], [10.0, 20.0]])[0] == [[11.0, 22.0]] * 2


checks = {
    "two ranks": two_ranks,
    "labels": lambda all_reduce: once(all_reduce, 5, 7),
    "strictly": lambda all_reduce: once(all_reduce, 4, 4, strictly=True),
    "yours": property_of_all_reduce,
}
found = [score(each, (), all_reduces.WRONG) for each in checks.values()]
names = list(found[0].wrong)
plt.imshow(
    [[bool(one.wrong[name]) for one in found] for name in names], cmap="Greens", aspect="auto"
)
plt.xticks(range(len(checks)), list(checks))
plt.yticks(range(len(names)), [name.replace("_", " ") for name in names])
plt.subplots_adjust(left=0.4)
plt.show()
