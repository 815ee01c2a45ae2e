# %% k diamonds in a row, each between two ranks: messages with counting, and if each gradient goes on at once
import matplotlib.pyplot as plt

from minitorch_dist import sim


def diamonds(k, waits):
    def program():
        worker = Worker()
        if not waits:
            worker.context(0).arrive = lambda node, grad: worker.context(0).run(node, grad)
        node = Node(1) if worker.post.rank == 0 else None
        for n in range(k):
            here, there = n % 2, 1 - n % 2
            if worker.post.rank == here:
                worker.send(0, node, there)
                worker.send(0, node, there)
            else:
                node = worker.receive(0, here) + worker.receive(0, here)
        if worker.post.rank == k % 2:
            worker.backward(0, node)
        worker.serve()

    return sim.run(program, 2).messages


ks = range(1, 8)
plt.semilogy(ks, [diamonds(k, True) for k in ks], "o-", label="who counts")
plt.semilogy(ks, [diamonds(k, False) for k in ks], "o-", label="who does not")
plt.xlabel("diamonds in a row")
plt.ylabel("messages")
plt.legend()
plt.show()
