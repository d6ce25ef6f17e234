# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA C++ programs of cuda/, compiled by NVRTC: those of all files, and some of them once more with other options."""

import cuda_copies  # noqa: F401
import cuda_numbers  # noqa: F401
import cuda_ordinary  # noqa: F401
import cuda_reductions  # noqa: F401
import cuda_waiting  # noqa: F401
from cuda_registry import recompiled

# With debug sections, every variable in local memory and nothing optimised away.
recompiled(
    "--device-debug",
    "reduce_shuffle",
    "reduce_last_block",
    "scan_look_back",
    "matmul_tiled",
    "structs",
    "recursion",
    "virtual_calls",
    "local_arrays",
    "divergence",
    "wmma_f16",
    "pipeline_block",
    "cluster_ring",
    "tensor_ring",
)
recompiled("--generate-line-info", "reduce_tree", "recursion", "half_arithmetic", "pipeline_roles")
recompiled("--use_fast_math", "fast_math", "matmul_tiled")
