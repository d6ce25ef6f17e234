// RUN: rm -rf %t && girih-compile %s -o %t
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/fill.ptx
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t/manifest.json
// RUN: /usr/lib/llvm-22/bin/llvm-readelf --sections %t/fill.cubin | FileCheck %s --check-prefix=SECTIONS
// RUN: /usr/lib/llvm-22/bin/llvm-objcopy --dump-section .girih.manifest=%t/copy.json %t/fill.cubin
// RUN: cmp %t/copy.json %t/manifest.json
// RUN: /usr/lib/llvm-22/bin/llvm-objcopy --dump-section .girih.ptx=%t/copy.ptx %t/fill.cubin
// RUN: cmp %t/copy.ptx %t/fill.ptx
// RUN: girih-compile %s --emit=report | FileCheck %s --check-prefix=REPORT
// RUN: girih-compile %s --emit=sass | FileCheck %s --check-prefix=SASS
// REQUIRES: ptxas

// A kernel in the nvvm phase with its host plan becomes a package: the cubin with PTX, locations and manifest, the PTX
// and the manifest beside it. Every kind of plan step that needs no tensor map is here.

// PTX: .visible .entry fill(
// SECTIONS: .girih.ptx {{ *}}PROGBITS
// SECTIONS: .girih.loc {{ *}}PROGBITS
// SECTIONS: .girih.manifest {{ *}}PROGBITS

// MANIFEST: "arch":"sm_90a"
// MANIFEST-SAME: "kernels":[{"block":[128,1,1],"cluster":[2,1,1],"dynamic_shared_bytes":4096,"name":"fill","parameters":[{"kind":"pointer"},{"dtype":"i32","kind":"scalar"},{"dtype":"f32","kind":"scalar"},{"kind":"pointer"}],"registers":
// MANIFEST-SAME: "spill_bytes":0,"stack_bytes":0}]
// MANIFEST-SAME: "name":"fill"
// MANIFEST-SAME: "parameters":[{"access":"in","aligned":true,"contiguous":1,"dtype":"bf16","kind":"array","name":"a","rank":2},{"dtype":"u32","kind":"scalar","name":"n"},{"dtype":"f32","kind":"scalar","name":"x"},{"access":"out","aligned":false,"contiguous":-1,"dtype":"u8","kind":"array","name":"bytes","rank":3}]
// MANIFEST-SAME: "plan":[
// MANIFEST-SAME: {"array":0,"dim":0,"op":"dim"},
// MANIFEST-SAME: {"array":0,"dim":0,"op":"stride"},
// MANIFEST-SAME: {"op":"query","what":"multiprocessor_count"},
// MANIFEST-SAME: {"op":"constant","value":1},
// MANIFEST-SAME: {"op":"constant","value":-2},
// MANIFEST-SAME: {"op":"scalar","parameter":1},
// MANIFEST-SAME: {"args":[5,0],"op":"le"},
// MANIFEST-SAME: {"args":[5,0],"cond":6,"message":"n is {0}, a has {1} rows","op":"require"},
// MANIFEST-SAME: {"args":[0,1],"op":"add"},
// MANIFEST-SAME: {"args":[8,4],"op":"mul"},
// MANIFEST-SAME: {"args":[9,2],"op":"ceildiv"},
// MANIFEST-SAME: {"args":[10,3],"op":"max"},
// MANIFEST-SAME: {"args":[6,11,3],"op":"select"},
// MANIFEST-SAME: {"bytes":12,"op":"workspace","zero":true},
// MANIFEST-SAME: {"op":"scalar","parameter":2},
// MANIFEST-SAME: {"array":3,"op":"address"},
// MANIFEST-SAME: {"args":[13,5,14,15],"grid":[12,3,3],"kernel":0,"op":"launch"},
// MANIFEST-SAME: {"limit":100,"op":"records"},
// MANIFEST-SAME: {"dtype":"u32","label":"x","op":"print","records":17,"shape":[4,8],"site":0},
// MANIFEST-SAME: {"message":"n is odd","op":"assert","records":17,"site":1,"where":{{\[\["helper",3,4\],\["fill",12,8\]\]\}\]}}
// MANIFEST-SAME: "schema":1

// REPORT: kernel fill
// REPORT: registers a thread at launch {{ *[0-9]+$}}
// REPORT: spilled bytes {{ *}}0
// REPORT: dynamic shared bytes {{ *}}4096
// REPORT: ptxas messages {{ *}}0
// REPORT: total

// SASS: .text.fill:
// SASS: EXIT

gpu.module @device [#nvvm.target<chip = "sm_90a", features = "+ptx80", O = 3>] {
  llvm.func @fill(%p: !llvm.ptr<1>, %n: i32, %x: f32, %bytes: !llvm.ptr<1>) attributes {
      nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>,
      wg.shared_bytes = 4096 : i64} {
    %at = llvm.getelementptr %p[%n] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %x, %at : f32, !llvm.ptr<1>
    llvm.return
  }
}

plan.host @fill(%a: !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>, %n: ui32, %x: f32,
                %bytes: !plan.array<ui8, rank = 3, out>) attributes {arg_names = ["a", "n", "x", "bytes"]} {
  %m = plan.dim %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
  %lda = plan.stride %a[0] : !plan.array<bf16, rank = 2, contiguous = 1, aligned, in>
  %sms = plan.query multiprocessor_count
  %c1 = arith.constant 1 : i64
  %cm2 = arith.constant -2 : i64
  %wide = plan.value %n : ui32
  %ok = arith.cmpi sle, %wide, %m : i64
  plan.require %ok, "n is {0}, a has {1} rows"(%wide, %m)
  %sum = arith.addi %m, %lda : i64
  %product = arith.muli %sum, %cm2 : i64
  %quotient = arith.ceildivsi %product, %sms : i64
  %most = arith.maxsi %quotient, %c1 : i64
  %grid = arith.select %ok, %most, %c1 : i64
  %memory = plan.workspace %grid {zero} : !plan.workspace
  plan.launch @device::@fill grid(%grid, %c1, %c1) args(%memory, %n, %x, %bytes)
      : !plan.workspace, ui32, f32, !plan.array<ui8, rank = 3, out>
  %notes = plan.records 100 : !plan.workspace
  plan.print %notes[0], "x", [4, 8] : ui32
  plan.assert %notes[1], "n is odd" loc(callsite("helper"("f.py":3:4) at "fill"("f.py":12:8)))
}
