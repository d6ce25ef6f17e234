"""Products at tile level (girih.kernels.products, grouped) on the emulated device against float64: edge shapes, storage
orders, what TMA cannot load, ten seeds, and what ptxas says."""

import numpy as np
import pytest

import girih as gr
from gemm_support import assert_within_bound, integers, normal, round_to
from girih import emulator
from girih.kernels.grouped import grouped_matmul
from girih.kernels.products import batched_matmul, linear, matmul, split_k_matmul, sum_parts
from girih.kernels.scaled import scaled_matmul

SEEDS = range(10)
# 1, a tile less 1, a tile, a tile more 1, several tiles; rows of 16 bytes where TMA is to load them.
SHAPES = [(1, 8, 8), (127, 248, 56), (128, 256, 64), (129, 264, 72), (300, 520, 1000)]


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def full(shape, dtype):
    """An output that holds NaN."""
    return gr.asarray(np.full(shape, np.nan, np.float32), dtype)


def stored(x, order, dtype=gr.bf16):
    """``x`` on the device, by rows or by columns."""
    return (
        gr.asarray(x, dtype) if order == "rows" else gr.asarray(np.ascontiguousarray(x.T), dtype).T
    )


def shape_id(shape):
    return "x".join(map(str, shape))


@pytest.mark.parametrize("shape", SHAPES, ids=shape_id)
@pytest.mark.parametrize("out", [gr.bf16, gr.f32], ids=["bf16", "f32"])
def test_matmul_is_exact_on_integers(shape, out):
    m, n, k = shape
    a, b = integers((m, k), 1), integers((k, n), 2)
    expected = round_to(product(a, b), out)
    for seed in SEEDS:
        c = full((m, n), out)
        with emulator.options(seed=seed):
            matmul(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), c)
        np.testing.assert_array_equal(c.numpy(), expected)


def test_matmul_of_normal_data_is_within_the_bound():
    m, n, k = 129, 264, 1000
    a, b = normal((m, k), 3), normal((k, n), 4)
    for seed in SEEDS:
        c = full((m, n), gr.bf16)
        with emulator.options(seed=seed):
            matmul(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), c)
        assert_within_bound(c.numpy(), a, b, gr.bf16)


@pytest.mark.parametrize("dtype", [gr.bf16, gr.f16], ids=str)
@pytest.mark.parametrize("order_a", ["rows", "columns"])
@pytest.mark.parametrize("order_b", ["rows", "columns"])
@pytest.mark.parametrize("tiles", [(64, 64), (128, 128), (192, 176), (256, 128)], ids=shape_id)
def test_every_order_of_storage(order_a, order_b, dtype, tiles):
    """Tiles of one, two and three warpgroups. TMA copies boxes of 64 along a dimension, so B by rows is 64 wide."""
    if tiles[1] % 64 and order_b == "rows":
        tiles = (tiles[0], 192)
    a, b = integers((200, 136), 5), integers((136, 264), 6)
    c = full((200, 264), gr.f32)
    matmul(stored(a, order_a, dtype), stored(b, order_b, dtype), c, BM=tiles[0], BN=tiles[1])
    np.testing.assert_array_equal(c.numpy(), product(a, b))


def test_no_k_gives_zeros():
    c = full((130, 264), gr.f32)
    matmul(gr.zeros((130, 0), gr.bf16), gr.zeros((0, 264), gr.bf16), c)
    np.testing.assert_array_equal(c.numpy(), np.zeros((130, 264)))


def test_pitches_that_tma_cannot_take():
    """An odd number of columns: loads and stores go through registers."""
    a, b = integers((67, 131), 7), integers((131, 73), 8)
    c = full((67, 73), gr.f32)
    matmul(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), c, BM=64, BN=64)
    np.testing.assert_array_equal(c.numpy(), product(a, b))


@pytest.mark.parametrize("rows", [1, 16, 32])
def test_tiles_of_few_rows(rows):
    a, b = integers((35, 136), 9), integers((136, 72), 10)
    c = full((35, 72), gr.f32)
    matmul(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), c, BM=rows, BN=64)
    np.testing.assert_array_equal(c.numpy(), product(a, b))


def test_f32_without_tensor_cores():
    a, b = integers((37, 24), 11), integers((24, 41), 12)
    c = full((37, 41), gr.f32)
    matmul(gr.asarray(a, gr.f32), gr.asarray(b, gr.f32), c, BM=32, BN=32, BK=16)
    np.testing.assert_array_equal(c.numpy(), product(a, b))


def relu(x):
    return gr.maximum(x, 0.0)


@pytest.mark.parametrize("shape", [(129, 136, 72), (1, 8, 8)], ids=shape_id)
@pytest.mark.parametrize("activation", [None, relu], ids=["none", "relu"])
def test_linear(shape, activation):
    m, n, k = shape
    x, w, bias = integers((m, k), 13), integers((k, n), 14), integers((n,), 15)
    expected = product(x, w) + bias
    if activation is not None:
        expected = np.maximum(expected, 0)
    for seed in SEEDS:
        y = full((m, n), gr.bf16)
        with emulator.options(seed=seed):
            linear(*(gr.asarray(t, gr.bf16) for t in (x, w, bias)), y, activation=activation)
        np.testing.assert_array_equal(y.numpy(), round_to(expected, gr.bf16))


def test_batches_are_coordinates_of_the_copies():
    a, b = integers((3, 129, 72), 16), integers((3, 72, 136), 17)
    for seed in SEEDS:
        c = full((3, 129, 136), gr.f32)
        with emulator.options(seed=seed):
            batched_matmul(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), c)
        np.testing.assert_array_equal(c.numpy(), product(a, b))


@pytest.mark.parametrize("parts", [1, 3, 5])
def test_split_k(parts):
    """More parts than k steps, too: a part without any is zero."""
    a, b = integers((129, 200), 18), integers((200, 136), 19)
    p, c = full((parts, 129, 136), gr.f32), full((129, 136), gr.bf16)
    split_k_matmul(gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), p)
    sum_parts(p, c)
    np.testing.assert_array_equal(c.numpy(), round_to(product(a, b), gr.bf16))


def test_groups_do_not_touch_their_neighbours():
    """Groups of 0, 1, 127, 128 and 129 rows among others, which are poisoned: NaN in A, a pattern in C."""
    sizes = np.array([0, 1, 127, 128, 129])
    offsets = (3 + np.concatenate([[0], np.cumsum(sizes)])).astype(np.int32)
    rows = int(offsets[-1]) + 5
    a, b = integers((rows, 72), 20), integers((5, 72, 136), 21)
    a[:3] = a[-5:] = np.nan
    expected = np.full((rows, 136), 77.0)
    for group in range(5):
        mine = slice(offsets[group], offsets[group + 1])
        expected[mine] = product(a[mine], b[group])
    for seed in SEEDS:
        c = gr.asarray(np.full((rows, 136), 77.0, np.float32))
        with emulator.options(seed=seed):
            grouped_matmul(
                gr.asarray(a, gr.bf16), gr.asarray(b, gr.bf16), gr.asarray(offsets), c, 129
            )
        np.testing.assert_array_equal(c.numpy(), expected)


@pytest.mark.parametrize("dtype", [gr.e4m3, gr.e5m2], ids=str)
def test_scales_of_blocks(dtype):
    """Integers times powers of 2: exact. A scale for each row and block of K, and for each block of B."""
    a, b = integers((130, 128), 22), integers((128, 80), 23)
    random = np.random.default_rng(24)
    scale_a = 2.0 ** random.integers(-2, 3, (130, 2))
    scale_b = 2.0 ** random.integers(-2, 3, (2, 2))
    expected = np.zeros((130, 80))
    for k in range(2):
        block = slice(64 * k, 64 * k + 64)
        wide = np.repeat(scale_b[k], 64)[:80]
        expected += product(a[:, block], b[block]) * scale_a[:, k : k + 1] * wide
    c = full((130, 80), gr.f32)
    scaled_matmul(
        *(gr.asarray(x, dtype) for x in (a, b)),
        *(gr.asarray(x.astype(np.float32)) for x in (scale_a, scale_b)),
        c, BM=64, BN=64, BK=64,
    )  # fmt: skip
    np.testing.assert_array_equal(c.numpy(), expected)


def test_the_tiles_of_a_group_are_loaded_by_tma():
    zeros = gr.zeros((8, 64), gr.bf16), gr.zeros((1, 64, 64), gr.bf16)
    program = grouped_matmul.compile(*zeros, gr.zeros((2,), gr.i32), gr.zeros((8, 64), gr.f32), 8)
    assert program.kernels[0]["block"] == (384, 1, 1)


@pytest.mark.parametrize("out", [gr.bf16, gr.f32], ids=["bf16", "f32"])
@pytest.mark.parametrize("tiles", [(128, 256), (128, 128), (64, 128), (192, 128)], ids=shape_id)
def test_ptxas_has_nothing_to_say(tiles, out):
    a, b = gr.zeros((128, 64), gr.bf16), gr.zeros((64, 128), gr.bf16)
    resources = matmul.compile(a, b, gr.zeros((128, 128), out), BM=tiles[0], BN=tiles[1]).resources
    assert resources["ptxas_messages"] == []
    assert resources["spill_bytes"] == 0
    assert resources["stack_bytes"] == 0
