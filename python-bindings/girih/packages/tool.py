"""``girih-export``: writes a package of the kernels in a Python file."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from girih.errors import GirihError
from girih.lang.kernel import Kernel
from girih.packages.export import export
from girih.packages.signature import Variant, parse_call

DESCRIPTION = """\
Compiles kernels of a Python file ahead of time: writes OUT.girih, the package, and OUT.h, a C header with a
typed function for each kernel. girih-package show OUT.girih prints what is in it.

A signature is a call with dtypes in the place of arrays:

  matmul(bf16, bf16, f32)                     row-major and aligned to 16 bytes
  matmul(bf16, bf16(contiguous=0), f32)       b column-major
  matmul(bf16, bf16, f32, BM=64) when M <= 64
                                              a variant for small M; the first that fits a call is taken
  scale(f32(rank=3, aligned=False), None)     any rank was declared; no alignment; an absent argument
"""


def load_kernels(file: Path) -> dict[str, Kernel]:
    """The kernels that a file has under a name, its own and imported ones. Raises GirihError, and what the
    file raises."""
    if not file.exists():
        raise GirihError(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise GirihError(f"{file} is no Python file: expected one that ends in .py")
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    sys.path.insert(0, str(file.resolve().parent))
    spec.loader.exec_module(module)
    return {name: value for name, value in vars(module).items() if isinstance(value, Kernel)}


def kernels_for(
    found: dict[str, Kernel], signatures: Sequence[str], file: Path
) -> dict[Kernel, list[Variant]]:
    """The variants of each kernel that signatures ask for. Raises GirihError."""
    kernels: dict[Kernel, list[Variant]] = {}
    for text in signatures:
        name, variant = parse_call(text)
        if name not in found:
            raise GirihError(
                f"signature {text!r}: {file} has no kernel {name}: it has {', '.join(found) or 'none'}"
            )
        kernels.setdefault(found[name], []).append(variant)
    return kernels


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its result is the exit status."""
    parser = argparse.ArgumentParser(
        prog="girih-export",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="KERNELS.py")
    parser.add_argument(
        "--signature",
        action="append",
        required=True,
        metavar="CALL",
        help="compile a kernel for this call; may be repeated",
    )
    parser.add_argument("--arch", metavar="sm_90a", help="the architecture to compile for")
    parser.add_argument(
        "-o",
        dest="output",
        type=Path,
        required=True,
        metavar="OUT",
        help="the package, NAME.girih; or a folder, in which it is called after the file",
    )
    options = parser.parse_args(arguments)
    output: Path = options.output
    try:
        if output.suffix != ".girih":
            output.mkdir(parents=True, exist_ok=True)
            output /= options.file.with_suffix(".girih").name
        found = load_kernels(options.file)
        export(output, kernels_for(found, options.signature, options.file), arch=options.arch)
    except GirihError as error:
        print(f"girih-export: error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"girih-export: error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
