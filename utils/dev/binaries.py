# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of what we built: assertions are on; LLVM and MLIR are shared libraries, and only where the compiler is.

Two copies of LLVM in a process register the same options and type ids twice and fail in ways that are hard to read, so
no program or library of ours may carry one. The runtime, the driver library and the Python extension live in users'
processes beside other compilers and must not bring LLVM at all.
"""

import json
import re
import subprocess
from pathlib import Path

from checks import ROOT, Check

LLVM_BIN = Path("/usr/lib/llvm-22/bin")
# Functions that are defined once in LLVM's or MLIR's own libraries, never inline in a header: whoever defines one
# carries a copy of the library.
LLVM_DEFINITIONS = (
    "_ZN4llvm2cl23ParseCommandLineOptions",  # llvm::cl::ParseCommandLineOptions
    "_ZN4llvm12PassRegistry15getPassRegistry",  # llvm::PassRegistry::getPassRegistry
    "_ZN4llvm11LLVMContextC",  # llvm::LLVMContext's constructors
    "_ZN4llvm11raw_ostream5write",  # llvm::raw_ostream::write
    "_ZN4mlir11MLIRContextC",  # mlir::MLIRContext's constructors
    "_ZN4mlir9Operation6create",  # mlir::Operation::create
)
LLVM_SYMBOL = re.compile(r"_ZNK?S?t?(4llvm|4mlir)")


def is_elf(file: Path) -> bool:
    with open(file, "rb") as stream:
        return stream.read(4) == b"\x7fELF"


def needed_libraries(file: Path) -> list[str]:
    """The DT_NEEDED entries of a program or shared library."""
    text = subprocess.run(
        [LLVM_BIN / "llvm-readelf", "-d", file], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    return re.findall(r"\(NEEDED\).*\[(.+?)\]", text)


def symbols(file: Path, *options: str) -> list[str]:
    text = subprocess.run(
        [LLVM_BIN / "llvm-nm", "--format=just-symbols", *options, file],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # "no symbols" of a stripped file
        text=True,
        check=True,
    ).stdout
    return text.splitlines()


def uses_llvm(needed: list[str]) -> bool:
    return any(re.match(r"lib(LLVM|MLIR)", name) for name in needed)


def static_copy_problems(file: Path) -> list[str]:
    """Whether a program or shared library carries LLVM inside, or calls it without naming it as needed."""
    defined = [*symbols(file, "--defined-only"), *symbols(file, "--defined-only", "--dynamic")]
    copies = sorted({s for s in defined if s.startswith(LLVM_DEFINITIONS)})
    if copies:
        return [f"{file}: carries a static copy of LLVM or MLIR: it defines {copies[0]}"]
    undefined = symbols(file, "--undefined-only", "--dynamic")
    calls = [symbol for symbol in undefined if LLVM_SYMBOL.match(symbol)]
    if calls and not uses_llvm(needed_libraries(file)):
        return [
            f"{file}: calls {calls[0]}, but has neither libLLVM nor libMLIR in its dynamic section"
        ]
    return []


def stands_alone_problems(file: Path) -> list[str]:
    """Whether a file that must live without LLVM needs, calls or contains any of it."""
    needed = [name for name in needed_libraries(file) if re.match(r"lib(LLVM|MLIR)", name)]
    if needed:
        return [f"{file}: needs {needed[0]}, but must load on a machine without LLVM"]
    found = [s for s in symbols(file) if LLVM_SYMBOL.match(s)]
    return [f"{file}: contains or calls {found[0]}, but must not know LLVM"] if found else []


def built_files(build: Path) -> list[Path]:
    """Our programs and shared libraries in a build directory."""
    files = [*build.glob("bin/**/*"), *build.glob("lib/**/*.so*"), *build.glob("python/**/*.so*")]
    unique = {f.resolve() for f in files if f.is_file() and f.suffix != ".a"}
    return sorted(f for f in unique if is_elf(f))


def disabled_assertions(build: Path) -> list[str]:
    """Files of ours that are compiled without assertions, which the tests count on."""
    commands = json.loads((build / "compile_commands.json").read_text())
    return [
        f"{entry['file']}: compiled with -DNDEBUG, but tests need assertions"
        for entry in commands
        if Path(entry["file"]).is_relative_to(ROOT)
        and not Path(entry["file"]).is_relative_to(build)
        and not Path(entry["file"]).is_relative_to(ROOT / ".venv")
        and re.search(r"\s-DNDEBUG\b", entry["command"])
    ]


def binary_checks(build: Path) -> list[Check]:
    files = built_files(build)
    assertions = Check("assertions are on", lambda: disabled_assertions(build))
    alone = [f for f in files if ".so" in f.name or f.name in ("girih-emu", "girih-package")]
    return [
        assertions,
        Check(
            "no static copy of LLVM",
            lambda: [problem for file in files for problem in static_copy_problems(file)],
        ),
        Check(
            "runtime, driver and extension without LLVM",
            lambda: [problem for file in alone for problem in stands_alone_problems(file)],
        ),
    ]
