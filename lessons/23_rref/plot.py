# %% How long the owner keeps an object that is passed on along a chain, and dropped at once by everybody
import matplotlib.pyplot as plt

from minitorch_dist import sim

LATENCY = 1.0  # seconds


def chain():
    book = Book()

    def welcome(reference):
        if book.rank + 1 < book.post.size:
            book.pass_on(reference, book.rank + 1)
        book.drop(reference)

    book.welcome = welcome
    freed = []
    book.free = lambda id: freed.append(sim.now())
    if book.rank == 0:
        welcome(book.own("a tensor"))
    book.serve()
    return freed


lengths = range(2, 9)
runs = [sim.run(chain, ranks, net=f"sim://?latency={LATENCY}s") for ranks in lengths]
plt.plot(lengths, [run.results[0][-1] for run in runs], "o-", label="the owner frees it")
plt.plot(
    lengths, [(ranks - 1) * LATENCY for ranks in lengths], ":", label="the last reference arrives"
)
plt.xlabel("ranks in the chain")
plt.ylabel("seconds")
plt.legend()
plt.show()
