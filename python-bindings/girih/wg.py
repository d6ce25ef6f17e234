"""The wg level: who does it, when, and from which buffer. Functions for use inside kernels.

A kernel at this level allocates rings and outboxes, then defines roles; each role is a function under
``@wg.role``. Nothing is hidden: every wait is a statement, and the compiler refuses what would race.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.dtypes import DType, bf16, e4m3, e5m2, f16, f32, i8, i32, u8
from girih.lang.builtin import builtin, decorator_builtin
from girih.lang.context import RoleSpec
from girih.lang.places import TileRef, Tiles
from girih.lang.rings import Buffer, Outbox, OutSlot, Ring, Smem
from girih.lang.rings import wait as _wait
from girih.lang.team import function as function
from girih.lang.turns import Turns
from girih.lang.values import Scalar, Tile

if TYPE_CHECKING:
    from girih.lang.context import Context


@decorator_builtin("wg.role")
def role(
    cx: Context,
    *,
    warps: int | None = None,
    warpgroups: int | None = None,
    each: bool = False,
    registers: int | None = None,
) -> RoleSpec:
    """Declares the function below as a role: ``warps`` warps (completed to a warpgroup with idle ones) or
    ``warpgroups`` warpgroups execute it, with ``registers`` registers a thread (a multiple of 8, 24 to 240).
    With ``each`` every warpgroup executes it for itself, on tiles of its own."""
    given = [value for value in (warps, warpgroups) if value is not None]
    if len(given) != 1 or type(given[0]) is not int or given[0] < 1:
        cx.fail(
            "wg.role needs warps=… or warpgroups=…", expected="one of them, a positive constant"
        )
    if warpgroups is not None and warpgroups > 8:
        cx.fail(
            "a CTA has at most 1024 threads",
            expected="warpgroups of 1 to 8, idle ones of other roles included",
            found=str(warpgroups),
        )
    if warps is not None and warps > 4:
        cx.fail(
            "a role of warps fits one warpgroup",
            expected="warps of 1 to 4",
            found=str(warps),
            help="use warpgroups=…",
        )
    if registers is not None and (
        type(registers) is not int or registers % 8 or not 24 <= registers <= 240
    ):
        cx.fail(
            "setmaxnreg takes a multiple of 8",
            expected="registers between 24 and 240",
            found=cx.describe(registers),
        )
    if type(each) is not bool or (each and not warpgroups):
        cx.fail(
            "each lets whole warpgroups work for themselves",
            expected="wg.role(warpgroups=…, each=True)",
            found=cx.describe(each) if warpgroups else "a role of warps",
        )
    return RoleSpec(warps or 0, warpgroups or 0, registers, each)


@builtin("wg.smem")
def smem(
    cx: Context,
    tiles: Tiles | tuple[int, int],
    dtype: DType | None = None,
    *,
    transposed: bool = False,
) -> Smem:
    """A buffer in shared memory: room for one of ``tiles``, stored as the array is and swizzled as wide as it
    goes; or for a shape of two constants and a dtype. With ``transposed`` the buffer is the tile's transpose,
    of the same bytes."""
    if type(transposed) is not bool or (transposed and not isinstance(tiles, Tiles)):
        cx.fail(
            "a buffer is the transpose of tiles",
            expected="wg.smem(tiles, transposed=True)",
            found=cx.describe(tiles if transposed is True else transposed),
        )
    if isinstance(tiles, Tiles):
        return Smem.of_tiles(cx, tiles, transposed)
    return Smem.of_shape(cx, tiles, dtype)


@builtin("wg.ring")
def ring(cx: Context, stages: int | None = None, *, readers: str = "all", **buffers: Smem) -> Ring:
    """A ring whose slots hold the named buffers; without ``stages`` as many slots as fit, at most four. Its
    ``readers`` are "all" that drain it, or "one" of them for each slot, while the others skip it."""
    if stages is not None and (type(stages) is not int or not 1 <= stages < 1 << 31):
        cx.fail("stages must be a positive constant", found=cx.describe(stages))
    if not buffers:
        cx.fail("a ring needs at least one buffer", expected="wg.ring(a=wg.smem(A), …)")
    for name, spec in buffers.items():
        if not isinstance(spec, Smem):
            cx.fail(
                f"the ring's buffer '{name}' is no buffer",
                expected="wg.smem(...)",
                found=cx.describe(spec),
            )
    if readers not in ("all", "one"):
        cx.fail("who reads a slot?", expected='"all" or "one"', found=cx.describe(readers))
    _outside_roles(cx, "wg.ring")
    return Ring(cx, stages, buffers, readers == "one")


@builtin("wg.outbox")
def outbox(cx: Context, stages: int, spec: Smem) -> Outbox:
    """Slots through which each warpgroup of a role sends chunks of ``spec`` to global memory."""
    if type(stages) is not int or not 1 <= stages < 1 << 31:
        cx.fail(
            "an outbox has at least one slot",
            expected="a positive constant",
            found=cx.describe(stages),
        )
    if not isinstance(spec, Smem):
        cx.fail(
            "an outbox holds a buffer", expected="wg.smem(shape, dtype)", found=cx.describe(spec)
        )
    _outside_roles(cx, "wg.outbox")
    if cx.visitor.team is not None:
        cx.fail(
            "an outbox is for kernels that send their results by hand",
            expected="results returned by a role, and stored at tile level",
            found="a @wg.function",
        )
    return Outbox(cx, stages, spec)


@builtin("wg.turns")
def turns(cx: Context, warpgroups: int) -> Turns:
    """Turns among the ``warpgroups`` of one role: ``take()`` waits for one's own, ``pass_on()`` ends it."""
    if type(warpgroups) is not int or not 2 <= warpgroups <= 8:
        cx.fail(
            "turns are taken by the warpgroups of a role",
            expected="a constant of 2 to 8 warpgroups",
            found=cx.describe(warpgroups),
        )
    _outside_roles(cx, "wg.turns")
    return Turns(cx, warpgroups)


def _outside_roles(cx: Context, name: str) -> None:
    if cx.role is not None:
        cx.fail(
            f"{name} allocates for the whole CTA",
            expected="a statement before the roles",
            found=f"role '{cx.role.name}'",
        )


@builtin("wg.tma")
def tma(cx: Context, source: TileRef, destination: Buffer, *, multicast: bool = False) -> None:
    """Starts the copy of a tile from global memory into a ring slot's buffer; out-of-range elements become 0.
    With ``multicast`` every CTA of the cluster copies the same tile, and each brings its share to all of them."""
    cx.current_role()
    if type(multicast) is not bool or (multicast and cx.cluster == 1):
        cx.fail(
            "multicast brings a tile to the CTAs of a cluster",
            expected="a launch with clusters, as in gr.tiles(..., cluster=(2, 1))",
            found="a launch without" if multicast is True else cx.describe(multicast),
        )
    if not isinstance(source, TileRef):
        cx.fail(
            "wg.tma copies from a tile of an array",
            expected="tiles[i, j]",
            found=cx.describe(source),
        )
    if not isinstance(destination, Buffer):
        cx.fail(
            "wg.tma copies into a buffer",
            expected="a buffer of a ring's slot",
            found=cx.describe(destination),
        )
    tiles, spec = source.tiles, destination.spec
    shape, order, box = tiles.matrix(cx), tiles.array.tma_order(cx), spec.box
    if multicast:
        box = spec.shared_box(cx, cx.cluster)
    if spec.transposed:
        shape, order, box = (shape[1], shape[0]), (1 - order[0], 1 - order[1]), (box[1], box[0])
    if (shape, tiles.array.dtype_, order) != (spec.shape, spec.dtype, spec.order):
        cx.fail(
            "the tile and the buffer disagree",
            expected=f"a tile for {destination.describe()}",
            found=source.describe(),
            help="allocate the buffer with wg.smem(tiles) of the same tiles",
        )
    view, view_type = tiles.array.tensor_map(cx, box, spec.swizzle)
    where = ", ".join(source.element(cx))
    how = (" transposed" if spec.transposed else "") + (" multicast" if multicast else "")
    cx.builder.line(
        f"wg.tma_load {view}[{where}] to {destination.name}{how} : {view_type}, {spec.mlir_type}"
    )


@builtin("wg.tma_store")
def tma_store(cx: Context, source: OutSlot, destination: TileRef) -> None:
    """Starts the copy of a written outbox slot to global memory; out-of-range elements are dropped."""
    role = cx.current_role()
    if not isinstance(source, OutSlot) or source.written is None:
        cx.fail(
            "wg.tma_store sends a written outbox slot",
            expected="a slot after slot.write(...)",
            found=cx.describe(source),
        )
    if not isinstance(destination, TileRef):
        cx.fail(
            "wg.tma_store writes a tile of an array",
            expected="tiles[i, j].at(chunk)",
            found=cx.describe(destination),
        )
    array, spec = destination.tiles.array, source.written
    rows, width = destination.tiles.matrix(cx)
    columns = destination.columns or width
    if array.access == "in":
        cx.fail(
            f"{array.label} is an input",
            expected="a parameter of gr.Out or gr.InOut",
            found=array.describe(),
        )
    if (
        array.dtype_ != spec.dtype
        or array.tma_order(cx) != spec.order
        or (rows, columns) != spec.shape
    ):
        cx.fail(
            "the slot and the tile disagree",
            expected=f"a tile of {spec.shape[0]}x{spec.shape[1]} {spec.dtype.name}, row-major",
            found=destination.describe()
            + (", column-major" if array.tma_order(cx) != spec.order else ""),
        )
    part = Smem(
        (spec.shape[0] // role.warpgroups, spec.shape[1]), spec.dtype, spec.order, spec.swizzle
    )
    view, view_type = array.tensor_map(cx, part.box, spec.swizzle)
    where = ", ".join(destination.element(cx))
    buffer = source.part(cx, spec)
    cx.builder.line(f"wg.tma_store {buffer} to {view}[{where}] : {spec.mlir_type}, {view_type}")


# What the tensor cores multiply, and what they accumulate it in.
_ACCUMULATORS = {bf16: f32, f16: f32, f32: f32, e4m3: f32, e5m2: f32, i8: i32, u8: i32}


@builtin("wg.acc")
def acc(cx: Context, tiles: Tiles | tuple[int, int], dtype: DType = f32, split: str = "m") -> Tile:
    """A fresh accumulator for one of ``tiles``, or of a shape, its rows split over the role's warpgroups. It
    holds nothing: the first ``wg.mma`` overwrites it."""
    role = cx.current_role()
    if not isinstance(tiles, (Tiles, tuple)):
        cx.fail(
            "wg.acc takes the tiles that it is for",
            expected="array.tiles(...), or a shape",
            found=cx.describe(tiles),
        )
    if split != "m":
        cx.fail("accumulators are split along rows", expected='split="m"', found=repr(split))
    if dtype not in (f32, i32):
        cx.fail(
            "wgmma accumulates floats in f32 and integers in i32 here",
            expected="girih.f32 or girih.i32",
            found=cx.describe(dtype),
        )
    if not role.warpgroups:
        cx.fail(
            "wgmma is executed by whole warpgroups",
            expected="a role declared with warpgroups=…",
            found=f"role '{role.name}' of {role.warps} warps",
        )
    shape = tiles.matrix(cx) if isinstance(tiles, Tiles) else tiles
    if len(shape) != 2 or not all(type(extent) is int and extent > 0 for extent in shape):
        cx.fail(
            "an accumulator has two dimensions",
            expected="two positive constants",
            found=cx.describe(shape),
        )
    rows, columns = shape
    if rows % (64 * role.warpgroups):
        cx.fail(
            "the tile's rows do not split over the warpgroups",
            expected=f"a multiple of {64 * role.warpgroups} rows for {role.warpgroups} warpgroups (64 each)",
            found=f"{rows} rows",
        )
    if columns % 8 or columns > 256:
        cx.fail(
            "wgmma has no such width",
            expected="a multiple of 8 columns, at most 256",
            found=f"{columns} columns",
        )
    layout = cx.accumulator_layout(rows, columns)
    tile = Tile("", (rows, columns), dtype, layout, pending=True, written=False)
    tile.name = cx.builder.op(f"wg.acc : {tile.mlir_type}", "acc")
    cx.needs_products = True
    return tile


def _operand(cx: Context, name: str, operand: object) -> Buffer | Tile:
    """An operand of wg.mma; a, but not b, may be in registers."""
    good = isinstance(operand, Buffer) or (name == "a" and isinstance(operand, Tile))
    if not good:
        cx.fail(
            f"operand {name} of wg.mma is no buffer",
            expected="a buffer of a ring's slot" + (", or a tile in registers" * (name == "a")),
            found=cx.describe(operand),
        )
    dtype = operand.spec.dtype if isinstance(operand, Buffer) else operand.ready(cx).dtype_  # type: ignore[attr-defined]
    if dtype not in _ACCUMULATORS:
        cx.fail(
            f"operand {name} of wg.mma has an element type that wgmma does not take here",
            expected="bf16, f16, f32 (as tf32), e4m3, e5m2, i8 or u8",
            found=cx.describe(operand),
        )
    return operand  # type: ignore[return-value]


def _started(cx: Context, acc: Tile) -> tuple[str, str]:
    """The accumulator of a product: a pending tile, or a finished one that the product adds to."""
    if acc.pending:
        predicate = ""
        if acc.written is False or isinstance(acc.written, str):
            predicate = f" accumulate({acc.flatten(cx)[1][0]})"
        return acc.name, predicate
    start = acc.spread(cx, cx.accumulator_layout(*acc.shape_))  # type: ignore[arg-type]
    name = cx.builder.op(f"wg.acc from({start.name}) : !wg.pending<{start.tensor_type}>", "acc")
    return name, ""


@builtin("wg.mma")
def mma(cx: Context, a: Buffer | Tile, b: Buffer, acc: Tile) -> Tile:
    """Starts ``acc += a @ b`` on the tensor cores and returns the pending tile; ``wg.wait`` finishes it.
    ``a`` may be a tile in registers, of ``tile.as_operand_a()``."""
    cx.current_role()
    left, right = _operand(cx, "a", a), _operand(cx, "b", b)
    (m, k), a_type, a_mlir = (
        (left.spec.shape, left.spec.dtype, left.spec.mlir_type)
        if isinstance(left, Buffer)
        else (left.shape_, left.dtype_, left.tensor_type)
    )
    (kb, n), b_type = b.spec.shape, b.spec.dtype
    wanted = _ACCUMULATORS[b_type]
    if not isinstance(acc, Tile) or acc.dtype_ != wanted:
        cx.fail(
            "wg.mma accumulates into an accumulator",
            expected=f"wg.acc(...), the result of wg.mma, or a tile of {wanted.name}",
            found=cx.describe(acc),
        )
    types = {a_type, b_type}
    if a_type != b_type and not (types <= {e4m3, e5m2} or types <= {i8, u8}):
        cx.fail(
            "the operands of wg.mma differ in type",
            expected=f"b of {a_type.name}",
            found=cx.describe(right),
        )
    if k != kb:
        cx.fail(
            "the operands of wg.mma disagree in K",
            expected=f"b of {k} rows, as a has {k} columns",
            found=cx.describe(right),
        )
    if (m, n) != acc.shape_:
        cx.fail(
            "the accumulator does not fit the operands",
            expected=f"an accumulator of {m}x{n}",
            found=acc.describe(),
        )
    for name, operand, fast in (("a", left, 1), ("b", right, 0)):
        if (
            isinstance(operand, Buffer)
            and operand.spec.dtype.bits != 16
            and operand.spec.order[0] != fast
        ):
            cx.fail(
                f"wgmma reads operands of {operand.spec.dtype.name} along K only",
                expected=f"operand {name} stored with K contiguous",
                found=operand.describe() + (", column-major" if name == "a" else ", row-major"),
            )
    layout = cx.accumulator_layout(m, n)
    result = Tile("", acc.shape_, acc.dtype_, layout, pending=True, written=True)
    start, predicate = _started(cx, acc)
    signs = [f"unsigned_{name}" for name, dtype in (("a", a_type), ("b", b_type)) if dtype == u8]
    how = f" {{{', '.join(signs)}}}" if signs else ""
    result.name = cx.builder.op(
        f"wg.mma {left.name}, {right.name}, {start}{predicate}{how} : {a_mlir}, {b.spec.mlir_type}, {result.mlir_type}",
        "acc",
    )
    return result


@builtin("wg.wait")
def wait(cx: Context, tile: Tile) -> Tile:
    """Waits until the wgmmas that write a pending tile are done and returns the finished tile."""
    if not isinstance(tile, Tile) or not tile.pending:
        cx.fail(
            "wg.wait takes a pending tile", expected="the result of wg.mma", found=cx.describe(tile)
        )
    return _wait(cx, tile)


@builtin("wg.warpgroup")
def warpgroup(cx: Context) -> Scalar:
    """The index of the executing warpgroup within its role."""
    cx.current_role()
    return Scalar(cx.builder.op("wg.warpgroup_index : i32"), i32)
