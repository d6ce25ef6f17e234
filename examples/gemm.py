"""A Hopper GEMM at wg level: C[M,N] = A[M,K] · B[K,N], compiled, run and checked against float64."""

import argparse
import json
import time

import numpy as np

import girih as gr
from girih import wg


@gr.kernel
def matmul(
    a: gr.In["M,K"], b: gr.In["K,N"], c: gr.Out["M,N"], *,
    BM: gr.const = 128, BN: gr.const = 256, BK: gr.const = 64, persistent: gr.const = True,
) -> None:  # fmt: skip
    A, B, C = a.tiles(BM, BK), b.tiles(BK, BN), c.tiles(BM, BN)
    work = gr.tiles(C, ctas=gr.sms() if persistent else None, order=gr.grouped(8))
    ring = wg.ring(a=wg.smem(A), b=wg.smem(B))  # as many slots as fit, at most four
    columns = 128 // c.dtype.bytes  # the epilogue sends 128 bytes of a row at a time
    out = wg.outbox(2, wg.smem((64, columns), c.dtype))  # two slots for each warpgroup
    consumers = BM // 64

    @wg.role(warps=1, registers=40 if consumers == 2 else 32)
    def load() -> None:
        for m, n in work:
            for k, s in ring.fill(A.count[1]):  # waits for an empty slot
                wg.tma(A[m, k], s.a)
                wg.tma(B[k, n], s.b)

    @wg.role(warpgroups=consumers, registers=232 if consumers == 2 else 160)
    def multiply() -> None:
        for m, n in work:
            acc = wg.acc(C, split="m")  # the first mma overwrites it
            for k, s in ring.drain(A.count[1], lag=1):  # one step's wgmmas stay in flight
                acc = wg.mma(s.a, s.b, acc)
            for t in acc.chunks(64, columns):
                with out.slot() as o:  # waits until its last store has been read
                    o.write(t.to(c.dtype))
                    wg.tma_store(o, C[m, n].at(t))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--shape", type=int, nargs=3, default=(384, 520, 1000), metavar=("M", "N", "K")
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object as the last line"
    )
    options = parser.parse_args()
    m, n, k = options.shape
    random = np.random.default_rng(0)
    a, b = (gr.asarray(random.standard_normal(x), gr.bf16) for x in ((m, k), (k, n)))
    c = gr.empty((m, n), gr.bf16)
    program = matmul.compile(a, b, c)
    start = time.perf_counter()
    matmul(a, b, c)
    run_ms = (time.perf_counter() - start) * 1e3
    a64, b64 = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
    reference, scale = a64 @ b64, np.abs(a64) @ np.abs(b64)
    error = np.abs(c.numpy() - reference)
    ok = bool((error <= (k + 1) * 2.0**-24 * scale + 2.0**-8 * np.abs(reference)).all())
    worst, used, times = (error / scale).max(), program.resources, program.timings_ms
    print(
        f"C[{m},{n}] = A[{m},{k}] · B[{k},{n}] in bf16, tiles of 128x256x64, on {gr.device.name()}"
    )
    print(
        "{registers} registers, {spill_bytes} bytes spilled, {shared_bytes} shared".format(**used)
    )
    print(f"largest error / (|A|·|B|): {worst:.1e} ({'ok' if ok else 'WRONG'})")
    print(*(f"{step} {ms:.0f} ms," for step, ms in times.items()), f"run {run_ms:.0f} ms")
    if options.json:
        backend = "emulated" if gr.device.is_emulated() else "cuda"
        result = {"kernel": matmul.__name__, "m": m, "n": n, "k": k, "backend": backend, "ok": ok}
        result |= {"max_rel_err": worst, "tolerance": (k + 1) * 2.0**-24 + 2.0**-8}
        result |= {"compile_ms": times["total"], "run_ms": run_ms}
        print(json.dumps(result | used))
    raise SystemExit(not ok)
