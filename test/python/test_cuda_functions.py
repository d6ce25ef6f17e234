"""Device functions in CUDA C++ and inline PTX: values, types, errors at the user's lines, the cache."""

import math

import numpy as np
import pytest

import girih as gr
from girih import wg
from girih.cache.key import Inputs
from girih.kernels.matmul import load_tiles

X = np.linspace(-4, 4, 200, dtype=np.float32)

gelu = gr.cuda_function("""
float half_of(float x) { return 0.5f * x; }
float gelu(float x) { return half_of(x) * (1.0f + erff(x * 0.70710678f)); }
""")
# A helper of the same name that computes something else.
silu = gr.cuda_function("""
float half_of(float x) { return x; }
__device__ float silu(float x) { return half_of(x) / (1.0f + expf(-x)); }
""")


@gr.kernel
def apply(x: gr.In["N"], y: gr.Out["N"], *, f: gr.const):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(Y):
        Y[i] = f(X[i])


@gr.kernel
def both(x: gr.In["N"], y: gr.Out["N"]):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(Y):
        Y[i] = gelu(X[i]) + silu(X[i])


def run(kernel, *arrays, **constants):
    """The kernel's result on the last array's place."""
    kernel(*arrays, **constants)
    return arrays[-1]


def test_a_function_computes_each_element():
    y = run(apply, X, np.zeros_like(X), f=gelu)
    exact = [0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in X.astype(np.float64)]
    np.testing.assert_allclose(y, exact, rtol=2e-6, atol=1e-6)


def test_two_texts_with_helpers_of_one_name():
    y = run(both, X, np.zeros_like(X))
    wide = X.astype(np.float64)
    exact = np.array([0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in wide])
    np.testing.assert_allclose(y, exact + wide / (1 + np.exp(-wide)), rtol=4e-6, atol=2e-6)


CASES = {
    "f64": (gr.f64, "double f(double x) { return x * x; }", lambda x: x * x),
    "f16": (gr.f16, "__half f(__half x) { return __hadd(x, x); }", lambda x: x + x),
    "bf16": (gr.bf16, "__nv_bfloat16 f(__nv_bfloat16 x) { return -x; }", lambda x: -x),
    "i32": (gr.i32, "int f(int x) { return x / 3; }", lambda x: np.trunc(x / 3)),
    "i8": (gr.i8, "signed char f(signed char x) { return x - 1; }", lambda x: x - 1),
    "u8": (
        gr.u8,
        "unsigned char f(unsigned char x) { return x + 250; }",
        lambda x: (x + 250) % 256,
    ),
    "i16": (gr.i16, "short f(short x) { return -x; }", lambda x: -x),
    "i64": (gr.i64, "long long f(long long x) { return x << 33; }", lambda x: x * 2.0**33),
    "u32": (gr.u32, "unsigned f(unsigned x) { return ~x; }", lambda x: 2.0**32 - 1 - x),
}


@pytest.mark.parametrize(("dtype", "text", "exact"), CASES.values(), ids=CASES)
def test_every_type_is_passed_as_it_is(dtype, text, exact):
    numbers = np.arange(100, dtype=np.float64) % 60 - (0 if dtype.kind == "uint" else 30)
    storage = {
        "f64": "f8",
        "i8": "i1",
        "u8": "u1",
        "i16": "i2",
        "i64": "i8",
        "i32": "i4",
        "u32": "u4",
    }
    x = gr.asarray(numbers.astype(storage.get(dtype.name, "f4")), dtype)
    y = gr.zeros((100,), dtype)
    apply(x, y, f=gr.cuda_function(text))
    np.testing.assert_array_equal(y.numpy().astype(np.float64), exact(numbers))


@gr.kernel
def mixed(x: gr.In["N"], y: gr.Out["N"], *, f: gr.const):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(Y):
        Y[i] = f(X[i], i, X[i] > 0, 2)


def test_types_may_differ_and_scalars_and_numbers_spread():
    f = gr.cuda_function(
        "float f(float x, int i, bool up, float k) { return up ? k * x : (float)i; }"
    )
    y = run(mixed, X, np.zeros_like(X), f=f)
    tiles = np.arange(len(X)) // 64
    np.testing.assert_array_equal(y, np.where(X > 0, 2 * X, tiles).astype(np.float32))


def test_a_file_with_a_header(tmp_path, monkeypatch):
    (tmp_path / "scale.h").write_text("#define SCALE 3\n")
    (tmp_path / "f.cu").write_text('#include "scale.h"\nfloat f(float x) { return SCALE * x; }\n')
    f = gr.cuda_function(str(tmp_path / "f.cu"))
    np.testing.assert_array_equal(run(apply, X, np.zeros_like(X), f=f), 3 * X)
    # Its text is part of what the kernel depends on.
    before = f.key()
    (tmp_path / "scale.h").write_text("#define SCALE 4\n")
    assert f.key() != before


def test_the_text_is_part_of_the_key():
    def key(f):
        inputs = Inputs()
        return inputs.describe("f", f, ())

    one, two = (gr.cuda_function(f"float f(float x) {{ return x + {n}; }}") for n in (1, 2))
    assert key(one) != key(two)
    assert key(one) == key(gr.cuda_function("float f(float x) { return x + 1; }"))


def test_a_name_chooses_among_several():
    text = "float up(float x) { return x + 1; }\nfloat down(float x) { return x - 1; }"
    assert gr.cuda_function(text).function == "down"
    y = run(apply, X, np.zeros_like(X), f=gr.cuda_function(text, name="up"))
    np.testing.assert_array_equal(y, X + 1)


def test_nvrtc_s_errors_are_at_the_user_s_line():
    bad = gr.cuda_function("""
    float bad(float x) {
      return x + nothing;
    }
    """)
    with pytest.raises(gr.CompileError) as info:
        apply(X, np.zeros_like(X), f=bad)
    assert info.value.message == 'CUDA C++: identifier "nothing" is undefined'
    assert info.value.place.file == __file__
    assert info.value.place.text.strip() == "return x + nothing;"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "int x = 3;",
            "no function in this CUDA C++\n  expected: a definition such as float f(float x) { … }",
        ),
        (
            "float f(float *x) { return *x; }",
            "parameter 1 of 'f' has a type that elements of tiles do not have",
        ),
        ("void f(float x) { }", "the result of 'f' has a type that elements of tiles do not have"),
    ],
)
def test_a_text_that_is_no_function_of_elements(text, words):
    with pytest.raises(gr.CompileError) as info:
        gr.cuda_function(text)
    assert words in str(info.value)


def test_a_file_that_is_not_there():
    with pytest.raises(
        gr.CompileError, match="nothing.cu cannot be read: No such file or directory"
    ):
        gr.cuda_function("nothing.cu")


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (gr.cuda_function("float f(float x, float y) { return x; }"), "takes 2 arguments, found 1"),
        (
            gr.cuda_function("int f(int x) { return x; }"),
            "argument 1 of f (CUDA C++) has another type",
        ),
    ],
)
def test_wrong_arguments_are_errors(f, words):
    with pytest.raises(gr.CompileError) as info:
        apply(X, np.zeros_like(X), f=f)
    assert words in str(info.value)


def test_no_call_while_a_wgmma_is_in_flight():
    @gr.kernel
    def product(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
        A, B, C = a.tiles(64, 64), b.tiles(64, 64), c.tiles(64, 64)
        work = gr.tiles(C)
        ring = wg.ring(2, a=wg.smem(A), b=wg.smem(B))

        @wg.role(warps=1, registers=40)
        def load():
            load_tiles(work, ring, A, B, 1)

        @wg.role(warpgroups=1, registers=232)
        def multiply():
            for m, n in work:
                acc = wg.acc(C)
                total = gr.zeros((64, 64), gr.f32)
                for _, s in ring.drain(A.count[1]):
                    acc = wg.mma(s.a, s.b, acc)
                    total = gelu(total)
                C[m, n] = (acc + total).to(gr.f32)

    a = gr.zeros((64, 64), gr.bf16)
    with pytest.raises(gr.CompileError) as info:
        product.compile(a, a, gr.zeros((64, 64), gr.f32))
    assert "a CUDA C++ function is called while a wgmma is in flight" in info.value.message
    assert info.value.place.text.strip() == "total = gelu(total)"


def test_a_kernel_with_a_function_has_neither_stack_nor_spills():
    resources = both.compile(X, X).resources
    assert resources["stack_bytes"] == resources["spill_bytes"] == 0
    assert resources["ptxas_messages"] == []


# ---- gr.ptx ---------------------------------------------------------------------------------------


@gr.kernel
def inline(x: gr.In["N"], y: gr.Out["N"]):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(Y):
        t = gr.ptx("copysign.f32 %0, %1, %2;", X[i], 3.0, dtype=gr.f32)
        bits = gr.ptx("{ .reg .b32 %%r; mov.b32 %%r, %1; xor.b32 %0, %%r, 1; }", t, dtype=gr.i32)
        Y[i] = t + gr.ptx("add.s32 %0, %1, %2;", bits, i, dtype=gr.i32).to(gr.f32) * 0


def test_ptx_computes_each_element():
    y = run(inline, X, np.zeros_like(X))
    np.testing.assert_array_equal(y, np.copysign(np.float32(3), X))


@gr.kernel
def doubled(x: gr.In["N"], y: gr.Out["N"]):
    X, Y = x.tiles(64), y.tiles(64)
    for i in gr.tiles(Y):
        Y[i] = gr.ptx("add.f16 %0, %1, %1;", X[i], dtype=gr.f16)


def test_ptx_on_16_bits():
    x = X.astype(np.float16)
    np.testing.assert_array_equal(run(doubled, x, np.zeros_like(x)), x + x)


ERRORS = {
    '"add.f32 %0, %1, %2;", X[i], dtype=gr.f32': "names an operand that is not there",
    '"mov.b32 %0, %1;", X[i].to(gr.i8), dtype=gr.i32': "an operand of gr.ptx has no register in PTX",
    '"mov.b32 %0, %1;", X[i], dtype=gr.e4m3': "the result of gr.ptx has no register in PTX",
    "3, X[i], dtype=gr.f32": "gr.ptx takes a text",
}


@pytest.mark.parametrize(("call", "words"), ERRORS.items())
def test_wrong_ptx_is_an_error(tmp_path, call, words):
    path = tmp_path / "kernel.py"
    path.write_text(
        "import girih as gr\n@gr.kernel\n"
        'def f(x: gr.In["N"], y: gr.Out["N"]):\n'
        "    X, Y = x.tiles(64), y.tiles(64)\n"
        "    for i in gr.tiles(Y):\n"
        f"        Y[i] = gr.ptx({call})\n"
    )
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(gr.CompileError) as info:
        names["f"].compile(X, X)
    assert words in str(info.value)
