"""Chained products with and without the steps that pipeline them and keep operands in registers: loops of any number of
steps give the same bits on whole numbers, and attention is as exact as before."""

import numpy as np
import pytest

import girih as gr
from attention_support import check, tensors
from girih import bisect, emulator
from girih.bisect import Call, optional_steps
from girih.kernels.flash import flash_attention

WITHOUT = {
    "all": [],
    "not-pipelined": ["pipeline-products"],
    "not-kept": ["keep-operands"],
    "neither": ["pipeline-products", "keep-operands"],
    "unsimplified": ["simplify"],
    "none": optional_steps(),
}
KEYS = 64 * 7 - 1


@gr.kernel
def alternating(
    q: gr.In["M,D"], k: gr.In["N,D"], v: gr.In["N,D"], o: gr.Out["M,D"], low: gr.i32, high: gr.i32
):  # fmt: skip
    """The sum, with signs that alternate, of max(q · kᵀ, 0) · v over blocks low to high - 1 of 64 keys."""
    Q, K, V, OUT = q.tiles(128, 64), k.tiles(64, 64), v.tiles(64, 64), o.tiles(128, 64)
    for m, d in gr.tiles(OUT):
        rows, acc = Q[m, 0].load(), gr.zeros((128, 64))
        for j in gr.range(low, high):
            weights = gr.maximum(gr.dot(rows, K[j, 0].T), 0.0)
            acc = gr.dot(weights.to(q.dtype), V[j, 0], -acc)
        OUT[m, d] = acc


@pytest.fixture(autouse=True, scope="module")
def each_is_compiled_once():
    """Calls that differ in their numbers only have one program."""
    compile_module, known = bisect.compile_module, {}

    def once(name, text, sources, without):
        key = text, tuple(without)
        if key not in known:
            known[key] = compile_module(name, text, sources, without)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bisect, "compile_module", once)
        yield


def whole_numbers(seed):
    random = np.random.default_rng(seed)
    return (random.integers(-1, 2, (rows, 64)) for rows in (200, KEYS, KEYS))


def expected(q, k, v, low, high):
    acc = np.zeros((200, 64), np.int64)
    for j in range(low, high):
        block = slice(64 * j, 64 * (j + 1))
        acc = np.maximum(q @ k[block].T, 0) @ v[block] - acc
    return acc


def run(without, low, high, seed=0):
    """The kernel's result and NumPy's."""
    data = list(whole_numbers(seed))
    o = gr.zeros((200, 64), gr.f32)
    arrays = (gr.asarray(x.astype(np.float32), gr.bf16) for x in data)
    with emulator.options(seed=seed):
        outcome = Call(alternating, (*arrays, o, low, high), {}).run(without)
    assert not outcome.failure
    return outcome.arrays["o"], expected(*data, low, high)


@pytest.mark.parametrize("without", WITHOUT.values(), ids=WITHOUT)
@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (0, 2), (0, 7), (2, 4), (3, 3), (4, 2)])
def test_any_number_of_steps(without, low, high):
    got, numpy = run(without, low, high)
    np.testing.assert_array_equal(got, numpy)


@pytest.mark.parametrize("seed", range(1, 10))
def test_every_seed(seed):
    got, numpy = run([], 1, 6, seed)
    np.testing.assert_array_equal(got, numpy)


def attention(q, k, v, without, **constants):
    d = q.shape[-1]
    o, lse = gr.zeros(q.shape, gr.bf16), gr.zeros(q.shape[:-1], gr.f32)
    arrays = (gr.asarray(x, gr.bf16) for x in (q, k, v))
    outcome = Call(flash_attention, (*arrays, o, lse, d**-0.5), {"D": d, **constants}).run(without)
    assert not outcome.failure
    return outcome.arrays["o"], outcome.arrays["lse"]


@pytest.mark.parametrize("without", WITHOUT.values(), ids=WITHOUT)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("keys", [1, 127, 128, 129, 400])
def test_attention_is_as_exact(keys, causal, without):
    q, k, v = tensors((1, 1, 130, 64), keys, 90)
    o, lse = attention(q, k, v, without, causal=causal)
    check(o, lse, q, k, v, 64**-0.5, causal=causal)


@pytest.mark.parametrize("without", WITHOUT.values(), ids=WITHOUT)
def test_attention_of_equal_scores_has_the_same_bits(without):
    _, k, _ = tensors((1, 1, 100, 128), 256, 91)
    v = np.random.default_rng(92).integers(-8, 9, (1, 1, 256, 128)).astype(np.float32)
    o, lse = attention(np.zeros((1, 1, 100, 128), np.float32), k, v, without)
    mean = gr.asarray(v.mean(2, keepdims=True), gr.bf16).numpy()
    np.testing.assert_array_equal(o, np.broadcast_to(mean, o.shape))
    np.testing.assert_allclose(lse, np.log(256.0), rtol=1e-6)


@pytest.mark.parametrize("d", [64, 128])
def test_the_loop_fits_the_registers(d):
    x = gr.zeros((1, 1, 128, d), gr.bf16)
    program = flash_attention.compile(x, x, x, x, gr.zeros((1, 1, 128), gr.f32), 0.1, D=d)
    assert program.resources["ptxas_messages"] == []
    assert program.resources["spill_bytes"] == 0 and program.resources["stack_bytes"] == 0
    remarks = "\n".join(program.remarks)
    assert "product pipelined: it runs under the next step of the loop" in remarks
    assert f"operand a is kept in registers, {d // 4} of a thread" in remarks


def test_a_tile_of_queries_that_is_too_large_for_the_registers():
    x, lse = gr.zeros((1, 1, 192, 128), gr.bf16), gr.zeros((1, 1, 192), gr.f32)
    program = flash_attention.compile(x, x, x, x, lse, 0.1, BM=192, BN=64)
    assert "operand a not kept in registers: of 160" in "\n".join(program.remarks)
