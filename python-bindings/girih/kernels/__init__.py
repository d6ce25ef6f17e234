"""Kernels written in the language, each tested at the edges of its tiles: read them, copy them, call them."""

from girih.kernels.attention import attention_ws
from girih.kernels.decode import decode_parts, merge_parts
from girih.kernels.dropout import dropout
from girih.kernels.elementwise import saxpy, vector_add
from girih.kernels.embedding import embedding
from girih.kernels.flash import flash_attention
from girih.kernels.grouped import grouped_matmul
from girih.kernels.histogram import histogram
from girih.kernels.matmul import matmul_cooperative, matmul_pingpong
from girih.kernels.norms import layer_norm, rms_norm
from girih.kernels.products import batched_matmul, linear, matmul, split_k_matmul, sum_parts
from girih.kernels.rows import row_argmax, row_cumsum, row_sum
from girih.kernels.scaled import scaled_matmul
from girih.kernels.softmax import softmax
from girih.kernels.stream_k import stream_k_matmul
from girih.kernels.transpose import transpose

__all__ = [
    "attention_ws",
    "batched_matmul",
    "decode_parts",
    "dropout",
    "embedding",
    "flash_attention",
    "grouped_matmul",
    "histogram",
    "layer_norm",
    "linear",
    "matmul",
    "matmul_cooperative",
    "matmul_pingpong",
    "merge_parts",
    "rms_norm",
    "row_argmax",
    "row_cumsum",
    "row_sum",
    "saxpy",
    "scaled_matmul",
    "softmax",
    "split_k_matmul",
    "stream_k_matmul",
    "sum_parts",
    "transpose",
    "vector_add",
]
