"""Writes gemm_ws.ptx: a persistent, warp-specialised bf16 GEMM for sm_90a, by hand.

C[M,N] = A[M,K] * B[N,K]^T, 128x128x64 tiles, three stages, one producer warpgroup and two consumers. Lines that the
tests change carry a marker in a comment (`@full-wait` and so on). Each statement has a `.loc` into a made-up gemm.py.
"""

import sys

BN, STAGES, CONSUMERS = 128, 3, 2
STAGE_A, STAGE_B = 128 * 64 * 2, BN * 64 * 2
STAGE = STAGE_A + STAGE_B
ACC = BN // 2
OUT = STAGES * STAGE  # 16 KiB per consumer: two halves of 64 rows x 64 columns
BARRIERS = OUT + CONSUMERS * 64 * BN * 2
TOTAL = BARRIERS + 16 * STAGES

lines = []


def put(text, loc=None, mark=None):
    if loc:
        lines.append(f"\t.loc 1 {loc} 5")
    lines.append(f"\t{text}" + (f" // @{mark}" if mark else ""))


def wait(address, parity, label, loc, mark):
    put("{", loc)
    put(".reg .pred %done;")
    put(f"{label}:")
    put(f"mbarrier.try_wait.parity.shared::cta.b64 %done, [{address}], {parity};", loc, mark)
    put(f"@%done bra {label}_done;", None, mark + "-done")
    put(f"bra {label};", None, mark + "-loop")
    put(f"{label}_done:")
    put("}")


def main():
    lines.append(
        f"""// Written by make_gemm_ws.py; shared memory needed: {TOTAL} bytes.
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry gemm_ws(
\t.param .align 64 .b8 p_a[128],
\t.param .align 64 .b8 p_b[128],
\t.param .align 64 .b8 p_c[128],
\t.param .u32 p_kblocks,
\t.param .u32 p_tiles_m,
\t.param .u32 p_tiles_n
)
.reqntid 384, 1, 1
.minnctapersm 1
{{
\t.reg .pred %p<16>;
\t.reg .b32 %r<80>;
\t.reg .f32 %f<{ACC}>;
\t.reg .b32 %c<{ACC // 2}>;
\t.reg .b64 %rd<40>;"""
    )
    put("mov.u32 %r0, %tid.x;", 10)
    put("shr.u32 %r1, %r0, 7;")  # warpgroup
    put("shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;")
    put("shr.u32 %r2, %r0, 5;")
    put("and.b32 %r2, %r2, 3;")  # warp of the group
    put("and.b32 %r3, %r0, 31;")
    put("mov.u32 %r4, smem;")
    put(f"add.u32 %r5, %r4, {BARRIERS};")  # full barriers, then empty ones
    put("ld.param.u32 %r6, [p_kblocks];")
    put("ld.param.u32 %r7, [p_tiles_m];")
    put("ld.param.u32 %r8, [p_tiles_n];")
    put("mul.lo.u32 %r9, %r7, %r8;")  # tiles
    put("mov.u64 %rd0, p_a;")
    put("mov.u64 %rd1, p_b;")
    put("mov.u64 %rd2, p_c;")
    put("setp.ne.u32 %p0, %r0, 0;", 12)
    put("@%p0 bra INIT_DONE;")
    for s in range(STAGES):
        put(f"mbarrier.init.shared::cta.b64 [%r5+{8 * s}], 1;", 13, "full-init")
        put(
            f"mbarrier.init.shared::cta.b64 [%r5+{8 * (STAGES + s)}], {CONSUMERS};",
            14,
            "empty-init",
        )
    put("fence.mbarrier_init.release.cluster;", 15)
    put("INIT_DONE:")
    put("bar.sync 0;", 16)
    put("setp.ne.u32 %p1, %r1, 0;", 18)
    put("@%p1 bra CONSUMER;")
    # Producer.
    put("setmaxnreg.dec.sync.aligned.u32 40;", 20)
    put("setp.ne.u32 %p2, %r2, 0;")
    put("@%p2 bra END;")
    put("elect.sync _|%p3, -1;", 21)
    put("@!%p3 bra END;")
    put("mov.u32 %r10, %ctaid.x;", 22)
    put("mov.u32 %r11, 0;")  # stage
    put("mov.u32 %r12, 1;")  # parity to wait for
    put("P_TILE:")
    put("setp.ge.u32 %p4, %r10, %r9;", 23)
    put("@%p4 bra END;")
    put("rem.u32 %r13, %r10, %r7;")
    put("div.u32 %r14, %r10, %r7;")
    put("shl.b32 %r13, %r13, 7;")
    put(f"mul.lo.u32 %r14, %r14, {BN};")
    put("mov.u32 %r15, 0;")
    put("P_K:")
    put("setp.ge.u32 %p5, %r15, %r6;", 25)
    put("@%p5 bra P_NEXT;")
    put("shl.b32 %r16, %r11, 3;")
    put("add.u32 %r17, %r5, %r16;")  # full
    put(f"add.u32 %r18, %r17, {8 * STAGES};")  # empty
    wait("%r18", "%r12", "P_WAIT", 26, "empty-wait")
    put(
        f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r17], {STAGE};",
        27,
        "expect",
    )
    put(f"mul.lo.u32 %r19, %r11, {STAGE};")
    put("add.u32 %r19, %r19, %r4;")
    put(f"add.u32 %r20, %r19, {STAGE_A};")
    put("shl.b32 %r21, %r15, 6;")
    tma = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    put(f"{tma} [%r19], [%rd0, {{%r21, %r13}}], [%r17];", 28, "load-a")
    put(f"{tma} [%r20], [%rd1, {{%r21, %r14}}], [%r17];", 29, "load-b")
    put("add.u32 %r15, %r15, 1;")
    put("add.u32 %r11, %r11, 1;")
    put(f"setp.eq.u32 %p6, %r11, {STAGES};")
    put("selp.b32 %r11, 0, %r11, %p6;")
    put("selp.b32 %r22, 1, 0, %p6;")
    put("xor.b32 %r12, %r12, %r22;")
    put("bra P_K;")
    put("P_NEXT:")
    put("mov.u32 %r23, %nctaid.x;")
    put("add.u32 %r10, %r10, %r23;")
    put("bra P_TILE;")
    # Consumers.
    put("CONSUMER:")
    put("setmaxnreg.inc.sync.aligned.u32 232;", 40)
    put("sub.u32 %r30, %r1, 1;")  # which consumer
    put("shl.b32 %r31, %r30, 13;")  # byte offset of its rows of A
    put("mov.u32 %r10, %ctaid.x;")
    put("mov.u32 %r11, 0;")
    put("mov.u32 %r12, 0;")
    put("and.b32 %r32, %r0, 127;")
    put(f"mul.lo.u32 %r33, %r30, {64 * BN * 2};")
    put(f"add.u32 %r33, %r33, {OUT};")
    put("add.u32 %r33, %r33, %r4;")  # its output buffer
    put("add.u32 %r34, %r30, 1;")  # its named barrier
    # Address of this lane's row in stmatrix: row = lane % 16, 16-byte column = lane / 16.
    put("and.b32 %r35, %r3, 15;")
    put("shl.b32 %r36, %r2, 4;")
    put("add.u32 %r35, %r35, %r36;")
    put("shl.b32 %r37, %r35, 7;")
    put("add.u32 %r37, %r37, %r33;")
    put("and.b32 %r38, %r35, 7;")
    put("shr.u32 %r39, %r3, 4;")
    put("C_TILE:")
    put("setp.ge.u32 %p4, %r10, %r9;", 42)
    put("@%p4 bra C_END;")
    put("mov.u32 %r15, 0;")
    put("mov.u32 %r40, 0;")  # slot to release, as an address; 0: none
    put("C_K:")
    put("setp.ge.u32 %p5, %r15, %r6;", 44)
    put("@%p5 bra C_DRAIN;")
    put("shl.b32 %r16, %r11, 3;")
    put("add.u32 %r17, %r5, %r16;")
    wait("%r17", "%r12", "C_WAIT", 45, "full-wait")
    put(f"mul.lo.u32 %r19, %r11, {STAGE};", 46)
    put("add.u32 %r19, %r19, %r4;")
    put("add.u32 %r20, %r19, %r31;")
    put(f"add.u32 %r21, %r19, {STAGE_A};")
    for reg, out in (("%r20", "%rd10"), ("%r21", "%rd11")):
        put(f"cvt.u64.u32 %rd9, {reg};")
        put("shr.u64 %rd9, %rd9, 4;")
        # 128-byte swizzle (1 in bits 62..63), stride 1024 bytes, leading offset unused.
        put(f"or.b64 {out}, %rd9, {(1 << 62) | ((1024 >> 4) << 32) | (1 << 16)};")
    put("wgmma.fence.sync.aligned;", 47, "wgmma-fence")
    regs = ", ".join(f"%f{i}" for i in range(ACC))
    for k in range(4):
        if k:
            put("add.s64 %rd10, %rd10, 2;")
            put("add.s64 %rd11, %rd11, 2;")
            put("mov.pred %p7, 1;")
        else:
            put("setp.ne.u32 %p7, %r15, 0;")
        put(
            f"wgmma.mma_async.sync.aligned.m64n{BN}k16.f32.bf16.bf16 {{{regs}}}, %rd10, %rd11, %p7, 1, 1, 0, 0;",
            48,
        )
    put("wgmma.commit_group.sync.aligned;", 49)
    put("wgmma.wait_group.sync.aligned 1;", 50, "lag-wait")
    # The slot of the step before is free now.
    put("setp.eq.u32 %p8, %r40, 0;", 51)
    put("setp.ne.or.u32 %p8, %r32, 0, %p8;")
    put("@!%p8 mbarrier.arrive.shared::cta.b64 _, [%r40];", 51, "release")
    put(f"add.u32 %r40, %r17, {8 * STAGES};")
    put("add.u32 %r15, %r15, 1;")
    put("add.u32 %r11, %r11, 1;")
    put(f"setp.eq.u32 %p6, %r11, {STAGES};")
    put("selp.b32 %r11, 0, %r11, %p6;")
    put("selp.b32 %r22, 1, 0, %p6;")
    put("xor.b32 %r12, %r12, %r22;")
    put("bra C_K;")
    put("C_DRAIN:")
    put("wgmma.wait_group.sync.aligned 0;", 53, "final-wait")
    put("setp.ne.u32 %p8, %r32, 0;")
    put("@!%p8 mbarrier.arrive.shared::cta.b64 _, [%r40];", 54, "final-release")
    # Epilogue.
    put("setp.ne.u32 %p9, %r32, 0;")
    put("@%p9 bra C_FREE;")
    put("cp.async.bulk.wait_group.read 0;", 56, "store-wait")
    put("C_FREE:")
    put("bar.sync %r34, 128;", 57)
    for i in range(ACC // 2):
        put(f"cvt.rn.bf16x2.f32 %c{i}, %f{2 * i + 1}, %f{2 * i};", 58)
    for g in range(BN // 16):
        half, column = g // 4, 2 * (g % 4)
        put(f"add.u32 %r41, %r39, {column};", 59)
        put("xor.b32 %r41, %r41, %r38;")
        put("shl.b32 %r41, %r41, 4;")
        put("add.u32 %r41, %r41, %r37;")
        first = 4 * g
        quad = ", ".join(f"%c{first + i}" for i in range(4))
        put(
            f"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r41+{half * 8192}], {{{quad}}};",
            60,
        )
    put("fence.proxy.async.shared::cta;", 61, "proxy-fence")
    put("bar.sync %r34, 128;", 62, "store-barrier")
    put("@%p9 bra C_STORED;")
    put("rem.u32 %r13, %r10, %r7;")
    put("div.u32 %r14, %r10, %r7;")
    put("shl.b32 %r13, %r13, 7;")
    put("shl.b32 %r42, %r30, 6;")
    put("add.u32 %r13, %r13, %r42;")
    put(f"mul.lo.u32 %r14, %r14, {BN};")
    store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
    for half in range(BN // 64):
        put(f"add.u32 %r43, %r14, {64 * half};")
        put(f"add.u32 %r44, %r33, {8192 * half};")
        put(f"{store} [%rd2, {{%r43, %r13}}], [%r44];", 63, "store")
    put("cp.async.bulk.commit_group;", 64)
    put("C_STORED:")
    put("mov.u32 %r23, %nctaid.x;")
    put("add.u32 %r10, %r10, %r23;")
    put("bra C_TILE;")
    put("C_END:")
    put("setp.ne.u32 %p9, %r32, 0;")
    put("@%p9 bra END;")
    put("cp.async.bulk.wait_group 0;", 66)
    put("END:")
    put("ret;", 67)
    lines.append("}")
    lines.append('.file 1 "gemm.py"')
    text = "\n".join(lines) + "\n"
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(text)


if __name__ == "__main__":
    main()
