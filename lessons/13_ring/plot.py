# %% What the busiest rank sends, as the world grows: round the ring, and through a centre
import matplotlib.pyplot as plt

from mtd.course import lab


def through_the_centre(tensor):
    """Everybody sends all to rank 0, which adds and sends all back."""
    rank, others = dist.get_rank(), range(1, dist.get_world_size())
    coming = torch.empty_like(tensor)
    if rank:
        dist.send(tensor, 0)
        dist.recv(tensor, 0)
        return
    for other in others:
        dist.recv(coming, other)
        tensor += coming
    for other in others:
        dist.send(tensor, other)


sizes = range(2, 13)
for each, line, name in [(all_reduce, "o-", "ring"), (through_the_centre, "s-", "centre")]:
    sent = [lab.meter(each, size, 240).bytes / (8 * 240) for size in sizes]
    plt.plot(sizes, sent, line, label=name)
plt.axhline(2, linestyle=":", label="what no ring comes to, however long")
plt.xlabel("ranks")
plt.ylabel("sent by the busiest rank, in tensors")
plt.legend()
plt.show()
