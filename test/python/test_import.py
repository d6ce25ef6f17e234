"""What `import girih` brings, and how long the example is."""

import ast
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "gemm.py"


def test_import_loads_neither_numpy_nor_a_compiler_library():
    program = (
        "import sys, girih, girih.wg\n"
        "print('numpy' in sys.modules)\n"
        "maps = open('/proc/self/maps').read()\n"
        "print(any(name in maps for name in ('libLLVM', 'libMLIR', 'libcuda', 'libgirih_cuda')))\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert output.stdout.split() == ["False", "False"]


def test_the_example_is_short():
    """The kernel with its roles fits 40 lines, the whole file 80."""
    text = EXAMPLE.read_text()
    assert len(text.splitlines()) <= 80
    (kernel,) = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert kernel.end_lineno - kernel.decorator_list[0].lineno + 1 <= 40
