# %% How many messages lie in mailboxes: they have arrived, and nobody has asked for them yet
import matplotlib.pyplot as plt

import minitorch_dist as torch


def everybody_to_everybody(count=5):
    for number in range(count):
        for dst in range(get_world_size()):
            send(torch.tensor([float(number)]), dst)
    for src in range(get_world_size()):
        for _ in range(count):
            recv(torch.zeros(1), src)


lying, lengths = 0, []
for what, *_ in spawn(everybody_to_everybody, 4, seed=1).journal:
    lying += (what == "arrives") - (what == "receives")
    lengths.append(lying)
plt.plot(lengths)
plt.xlabel("what happens, one thing after the other")
plt.ylabel("messages in all mailboxes")
plt.show()
