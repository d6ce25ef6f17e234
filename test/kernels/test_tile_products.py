"""Products at tile level (girih.kernels.products, grouped) on the emulated device against float64: edge shapes, storage
orders, what TMA cannot load, ten seeds."""

import numpy as np
import pytest

import girih as gr
from gemm_support import assert_within_bound, integers, normal, round_to
from girih import emulator
from girih.kernels.grouped import grouped_matmul
from girih.kernels.products import batched_matmul, linear, matmul, split_k_matmul, sum_parts
from girih.kernels.scaled import scaled_matmul

SEEDS = range(10)
# No row, 1, a tile less 1, a tile, a tile more 1, several tiles; rows of 16 bytes where TMA is to load them.
SHAPES = [(0, 8, 8), (1, 8, 8), (127, 248, 56), (128, 256, 64), (129, 264, 72), (300, 520, 1000)]
# The same for tiles of 64 x 64 x 64, and no row.
SMALL_TILE = {"BM": 64, "BN": 64, "BK": 64}
SMALL = [(0, 8, 8), (1, 8, 8), (63, 56, 56), (64, 64, 64), (65, 72, 72), (130, 136, 200)]


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


@pytest.mark.parametrize("shape", SMALL, ids=shape_id)
@pytest.mark.parametrize("activation", [None, relu], ids=["none", "relu"])
def test_linear(shape, activation):
    m, n, k = shape
    x, w, bias = integers((m, k), 13), integers((k, n), 14), integers((n,), 15)
    expected = product(x, w) + bias
    if activation is not None:
        expected = np.maximum(expected, 0)
    given = [gr.asarray(t, gr.bf16) for t in (x, w, bias)]
    for seed in SEEDS:
        y = full((m, n), gr.bf16)
        with emulator.options(seed=seed):
            linear(*given, y, activation=activation, **SMALL_TILE)
        np.testing.assert_array_equal(y.numpy(), round_to(expected, gr.bf16))


@pytest.mark.parametrize("batch", [0, 3])
@pytest.mark.parametrize("shape", SMALL, ids=shape_id)
def test_batches_are_coordinates_of_the_copies(shape, batch):
    m, n, k = shape
    a, b = integers((batch, m, k), 16), integers((batch, k, n), 17)
    given = [gr.asarray(t, gr.bf16) for t in (a, b)]
    for seed in SEEDS:
        c = full((batch, m, n), gr.f32)
        with emulator.options(seed=seed):
            batched_matmul(*given, c, **SMALL_TILE)
        np.testing.assert_array_equal(c.numpy(), product(a, b))


@pytest.mark.parametrize("parts", [1, 3, 5])
@pytest.mark.parametrize("shape", SMALL, ids=shape_id)
def test_split_k(shape, parts):
    """More parts than k steps, too: a part without any is zero."""
    m, n, k = shape
    a, b = integers((m, k), 18), integers((k, n), 19)
    given = [gr.asarray(t, gr.bf16) for t in (a, b)]
    for seed in SEEDS:
        p, c = full((parts, m, n), gr.f32), full((m, n), gr.bf16)
        with emulator.options(seed=seed):
            split_k_matmul(*given, p, **SMALL_TILE)
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
@pytest.mark.parametrize(
    "shape",
    [(0, 16, 16), (1, 16, 16), (63, 48, 48), (64, 64, 64), (65, 80, 80), (130, 80, 128)],
    ids=shape_id,
)
def test_scales_of_blocks(shape, dtype):
    """Integers times powers of 2: exact. A scale for each row and block of K, and for each block of B."""
    m, n, k = shape
    a, b = integers((m, k), 22), integers((k, n), 23)
    random = np.random.default_rng(24)
    blocks_k, blocks_n = -(-k // 64), -(-n // 64)
    scale_a = 2.0 ** random.integers(-2, 3, (m, blocks_k))
    scale_b = 2.0 ** random.integers(-2, 3, (blocks_k, blocks_n))
    expected = np.zeros((m, n))
    for i in range(blocks_k):
        block = slice(64 * i, 64 * i + 64)
        wide = np.repeat(scale_b[i], 64)[:n]
        expected += product(a[:, block], b[block]) * scale_a[:, i : i + 1] * wide
    given = [gr.asarray(x, dtype) for x in (a, b)]
    given += [gr.asarray(x.astype(np.float32)) for x in (scale_a, scale_b)]
    for seed in SEEDS:
        c = full((m, n), gr.f32)
        with emulator.options(seed=seed):
            scaled_matmul(*given, c, **SMALL_TILE)
        np.testing.assert_array_equal(c.numpy(), expected)


@pytest.mark.parametrize("dtype", [gr.e4m3, gr.e5m2], ids=str)
def test_scaled_products_are_within_the_bound(dtype):
    """(K + 1) 2^-24 |A||B|, and 2^-24 |A||B| for each multiplication by a scale: two of a block's scales with each other
    and with its product."""
    m, n, k = 65, 80, 320
    random = np.random.default_rng(25)
    a, b = (gr.asarray(random.standard_normal(s), dtype) for s in ((m, k), (k, n)))
    scales = [random.uniform(0.5, 2, s).astype(np.float32) for s in ((m, 5), (5, 2))]
    x = a.numpy().astype(np.float64) * np.repeat(scales[0], 64, axis=1)
    y = b.numpy().astype(np.float64)
    y = y * np.repeat(np.repeat(scales[1], 64, axis=0), 64, axis=1)[:, :n]
    c = full((m, n), gr.f32)
    scaled_matmul(a, b, *(gr.asarray(s) for s in scales), c, **SMALL_TILE)
    bound = (k + 1 + 2) * 2.0**-24 * (abs(x) @ abs(y))
    assert (abs(c.numpy() - x @ y) <= bound).all()


def similarity_loss(x, y):
    """1 - 2<x, y> / (|x|^2 + |y|^2)."""
    return 1 - 2 * (x * y).sum() / ((x * x).sum() + (y * y).sum())


@gr.kernel
def unpromoted(a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"]):
    """Sums of 8-bit floats that stay in the tensor cores' accumulators over all of K."""
    A, B, C = a.tiles(64, 128), b.tiles(128, 64), c.tiles(64, 64)
    for m, n in gr.tiles(C):
        acc = gr.zeros((64, 64), gr.f32)
        for k in gr.range(A.count[1]):
            acc = gr.dot(A[m, k], B[k, n], acc)
        C[m, n] = acc


@pytest.mark.parametrize("dtype", [gr.e4m3, gr.e5m2], ids=str)
def test_promotion_keeps_what_tensor_cores_cut_off(dtype):
    """As the chip adds up 8-bit floats: uniform data and K = 4096 lose digits, unless sums are promoted every 128."""
    random = np.random.default_rng(26)
    a, b = (gr.asarray(random.uniform(0, 1, s), dtype) for s in ((64, 4096), (4096, 64)))
    expected = product(a.numpy(), b.numpy())
    ones = [gr.asarray(np.ones(s, np.float32)) for s in ((64, 32), (32, 1))]
    c, lossy = full((64, 64), gr.f32), full((64, 64), gr.f32)
    with emulator.options(numerics="hopper"):
        scaled_matmul(a, b, *ones, c, BM=64, BN=64, BK=128)
        unpromoted(a, b, lossy)
    assert similarity_loss(c.numpy().astype(np.float64), expected) <= 1e-4
    # Otherwise the bound would hold without promotion, and prove nothing.
    assert similarity_loss(lossy.numpy().astype(np.float64), expected) > 1e-4


def test_the_tiles_of_a_group_are_loaded_by_tma():
    zeros = gr.zeros((8, 64), gr.bf16), gr.zeros((1, 64, 64), gr.bf16)
    program = grouped_matmul.compile(*zeros, gr.zeros((2,), gr.i32), gr.zeros((8, 64), gr.f32), 8)
    assert program.kernels[0]["block"] == (384, 1, 1)
