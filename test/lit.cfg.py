# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit's configuration for the .mlir and .test files below test/; `./dev test` passes the build directory.

By hand: .venv/bin/lit -v test/Dialect/WG (with -Dgirih_build=DIR for another build than build/).
"""

import ctypes
import os
import sysconfig
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parents[1]
build = Path(lit_config.params.get("girih_build", root / "build")).resolve()
cuda_wheels = Path(sysconfig.get_paths()["purelib"]) / "nvidia/cu13"
cuda_home = os.environ.get("GIRIH_CUDA_HOME")
ptxas = Path(cuda_home) / "bin/ptxas" if cuda_home else cuda_wheels / "bin/ptxas"


def has_hopper_gpu() -> bool:
    """Whether the CUDA driver reports a GPU of compute capability 9.x as its first one."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    device, major = ctypes.c_int(), ctypes.c_int()
    return (
        cuda.cuInit(0) == 0
        and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
        and cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device) == 0
        and major.value == 9
    )


config.name = "girih"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "python", "kernels"]
config.test_source_root = str(root / "test")
config.test_exec_root = str(build / "test")

# Our tools by their full path, so that none from elsewhere can stand in; FileCheck, not and count from LLVM 22.
for tool in ("girih-opt", "girih-compile", "girih-emu", "girih-package"):
    config.substitutions.append((rf"(?<![\w/.-]){tool}(?![\w/.-])", str(build / "bin" / tool)))
config.substitutions += [("%ptxas", str(ptxas)), ("%root", str(root))]
config.environment["PATH"] = os.pathsep.join(
    [str(build / "bin"), "/usr/lib/llvm-22/bin", "/usr/bin", "/bin"]
)
# Sanitizer settings and the user's choice of device and toolkit reach the tools under test.
for variable, value in os.environ.items():
    if variable.startswith("GIRIH_") or "SAN_" in variable:
        config.environment[variable] = value

# What a test may ask for with REQUIRES.
if ptxas.exists():
    config.available_features.add("ptxas")
if has_hopper_gpu():
    config.available_features.add("cuda")
