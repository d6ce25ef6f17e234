"""Kernels written in the language: products of matrices."""

from girih.kernels.matmul import matmul_cooperative, matmul_pingpong

__all__ = ["matmul_cooperative", "matmul_pingpong"]
