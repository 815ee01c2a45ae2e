"""The address that meshes have beside the tensors that lie on them."""

from minitorch_dist.distributed.device_mesh import DeviceMesh as DeviceMesh, init_device_mesh as init_device_mesh
