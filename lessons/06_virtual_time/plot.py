# %% The same sum of bytes to one rank, in more and more messages: α is what it costs
import matplotlib.pyplot as plt

ALPHA, BETA = 5_000_000, 80  # 5 µs, 100 Gb/s
senders = range(1, 17)
for total in (10_000, 100_000, 1_000_000):
    times = []
    for size in senders:
        programs = [[Receive(src) for src in range(1, size + 1)]] + [
            [Send(0, total // size)]
        ] * size
        times.append(Run(programs, Ports(ALPHA, BETA)).times[0] / 10**6)
    plt.plot(senders, times, "o-", label=f"{total} bytes")
plt.yscale("log")
plt.xlabel("ranks that send to rank 0 at once")
plt.ylabel("µs until it has all")
plt.legend()
plt.show()
