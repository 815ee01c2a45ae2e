# %% Which model fits into 80 GB? 4 bytes a number, activations not counted
import matplotlib.pyplot as plt

ranks = [1, 2, 4, 8, 16, 32, 64]
for name, numbers in {
    "lesson 17": lambda p: 4,
    "stage 1": lambda p: 2 + 2 / p,
    "stage 2": lambda p: 1 + 3 / p,
    "lesson 21": lambda p: 4 / p,
}.items():
    plt.loglog(ranks, [80 / 4 / numbers(p) for p in ranks], "o-", base=2, label=name)
plt.xlabel("ranks")
plt.ylabel("billions of parameters")
plt.legend()
plt.show()
