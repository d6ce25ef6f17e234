# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA C++ to PTX by the pinned NVRTC, with results kept in the build folder.

As a program: `cuda_compiler.py OPTION… < kernel.cu > kernel.ptx`. Compiling in a process of its own keeps
NVRTC out of the process that runs the emulated device, which a sanitizer may watch.
"""

import ctypes as c
import hashlib
import os
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def toolkit() -> Path:
    """The folder of the pinned CUDA packages."""
    return Path(util.find_spec("nvidia").submodule_search_locations[0]) / "cu13"


def kept(build: Path, key: str, suffix: str, make) -> str:
    """The text that ``make()`` returns, from the build folder when it is there."""
    path = build / "test-ptx" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}{suffix}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = make()
        # Another process may do the same: whoever is last replaces an equal file.
        own = path.with_suffix(f".{os.getpid()}")
        own.write_text(text)
        own.replace(path)
    return path.read_text()


def in_child(script: str, arguments: list[str], text: str) -> str:
    """Runs a script of this folder with a text as input, without a preloaded sanitizer."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *arguments],
        input=text,
        capture_output=True,
        text=True,
        env=environment,
        cwd=FOLDER / "cuda",  # NVRTC puts it before the names of files
    )
    if done.returncode != 0:
        raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def compile_cuda(build: Path, source: str, options: tuple[str, ...] = ()) -> str:
    """PTX of a file of cuda/ for sm_90a."""
    path = FOLDER / "cuda" / source
    common = "".join(p.read_text() for p in sorted(path.parent.glob("*.h")))
    versions = [metadata.version(f"nvidia-cuda-{p}") for p in ("nvrtc", "runtime", "cccl")]
    key = repr((path.read_text(), common, options, versions, Path(__file__).read_text()))
    return kept(
        build,
        key,
        ".ptx",
        lambda: in_child("cuda_compiler.py", [source, *options], path.read_text()),
    )


def main() -> int:
    """NVRTC on the text of standard input, named by the first argument."""
    include = toolkit() / "include"
    options = [
        "--gpu-architecture=compute_90a",
        "--std=c++20",
        "--device-as-default-execution-space",
    ]
    options += [f"-I{include}", f"-I{include}/cccl", f"-I{FOLDER}/cuda", *sys.argv[2:]]
    nvrtc = c.CDLL(str(toolkit() / "lib/libnvrtc.so.13"))
    program = c.c_void_p()
    nvrtc.nvrtcCreateProgram(
        c.byref(program), sys.stdin.read().encode(), sys.argv[1].encode(), 0, None, None
    )
    result = nvrtc.nvrtcCompileProgram(
        program, len(options), (c.c_char_p * len(options))(*[o.encode() for o in options])
    )
    what = "ProgramLog" if result else "PTX"
    size = c.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, c.byref(size))
    text = c.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    print(text.value.decode(), file=sys.stderr if result else sys.stdout)
    return 1 if result else 0


if __name__ == "__main__":
    sys.exit(main())
