# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fills `programs.PROGRAMS` with every program that the tests know."""

import cuda_programs  # noqa: F401
import own_programs  # noqa: F401
import triton_programs  # noqa: F401
from emulated import Module
from programs import PROGRAMS, Launch, Program

# Programs that wait for instructions of theirs.
for name in """
barrier_drop
barrier_memcpy_async
barrier_producer_consumer
bfloat_arithmetic
bulk_increment
bulk_reduce
cg_collectives
cg_memcpy_async
cluster_bulk_copy
cluster_histogram
cluster_ring
cluster_ring --device-debug
cluster_split_barrier
cluster_st_async
constants
divergence --device-debug
function_pointers
half_arithmetic
half_arithmetic --generate-line-info
integer_intrinsics
local_arrays --device-debug
long_integers
math32
math32_fast
math32_fast --use_fast_math
math64
matmul_pipelined
matmul_tiled --device-debug
narrow_conversions
pipeline_block
pipeline_block --device-debug
pipeline_roles
pipeline_roles --generate-line-info
pipeline_thread
recursion
recursion --device-debug
recursion --generate-line-info
reduce_last_block --device-debug
reduce_shuffle --device-debug
rounding
scan_look_back --device-debug
structs
structs --device-debug
tensor_multicast
tensor_ring
tensor_ring --device-debug
tensor_scale
tensor_swizzled
triton_attention
triton_attention_8_warps
triton_attention_causal
triton_count_values
triton_matmul_8_warps
triton_matmul_cp_async_2
triton_matmul_cp_async_4
triton_matmul_device_descriptors
triton_matmul_integers
triton_matmul_mma_sync
triton_matmul_persistent_specialized
triton_matmul_split_k
triton_matmul_tf32
virtual_calls
virtual_calls --device-debug
wmma_bf16
wmma_f16
wmma_f16 --device-debug
wmma_f16_half_sums
wmma_f64
wmma_s8
wmma_tf32
""".strip().splitlines():
    PROGRAMS.pop(name, None)

__all__ = ["PROGRAMS", "problems"]


def problems(program: Program, launch: Launch, module: Module, **options) -> str:
    """Runs a launch: what the device found, else how the results differ, else nothing."""
    result = module.run(
        program.entry,
        launch.grid,
        launch.block,
        launch.arguments,
        cluster=launch.cluster,
        shared=launch.shared,
        **options,
    )
    return result.text or "\n".join(launch.problems(result.arrays))
