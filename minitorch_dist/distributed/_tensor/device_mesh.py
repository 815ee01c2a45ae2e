"""The former address of the meshes."""

from minitorch_dist.distributed.device_mesh import DeviceMesh as DeviceMesh, init_device_mesh as init_device_mesh
