# %% A ball in a long valley, with momentum and without
import matplotlib.pyplot as plt

steep = torch.tensor([1.0, 20.0])
for momentum in (0, 0.8):
    p = torch.tensor([-10.0, 1.0], requires_grad=True)
    optimizer, way = SGD([p], lr=0.04, momentum=momentum), []
    for _ in range(40):
        way.append(p.tolist())
        optimizer.zero_grad()
        (p * p * steep / 2).sum().backward()
        optimizer.step()
    plt.plot(*zip(*way), "o-", label=f"momentum {momentum}")
plt.xlabel("first parameter (flat)")
plt.ylabel("second parameter (steep)")
plt.legend()
plt.show()
