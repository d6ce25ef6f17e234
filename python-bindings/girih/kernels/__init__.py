"""Kernels written in the language: products of matrices and attention, at tile level and at wg level."""

from girih.kernels.attention import attention_ws
from girih.kernels.decode import decode_parts, merge_parts
from girih.kernels.flash import flash_attention
from girih.kernels.grouped import grouped_matmul
from girih.kernels.matmul import matmul_cooperative, matmul_pingpong
from girih.kernels.products import batched_matmul, linear, matmul, split_k_matmul, sum_parts
from girih.kernels.scaled import scaled_matmul

__all__ = [
    "attention_ws",
    "batched_matmul",
    "decode_parts",
    "flash_attention",
    "grouped_matmul",
    "linear",
    "matmul",
    "matmul_cooperative",
    "matmul_pingpong",
    "merge_parts",
    "scaled_matmul",
    "split_k_matmul",
    "sum_parts",
]
