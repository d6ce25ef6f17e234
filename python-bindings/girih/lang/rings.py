"""Shared-memory rings of the wg level: what ``wg.ring`` and ``wg.outbox`` return, and what kernels do with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from girih.dtypes import DType, i32
from girih.lang.arrays import MAX_BOX, buffer_type, swizzle_span
from girih.lang.builder import quoted
from girih.lang.loops import LoopForm, emit_loop
from girih.lang.places import Tiles
from girih.lang.scalars import i32_name
from girih.lang.values import Scalar, Tile, Value, attribute, method

if TYPE_CHECKING:
    from girih.lang.context import Context
    from girih.lang.visitor import Visitor


@dataclass(frozen=True)
class Smem:
    """A buffer to allocate: what ``wg.smem`` returns."""

    shape: tuple[int, int]
    dtype: DType
    order: tuple[int, int]
    swizzle: int
    transposed: bool = False  # whether copies into it are of tiles of the transposed shape

    @property
    def mlir_type(self) -> str:
        """The buffer's MLIR type."""
        return buffer_type(self.shape, self.dtype, self.order, self.swizzle)

    @property
    def box(self) -> tuple[int, int]:
        """The box of one copy: the contiguous extent cut to one swizzle span, the other into equal parts of
        whole swizzle patterns (8 rows) within TMA's limit."""
        fast = self.order[0]
        span = self.swizzle // self.dtype.bytes if self.swizzle else self.shape[fast]
        box = [
            next((part for part in range(MAX_BOX, 7, -8) if extent % part == 0), MAX_BOX)
            if extent > MAX_BOX
            else extent
            for extent in self.shape
        ]
        box[fast] = min(span, self.shape[fast])
        return box[0], box[1]

    def shared_box(self, cx: Context, ctas: int) -> tuple[int, int]:
        """The box of one copy where each of ``ctas`` CTAs brings an equal share: whole panels, or parts of them."""
        fast, box = self.order[0], list(self.box)
        if -(-self.shape[fast] // box[fast]) % ctas == 0:
            return self.box
        slow = 1 - fast
        if self.shape[slow] % (8 * ctas):
            cx.fail(
                "the buffer does not split over the cluster",
                expected=f"a multiple of {8 * ctas} elements along dimension {slow} for {ctas} CTAs",
                found=f"a buffer of {self.shape[0]}x{self.shape[1]} {self.dtype.name}",
            )
        share = self.shape[slow] // ctas
        box[slow] = next(part for part in range(min(share, MAX_BOX), 7, -8) if share % part == 0)
        return box[0], box[1]

    @staticmethod
    def of_tiles(cx: Context, tiles: Tiles, transposed: bool = False) -> Smem:
        """Room for one tile, or its transpose, in the order in which the array is stored."""
        shape, order = tiles.matrix(cx), tiles.array.tma_order(cx)
        if transposed:
            shape, order = (shape[1], shape[0]), (1 - order[0], 1 - order[1])
        fast = order[0]
        swizzle = swizzle_span(shape[fast], tiles.array.dtype_)
        if not swizzle:
            cx.fail(
                "no swizzle fits this tile",
                expected="a contiguous extent of a multiple of 32 bytes",
                found=f"{shape[fast]} elements of {tiles.array.dtype_.name}",
            )
        return Smem(shape, tiles.array.dtype_, order, swizzle, transposed)

    @staticmethod
    def of_shape(cx: Context, shape: object, dtype: object) -> Smem:
        """Room for ``shape`` elements of ``dtype``, row-major; a row narrower than 128 bytes keeps their pitch."""
        if (
            not isinstance(shape, tuple)
            or len(shape) != 2
            or not all(type(extent) is int and 1 <= extent < 1 << 31 for extent in shape)
        ):
            cx.fail(
                "wg.smem takes tiles, or a shape of two positive constants",
                found=cx.describe(shape),
            )
        if not isinstance(dtype, DType):
            cx.fail("wg.smem(shape, dtype) needs an element type", found=cx.describe(dtype))
        return Smem(shape, dtype, (1, 0), swizzle_span(shape[1], dtype) or 128)


class Buffer(Value):
    """A buffer in shared memory, at a slot."""

    def __init__(self, name: str, spec: Smem) -> None:
        self.name = name
        self.spec = spec

    @method
    def as_operand_a(self, cx: Context) -> Tile:
        """What is in the buffer, loaded into registers where wgmma wants operand A."""
        rows, columns = self.spec.shape
        layout = cx.operand_layout(rows, columns, self.spec.dtype.bits)
        result = Tile("", self.spec.shape, self.spec.dtype, layout)
        result.name = cx.builder.op(
            f"wg.local_load {self.name} : {self.spec.mlir_type} -> {result.tensor_type}"
        )
        return result

    def describe(self) -> str:
        return f"a shared-memory buffer of {self.spec.shape[0]}x{self.spec.shape[1]} {self.spec.dtype.name}"


class Cursor(Value):
    """Slot index and phase of one ring in one role: carried through loops under a hidden name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def describe(self) -> str:
        return "a cursor"

    def flatten(self, cx: Context) -> list[tuple[str, str]]:
        return [(self.name, "!wg.cursor")]

    def rebuild(self, names: list[str]) -> Cursor:
        return Cursor(names[0])


class CursorOwner(Value):
    """A ring of either kind: its cursor lives in the visitor's names, hidden from the user."""

    name: str
    mlir_type: str

    def _key(self) -> str:
        return self.name  # starts with "%", so that no user name can be the same

    def cursor(self, visitor: Visitor, kind: str) -> Cursor:
        """The current cursor of this role, created at the role's entry on first use."""
        cx = visitor.cx
        role = cx.current_role()
        key = self._key()
        if key not in role.cursors:
            role.owners[key] = self
            with cx.builder.inserting_into(role.entry):
                role.cursors[key] = (
                    kind,
                    Cursor(cx.builder.op(f"wg.cursor {kind} {self.name} : {self.mlir_type}")),
                )
        known, start = role.cursors[key]
        if known != kind:
            cx.fail(
                f"{self.describe()} is filled and drained by one role",
                expected=f"the {known}'s operations only in role '{role.name}'",
                found=f"an operation of the {kind}",
                help="fill it in one role and drain it in another",
            )
        return visitor.names.get(key, start)

    def move(self, visitor: Visitor, cursor: str) -> None:
        """Makes ``cursor`` the current one."""
        visitor.names[self._key()] = Cursor(cursor)

    def advance(self, visitor: Visitor, cursor: Cursor) -> None:
        """Moves on to the next slot."""
        self.move(
            visitor,
            visitor.cx.builder.op(f"wg.advance {self.name}[{cursor.name}] : {self.mlir_type}"),
        )


class Slot(Value):
    """The buffers of one ring slot, by name."""

    def __init__(
        self, ring: Ring, buffers: dict[str, Buffer], cursor: Cursor | None = None
    ) -> None:
        self.ring = ring
        self.buffers = buffers
        self.cursor = cursor

    def describe(self) -> str:
        return f"a slot with buffers {', '.join(self.buffers)}"

    def field(self, cx: Context, name: str) -> Buffer:
        """``slot.name``."""
        if name not in self.buffers:
            cx.fail(
                f"the slot has no buffer '{name}'", expected=" or ".join(self.buffers), found=name
            )
        return self.buffers[name]


class Ring(CursorOwner):
    """Slots of buffers that one role fills and another drains."""

    def __init__(
        self, cx: Context, stages: int | None, fields: dict[str, Smem], one_reader: bool
    ) -> None:
        self.fields = fields
        self.mlir_type = f"!wg.ring<[{', '.join(spec.mlir_type for spec in fields.values())}]>"
        name = cx.naming or "ring"
        attributes = f"name = {quoted(name)}"
        if stages is not None:
            attributes += f", stages = {stages} : i32"
        if one_reader:
            attributes += ", one_reader"
        self.name = cx.allocated(f"wg.ring {{{attributes}}} : {self.mlir_type}", name)

    def describe(self) -> str:
        return f"a ring of {', '.join(self.fields)}"

    def _slot(self, names: list[str], cursor: Cursor | None = None) -> Slot:
        buffers = {
            key: Buffer(name, spec)
            for name, (key, spec) in zip(names, self.fields.items(), strict=True)
        }
        return Slot(self, buffers, cursor)

    def _types(self) -> str:
        return ", ".join(spec.mlir_type for spec in self.fields.values())

    @method
    def fill(self, cx: Context, count: object) -> RingLoop:
        """``for k, s in ring.fill(n)``: wait until a slot is empty, let the body copy into it; n times."""
        return RingLoop(self, "fill", count, None)

    @method
    def drain(self, cx: Context, count: object, lag: int = 0) -> RingLoop:
        """``for k, s in ring.drain(n, lag=L)``: wait until a slot is full; the body reads it; then wait
        until the wgmmas of at most L iterations are in flight and free the slot L iterations back. At
        the loop's end everything is waited for: pending tiles that it carried can be read."""
        if type(lag) is not int or not 0 <= lag < 1 << 31:
            cx.fail(
                "lag counts iterations", expected="a constant of at least 0", found=cx.describe(lag)
            )
        return RingLoop(self, "drain", count, lag)

    @method
    def skip(self, cx: Context, count: object) -> None:
        """Goes on past ``count`` slots that are for another reader."""
        visitor = cx.visitor
        cursor = self.cursor(visitor, "consumer")
        op = f"wg.advance {self.name}[{cursor.name}] by({i32_name(cx, count)}) : {self.mlir_type}"
        self.move(visitor, cx.builder.op(op))

    @method
    def get(self, cx: Context) -> Slot:
        """The next full slot (waits). Pass it to ``free`` once nothing reads it any more."""
        visitor = cx.visitor
        cursor = self.cursor(visitor, "consumer")
        names = [cx.builder.fresh(key) for key in self.fields]
        cx.builder.line(
            f"{', '.join(names)} = wg.get {self.name}[{cursor.name}] : {self.mlir_type}"
        )
        self.advance(visitor, cursor)
        return self._slot(names, cursor)

    @method
    def free(self, cx: Context, slot: Slot) -> None:
        """Gives a slot back to the filling role. No instruction may still read it: a wgmma that does must
        have been waited for."""
        if not isinstance(slot, Slot) or slot.ring is not self or slot.cursor is None:
            cx.fail(
                "ring.free takes a slot of this ring",
                expected="what ring.get() returned",
                found=cx.describe(slot),
            )
        cx.builder.line(f"wg.free {self.name}[{slot.cursor.name}] : {self.mlir_type}")


class RingLoop(Value):
    """``ring.fill(...)`` or ``ring.drain(...)``, to loop over."""

    def __init__(self, ring: Ring, kind: str, count: object, lag: int | None) -> None:
        self.ring = ring
        self.kind = kind
        self.count = count
        self.lag = lag

    def describe(self) -> str:
        return f"a loop that {self.kind}s {self.ring.describe()}"

    def emit_loop(
        self, visitor: Visitor, bind: Callable[[object], None], body: Callable[[], None]
    ) -> None:
        """Emits wg.fill or wg.drain around the body."""
        cx = visitor.cx
        ring = self.ring
        cursor = ring.cursor(visitor, "producer" if self.kind == "fill" else "consumer")
        count = i32_name(cx, self.count)
        k = cx.builder.fresh("k")
        names = [cx.builder.fresh(key) for key in ring.fields]
        slot = ring._slot(names)

        def step() -> None:
            bind((Scalar(k, i32), slot))
            outer = set(self._pending(visitor.names))
            body()
            if self.kind == "drain":
                self._check_new_pending(cx, visitor.names, outer)

        lag = f" lag({self.lag})" if self.kind == "drain" else ""
        head = f"wg.{self.kind} {ring.name}[{cursor.name}] count({count}){lag} as ({', '.join([k, *names])})"
        form = LoopForm(
            head,
            f" : {ring.mlir_type}",
            "wg.yield",
            own=(("cursor", "!wg.cursor", lambda result: ring.move(visitor, result)),),
        )
        emit_loop(visitor, form, step)
        if self.kind == "drain":
            for name, value in visitor.names.items():
                # An accumulator that is still fresh is for products after this loop.
                if isinstance(value, Tile) and value.pending and value.written is not False:
                    visitor.names[name] = wait(cx, value)

    @staticmethod
    def _pending(names: dict[str, Any]) -> list[str]:
        return [name for name, value in names.items() if isinstance(value, Tile) and value.pending]

    def _check_new_pending(self, cx: Context, names: dict[str, Any], outer: set[str]) -> None:
        lost = [
            name for name in self._pending(names) if name not in outer and names[name].unfinished
        ]
        if lost:
            cx.fail(
                f"'{lost[0]}' is still pending at the end of the iteration and not carried to the next",
                help=f"give it a value before the loop ({lost[0]} = wg.acc(...)), or wg.wait({lost[0]}) in the body",
            )


def wait(cx: Context, tile: Tile) -> Tile:
    """wg.wait on a pending tile: the finished tile; zeros where no wgmma wrote it at run time."""
    if tile.written is False:
        cx.fail(
            "nothing was accumulated into this tile",
            expected="at least one wg.mma before it is read",
            found="a fresh accumulator of wg.acc",
        )
    # The names of the pending tile go on with registers that the wait has returned: those that it
    # took may be copied while they are being written.
    op = f"wg.wait {tile.name} in_flight(0) derive : {tile.mlir_type} -> {tile.mlir_type}"
    waited = Tile(cx.builder.op(op), tile.shape_, tile.dtype_, tile.layout, pending=True)
    waited.written, waited.waited = tile.written, True
    for name, value in cx.visitor.names.items():
        if value is tile:
            cx.visitor.names[name] = waited
    result = Tile("", tile.shape_, tile.dtype_, tile.layout)
    written = f" written({tile.written})" if isinstance(tile.written, str) else ""
    result.name = cx.builder.op(
        f"wg.wait {waited.name} in_flight(0) derive{written} : {tile.mlir_type} -> {result.tensor_type}"
    )
    return result


class Outbox(CursorOwner):
    """Slots through which warpgroups send finished chunks to global memory, each its own rows."""

    def __init__(self, cx: Context, stages: int, spec: Smem) -> None:
        self.stages = stages
        self.spec = spec
        self._called = cx.naming or "outbox"
        self._nested = cx.builder.nested()
        self.name = ""
        self.mlir_type = ""

    def describe(self) -> str:
        return f"an outbox of {self.spec.shape[0]}x{self.spec.shape[1]} {self.spec.dtype.name}"

    def claim(self, cx: Context) -> None:
        """Allocates it for the role that uses it first: one part per warpgroup."""
        role = cx.current_role()
        rows = self.spec.shape[0] * role.warpgroups
        self.role_spec = Smem(
            (rows, self.spec.shape[1]), self.spec.dtype, self.spec.order, self.spec.swizzle
        )
        type_ = f"!wg.store_ring<{self.role_spec.mlir_type}>"
        if not self.name:
            self.mlir_type = type_
            self.owner = role
            with cx.builder.inserting_into(self._nested):
                attributes = f"name = {quoted(self._called)}, stages = {self.stages} : i32"
                self.name = cx.builder.op(f"wg.store_ring {{{attributes}}} : {type_}", self._called)
        elif self.owner is not role:
            cx.fail(
                "an outbox belongs to one role",
                expected=f"use in role '{self.owner.name}' only",
                found=f"use in role '{role.name}'",
                help="make a second outbox",
            )

    @method
    def slot(self, cx: Context) -> OutSlot:
        """``with outbox.slot() as o``: waits until an earlier store of that slot has been read."""
        self.claim(cx)
        return OutSlot(self)


class OutSlot(Value):
    """One slot of an outbox: written by the warpgroups, then stored by TMA."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self._buffer: str | None = None
        self.written: Smem | None = None
        self.cursor: Cursor | None = None

    def describe(self) -> str:
        return f"a slot of {self.outbox.describe()}"

    def enter(self, cx: Context) -> OutSlot:
        """The start of the with block."""
        self.cursor = self.outbox.cursor(cx.visitor, "producer")
        self._buffer = cx.builder.op(
            f"wg.store_acquire {self.outbox.name}[{self.cursor.name}] : {self.outbox.mlir_type}"
        )
        self.written = None
        return self

    def leave(self, cx: Context) -> None:
        """The end of the with block: the stores issued inside become one group."""
        assert self.cursor is not None
        cx.builder.line(
            f"wg.store_commit {self.outbox.name}[{self.cursor.name}] : {self.outbox.mlir_type}"
        )
        self.outbox.advance(cx.visitor, self.cursor)
        self._buffer = self.written = None

    def part(self, cx: Context, spec: Smem) -> str:
        """The slot's buffer, or its first columns, as a buffer of ``spec``."""
        assert self._buffer is not None
        whole = self.outbox.role_spec
        if spec == whole:
            return self._buffer
        return cx.builder.op(
            f"wg.subbuffer {self._buffer}[0, 0] : {whole.mlir_type} -> {spec.mlir_type}"
        )

    @method
    def write(self, cx: Context, tile: Tile) -> None:
        """Puts a tile into the slot; it may have fewer columns than the slot."""
        if self._buffer is None:
            cx.fail("the slot is not acquired", help="write inside 'with outbox.slot() as o:'")
        if not isinstance(tile, Tile):
            cx.fail("slot.write takes a tile", found=cx.describe(tile))
        tile = tile.ready(cx)
        whole = self.outbox.role_spec
        if tile.dtype_ != whole.dtype:
            cx.fail(
                "the slot holds another element type",
                expected=whole.dtype.name,
                found=tile.dtype_.name,
                help=f"convert first: tile.to({whole.dtype!r})",
            )
        if tile.shape_[0] != whole.shape[0] or tile.shape_[1] > whole.shape[1]:
            cx.fail(
                "the tile does not fit the slot",
                expected=f"{whole.shape[0]} rows (all warpgroups) and at most {whole.shape[1]} columns",
                found=tile.describe(),
            )
        tile = tile.fragment(cx)
        rows, columns = tile.shape_
        part = Smem((rows, columns), whole.dtype, whole.order, whole.swizzle)
        self.written = part
        cx.builder.line(
            f"wg.local_store {tile.name} to {self.part(cx, part)} : {tile.tensor_type}, {part.mlir_type}"
        )

    @attribute
    def dtype(self, cx: Context) -> DType:
        """The element type."""
        return self.outbox.spec.dtype
