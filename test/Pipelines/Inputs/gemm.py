# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the warp-specialised GEMM at the wg level, as the front end emits it, for the pipeline's tests.

gemm.py 128x256 kn bf16 persistent
"""

import argparse


def layout(cols: int, warpgroups: int) -> str:
    """The accumulator of wgmma: 64 rows for each warpgroup (PTX ISA 9.0, 9.7.15.5.1.1, figure of D)."""
    repeats = [f"register: [0,8] x {cols // 8}"] if cols > 8 else []
    repeats += [f"warpgroup: [64,0] x {warpgroups}"] if warpgroups > 1 else []
    atom = "{register: [[0,1],[8,0]], lane: [[0,2],[0,4],[1,0],[2,0],[4,0]], warp: [[16,0],[32,0]]}"
    return f"#wg.layout<{atom} repeat {{{', '.join(repeats)}}}>"


def gemm(bm: int, bn: int, storage: str, out: str, persistent: bool, stages: str) -> str:
    """The text of the module for tiles of bm x bn x 64."""
    warpgroups = bm // 64
    loader, worker = {2: (40, 232), 3: (32, 160)}[warpgroups]
    chunk = 64 if out == "bf16" else 32
    a_buffer = f"!wg.buffer<{bm}x64xbf16, swizzle = 128>"
    a_view = f"!wg.view<bf16, box = [{bm}, 64], swizzle = 128>"
    if storage == "kn":
        b_buffer = f"!wg.buffer<64x{bn}xbf16, swizzle = 128>"
        b_view = "!wg.view<bf16, box = [64, 64], swizzle = 128>"
    else:
        b_buffer = f"!wg.buffer<64x{bn}xbf16, order = [0, 1], swizzle = 128>"
        b_view = f"!wg.view<bf16, box = [64, {bn}], order = [0, 1], swizzle = 128>"
    slot = f"!wg.buffer<{bm}x{chunk}x{out}, swizzle = 128>"
    ring, outbox = f"!wg.ring<[{a_buffer}, {b_buffer}]>", f"!wg.store_ring<{slot}>"
    pending = f"!wg.pending<tensor<{bm}x{bn}xf32, #acc>>"

    columns = [(c, min(chunk, bn - c)) for c in range(0, bn, chunk)]
    widths = sorted({width for _, width in columns}, reverse=True)
    views = [(f"%C{w}", f"!wg.view<{out}, box = [64, {w}], swizzle = 128>") for w in widths]
    arguments = ", ".join(f"{name}: {kind}" for name, kind in views)

    lines = [f"#acc = {layout(bn, warpgroups)}"]
    lines += [f"#acc{w} = {layout(w, warpgroups)}" for w in widths]
    lines.append(f"""gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {{
  gpu.func @gemm(%A: {a_view}, %B: {b_view}, {arguments}, %M: i32, %N: i32, %K: i32) kernel {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %bm = arith.constant {bm} : i32
    %bn = arith.constant {bn} : i32
    %false = arith.constant false
    %true = arith.constant true
    %ring = wg.ring {{{stages}name = "ring"}} : {ring}
    %out = wg.store_ring {{stages = 2 : i32, name = "out"}} : {outbox}
    %nk = arith.ceildivsi %K, %c64 : i32
    %tm = arith.ceildivsi %M, %bm : i32
    %tn = arith.ceildivsi %N, %bn : i32
    %tiles = arith.muli %tm, %tn : i32
    %bx = gpu.block_id x
    %bid = arith.index_cast %bx : index to i32
    %gx = gpu.grid_dim x
    %ctas = arith.index_cast %gx : index to i32""")
    head, tail = [], []
    if not persistent:
        head = [
            "    %m = arith.divsi %bid, %tn : i32",
            "    %n = arith.remsi %bid, %tn : i32",
            "    %row = arith.muli %m, %bm : i32",
            "    %col = arith.muli %n, %bn : i32",
        ]
        lines += head

    def tile_loop(carried: list[tuple[str, str, str]], types: str) -> list[str]:
        """The start of the loop over tiles, which carries (name, init, result)."""
        if not persistent:
            return []
        inits = ", ".join(f"{name} = {init}" for name, init, _ in carried)
        return [
            f"        %end:{len(carried)} = scf.for %t = %bid to %tiles step %ctas iter_args({inits}) -> ({types}) : i32 {{",
            "        %m = arith.divsi %t, %tn : i32",
            "        %n = arith.remsi %t, %tn : i32",
            "        %row = arith.muli %m, %bm : i32",
            "        %col = arith.muli %n, %bn : i32",
        ]

    p = "%p" if persistent else "%p0"
    lines += [
        "    wg.specialize {",
        f"      wg.role @load warps(1) registers({loader}) {{",
        f"        %p0 = wg.cursor producer %ring : {ring}",
    ]
    lines += tile_loop([("%p", "%p0", "%p1")], "!wg.cursor")
    lines.append(f"""        %p1 = wg.fill %ring[{p}] count(%nk) as (%k, %sa, %sb) : {ring} {{
          %kk = arith.muli %k, %c64 : i32
          wg.tma_load %A[%row, %kk] to %sa : {a_view}, {a_buffer}
          wg.tma_load %B[%kk, %col] to %sb : {b_view}, {b_buffer}
        }}""")
    if persistent:
        lines += ["        scf.yield %p1 : !wg.cursor", "        }"]
    q, o = ("%q", "%o") if persistent else ("%q0", "%o0")
    lines += [
        "      }",
        f"      wg.role @multiply warpgroups({warpgroups}) registers({worker}) {{",
        f"        %q0 = wg.cursor consumer %ring : {ring}",
        f"        %o0 = wg.cursor producer %out : {outbox}",
    ]
    lines += tile_loop([("%q", "%q0", ""), ("%o", "%o0", "")], "!wg.cursor, !wg.cursor")
    lines.append(f"""        %acc0 = wg.acc : {pending}
        %q1, %acc1, %w1 = wg.drain %ring[{q}] count(%nk) lag(1) as (%k, %sa, %sb) iter_args(%acc = %acc0, %w = %false) -> ({pending}, i1) : {ring} {{
          %d = wg.mma %sa, %sb, %acc accumulate(%w) : {a_buffer}, {b_buffer}, {pending}
          wg.yield %d, %true : {pending}, i1
        }}
        %t{"ile"} = wg.wait %acc1 in_flight(0) written(%w1) : {pending} -> tensor<{bm}x{bn}xf32, #acc>""")
    cursor = o
    for i, (c, width) in enumerate(columns):
        part = f"tensor<{bm}x{width}xf32, #acc{width}>"
        target = f"!wg.buffer<{bm}x{width}x{out}, swizzle = 128>"
        name, view = next(v for v in views if v[0] == f"%C{width}")
        lines.append(
            f"        %ch{i} = wg.slice %tile[0, {c}] : tensor<{bm}x{bn}xf32, #acc> -> {part}"
        )
        value, kind = f"%ch{i}", part
        if out == "bf16":
            kind = f"tensor<{bm}x{width}xbf16, #acc{width}>"
            lines.append(f"        %h{i} = arith.truncf %ch{i} : {part} to {kind}")
            value = f"%h{i}"
        lines.append(f"        %slot{i} = wg.store_acquire %out[{cursor}] : {outbox}")
        place = f"%slot{i}"
        if width != chunk:
            place = f"%part{i}"
            lines.append(f"        {place} = wg.subbuffer %slot{i}[0, 0] : {slot} -> {target}")
        lines.append(f"""        wg.local_store {value} to {place} : {kind}, {target}
        %off{i} = arith.constant {c} : i32
        %at{i} = arith.addi %col, %off{i} : i32
        wg.tma_store {place} to {name}[%row, %at{i}] : {target}, {view}
        wg.store_commit %out[{cursor}] : {outbox}
        %o{i + 1} = wg.advance %out[{cursor}] : {outbox}""")
        cursor = f"%o{i + 1}"
    if persistent:
        lines += [f"        scf.yield %q1, {cursor} : !wg.cursor, !wg.cursor", "        }"]
    lines += ["      }", "    }", "    gpu.return", "  }", "}"]
    return "\n".join(lines + tail)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tile")
    parser.add_argument("storage", choices=("kn", "nk"))
    parser.add_argument("out", choices=("bf16", "f32"))
    parser.add_argument("schedule", choices=("persistent", "single"))
    parser.add_argument("--stages", type=int, default=0)
    options = parser.parse_args()
    bm, bn = map(int, options.tile.split("x"))
    stages = f"stages = {options.stages} : i32, " if options.stages else ""
    print(gemm(bm, bn, options.storage, options.out, options.schedule == "persistent", stages))


if __name__ == "__main__":
    main()
