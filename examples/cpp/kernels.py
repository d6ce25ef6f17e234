"""The kernels of the C and C++ examples; girih-export compiles them (CMakeLists.txt says how)."""

from girih.kernels import matmul, softmax

__all__ = ["matmul", "softmax"]
