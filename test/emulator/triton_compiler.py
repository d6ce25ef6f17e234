# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of triton_kernels.py to PTX by the pinned Triton, without a GPU, with results kept in the build folder.

As a program: `triton_compiler.py < request.json > result.json`. A process of its own keeps Triton out of the
process that runs the emulated device, and keeps its cache and settings away from the user's.
"""

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from cuda_compiler import FOLDER, in_child, kept


@dataclass(frozen=True)
class Compiled:
    """PTX and what a launch of it must know."""

    ptx: str
    shared: int
    warps: int
    cluster: int
    scratch_bytes: int
    # One entry a descriptor argument: swizzle (0 to 3), block_size, elem_type, as Triton names them.
    descriptors: tuple[dict, ...]


def compile_triton(
    build: Path, kernel: str, signature: dict, constants: dict, **options
) -> Compiled:
    """Compiles a kernel for sm_90a.

    ``signature`` maps arguments to Triton's names of types ("*fp16", "i32", "tensordesc<fp16[64, 64]>");
    a name that ends in "!" is known to be divisible by 16.
    """
    request = {
        "kernel": kernel,
        "signature": signature,
        "constants": constants,
        "options": options,
    }
    key = json.dumps(request) + metadata.version("triton") + Path(__file__).read_text()
    key += (FOLDER / "triton_kernels.py").read_text()
    answer = json.loads(
        kept(build, key, ".json", lambda: in_child("triton_compiler.py", [], json.dumps(request)))
    )
    return Compiled(**{**answer, "descriptors": tuple(answer["descriptors"])})


def main() -> None:
    """Compiles the request of standard input."""
    request = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        import triton_kernels

        kernel = getattr(triton_kernels, request["kernel"])
        types = {name: type_.rstrip("!") for name, type_ in request["signature"].items()}
        divisible = {
            (kernel.arg_names.index(name),): [["tt.divisibility", 16]]
            for name, type_ in request["signature"].items()
            if type_.endswith("!")
        }
        signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
        source = ASTSource(kernel, signature, request["constants"], divisible)
        compiled = triton.compile(source, GPUTarget("cuda", 90, 32), request["options"])
        facts = compiled.metadata
        json.dump(
            {
                "ptx": compiled.asm["ptx"],
                "shared": facts.shared,
                "warps": facts.num_warps,
                "cluster": facts.num_ctas,
                "scratch_bytes": facts.global_scratch_size,
                "descriptors": facts.tensordesc_meta or [],
            },
            sys.stdout,
        )


if __name__ == "__main__":
    main()
