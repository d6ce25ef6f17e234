# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/Passes.md from the Passes.td files, or with --check says whether it is up to date.

`ninja girih_docs` runs it.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/Passes.md"
SOURCES = [
    ("From tile to wg", "include/girih/Conversion/TileToWG/Passes.td"),
    ("On the wg dialect", "include/girih/Dialect/WG/Transforms/Passes.td"),
    ("From wg to nvvm", "include/girih/Conversion/WGToNVVM/Passes.td"),
]
INTRO = """# Passes

This page is made from the `Passes.td` files by `ninja girih_docs`; change those.

`girih-tile-to-wg` takes kernels from the tile phase to the wg phase:

```
canonicalize, cse        (upstream; simplify=false leaves them out)
tile-pipeline-products   the second of two chained products runs under the next step   (pipeline-products=false leaves it out)
tile-specialize          kernels get their roles
wg-assign-layouts        tiles get their layouts, with conversions where two meet
canonicalize, cse        (upstream; as before)
verify-wg-phase          every tile has a layout, no product is left
```

Options: `simplify=false` leaves the upstream steps out, `keep-operands` is that of `tile-specialize`, `alternatives`, `convert-accesses` and
`compute-anew` are those of `wg-assign-layouts`. `girih-compile` runs the pipeline if a kernel has no roles or a tile no layout. In C++ it is `girih::buildTileToWGPipeline`.

`girih-wg-to-nvvm` takes a module from the wg phase to the nvvm phase. Its steps, each a pass that `girih-opt` runs alone:

```
wg-check-protocol        report what would race or hang, at the user's line
wg-choose-stages         rings without stages get the most that fits, at most four
wg-expand-ring-loops     fill and drain become loops with waits and releases in the open
wg-lower-rings           rings become buffers and mbarriers, cursors two i32
wg-allocate-shared       every buffer and barrier gets its offset
wg-check-barriers        report what would race or hang, of what is there now
wg-lower-roles           roles become branches on the warpgroup's index        (stop-at-wg ends here)
convert-wg-to-nvvm       buffers become addresses, tiles registers, ops PTX
wg-lower-control-flow    loops and conditions become branches, last ones first
convert-scalars-to-nvvm  arith, math, cf and gpu, by upstream's patterns
reconcile-unrealized-casts (upstream)
verify-nvvm-phase        only llvm and nvvm ops are left
```

Options: `check-protocol=false` leaves both checks out, `stop-at-wg` ends where every wg op is about one PTX
instruction. In C++ it is `girih::buildWGToNVVMPipeline` (include/girih/Pipelines/Pipelines.h). What a pass does is a free
function beside it (include/girih/Dialect/WG/Transforms/Transforms.h).

What a Hopper kernel needs and no upstream lowering gives, and where it is done:

- A wgmma and its wait are inline PTX of our own. The wait takes and returns every accumulator, and every register of A,
  that may be in flight, so LLVM cannot move their users above it. All wgmmas of one `wg.mma` are one asm block: one fence,
  one group, and for LLVM one call instead of one for each step of K.
- The first step of K has a run-time predicate, so no register is zeroed, and the loop is not peeled: the loops carry
  `llvm.loop.unroll.disable`. Peeling doubles the code and the time of ptxas.
- A descriptor's low half is the slot's address in units of 16 bytes plus a constant, an addition that ptxas does in a
  uniform register; masking and 64-bit adds cost 0.75 instructions a wgmma more.
- The warp's index is broadcast by `shfl.sync.idx` once; `elect.sync` is asked once for each role, at its start.
- An empty barrier counts one arrival for each reading warp, by its elected lane: 4 for a warpgroup. Every lane's arrival
  is ordered after the warp's reads by the letter of the memory model; one arrival for a warpgroup would need a barrier.
- Of the named barriers, 0 is the CTA's, and 8 to 15 belong to the compiler: 8 plus the warpgroup's index in the CTA.

With LLVM 22 and ptxas 13.5 the main loop of 128x256x64 has 13.0 instructions for each wgmma (11.5 with B stored N x K),
spin loop included, without a message, a stack or a spill.
"""


def generated() -> str:
    """The whole page."""
    parts = [INTRO]
    for title, source in SOURCES:
        text = subprocess.run(
            ["mlir-tblgen", "-gen-pass-doc", f"-I{ROOT / 'include'}", "-I/usr/lib/llvm-22/include"]
            + [str(ROOT / source)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        body = text.split("-->\n", 1)[-1] if text.startswith("<!--") else text
        parts.append(f"## {title}\n\n{body.strip()}\n")
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    page = generated()
    if parser.parse_args().check:
        if PAGE.read_text() == page:
            return 0
        print("docs/Passes.md differs from the Passes.td files; run ninja girih_docs")
        return 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
