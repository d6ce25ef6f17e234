"""An installed girih: examples/cpp builds against it with find_package and computes what its loops do."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import girih as gr
from girih.packages.tool import main as export_tool

BUILD = Path(gr.__file__).absolute().parents[2]
EXAMPLE = Path(__file__).absolute().parents[2] / "examples" / "cpp"
LLVM = Path("/usr/lib/llvm-22/bin")

pytestmark = pytest.mark.skipif(
    "GIRIH_SANITIZED" in os.environ, reason="programs of other builds do not link with a sanitizer"
)


def run(*command, status=0, **variables):
    """What a command prints; it must end with this status."""
    done = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | variables,
        text=True,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where girih is installed."""
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", prefix)
    return prefix


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package of the examples."""
    package = tmp_path_factory.mktemp("package") / "kernels.girih"
    signatures = ["matmul(bf16, bf16, f32)", "softmax(f32, f32)"]
    arguments = [word for text in signatures for word in ("--signature", text)]
    assert export_tool([str(EXAMPLE / "kernels.py"), *arguments, "-o", str(package)]) == 0
    return package


@pytest.fixture(scope="module")
def programs(prefix, package, tmp_path_factory):
    """The folder with the built examples."""
    folder = tmp_path_factory.mktemp("example")
    cache = (BUILD / "CMakeCache.txt").read_text()
    compilers = dict(re.findall(r"^(CMAKE_(?:C|CXX)_COMPILER):[A-Z]+=(.*)$", cache, re.MULTILINE))
    options = [f"-D{name}={value}" for name, value in compilers.items()]
    options += [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DKERNELS={package}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror"]  # fmt: skip
    run("cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", folder, *options)
    run("cmake", "--build", folder)
    return folder


def check_programs(programs, package, device):
    text = run(programs / "gemm", package, GIRIH_DEVICE=device)
    assert re.search(r"^gemm: 0 of 27200 elements differ, on ", text, re.MULTILINE), text
    text = run(programs / "softmax", package, GIRIH_DEVICE=device)
    error = re.search(r"^softmax: largest relative error (\S+), on ", text, re.MULTILINE)
    assert error, text
    assert 0 < float(error[1]) < 1e-5


def test_the_examples_run_on_the_emulated_device(programs, package):
    check_programs(programs, package, "emulated")


@pytest.mark.cuda
def test_the_examples_run_on_a_gpu(programs, package):
    if gr.device.is_emulated():
        pytest.skip("no Hopper GPU")
    check_programs(programs, package, "cuda")


def test_the_examples_name_what_is_wrong_with_a_package(programs, package, tmp_path):
    damaged = tmp_path / "damaged.girih"
    damaged.write_bytes(package.read_bytes()[:1000])
    for name in ("gemm", "softmax"):
        text = run(programs / name, damaged, status=1, GIRIH_DEVICE="emulated")
        assert f"{name}: {damaged}: the package is damaged: it has 1000 bytes" in text


def test_the_installed_tool_needs_nothing_of_the_build(prefix, package):
    text = run(prefix / "bin/girih-package", "show", package, LD_LIBRARY_PATH="")
    assert "kernel softmax(x: in [M, N], y: out [M, N])" in text


def test_the_installed_runtime_is_small_and_knows_no_llvm(prefix, tmp_path):
    library = prefix / "lib" / "libgirih_runtime.so"
    stripped = tmp_path / "stripped.so"
    run(LLVM / "llvm-strip", library, "-o", stripped)
    assert stripped.stat().st_size < 1 << 20
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", run(LLVM / "llvm-readelf", "-d", library)))
    assert needed <= {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}  # fmt: skip


def test_installed_headers_include_only_each_other(prefix):
    headers = sorted((prefix / "include").rglob("*.h"))
    assert {"girih.h", "Package.h", "Program.h", "CudaDriver.h"} <= {h.name for h in headers}
    for header in headers:
        for included in re.findall(r'#include "(.*)"', header.read_text()):
            assert (prefix / "include" / included).exists(), f"{header} includes {included}"
