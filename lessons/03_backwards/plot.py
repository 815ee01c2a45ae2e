# %% A curve, and its slope by backward()
import matplotlib.pyplot as plt
import numpy as np

x = Tensor(np.linspace(-2, 2, 101), requires_grad=True)
y = x * x * x + x * x
y.sum().backward()
plt.plot(x.array, y.array, label="x³ + x²")
plt.plot(x.array, x.grad.array, label="its slope: 3x² + 2x")
plt.axhline(0, linewidth=0.5)
plt.legend()
plt.show()
