// girih-compile takes a kernel of the tile phase; --emit=tile shows it as it was read, --emit=wg with its roles.
// RUN: girih-compile %s --emit=tile | FileCheck %s --check-prefix=TILE
// RUN: girih-compile %s --emit=wg | FileCheck %s --check-prefix=WG
// RUN: girih-opt %s --girih-tile-to-wg | FileCheck %s --check-prefix=WG
// RUN: girih-opt %s --girih-tile-to-wg=simplify=false | FileCheck %s --check-prefixes=WG,PLAIN
// RUN: girih-opt %s --girih-tile-to-wg --girih-wg-to-nvvm | FileCheck %s --check-prefix=NVVM

// TILE-NOT: wg.specialize
// WG: wg.specialize
// WG: wg.role @main warpgroups(1)
// PLAIN: arith.addi
// NVVM: llvm.func @nothing
gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  gpu.func @nothing(%n: i32) kernel {
    %m = arith.addi %n, %n : i32
    gpu.return
  }
}
