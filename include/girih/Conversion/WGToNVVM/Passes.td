// Passes that end the wg phase.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_CONVERSION_WGTONVVM_PASSES_TD
#define GIRIH_CONVERSION_WGTONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def CollectRecords : Pass<"wg-collect-records", "::mlir::ModuleOp"> {
  let summary = "Give kernels that print or assert memory for it";
  let description = [{
    A kernel with `tile.print` or `tile.assert` gets one more parameter, the memory of a `plan.records` in the host plan,
    and each such op a site there. The conversion to nvvm writes a record where the op stands.

    ```mlir
    gpu.func @show(%n: i32) kernel {
      tile.print "n" %n : i32
      gpu.return
    }
    plan.host @show(%n: i32) attributes {arg_names = ["n"]} {
      plan.launch @device::@show grid(%c1, %c1, %c1) args(%n) : i32
    }
    // becomes
    gpu.func @show(%n: i32, %records: !llvm.ptr<1>) kernel attributes {wg.records = array<i64: 1, 4096>} {
      tile.print "n" %n {wg.site = 0 : i32} : i32
      gpu.return
    }
    plan.host @show(%n: i32) attributes {arg_names = ["n"]} {
      %records = plan.records 4096 : !plan.workspace
      plan.launch @device::@show grid(%c1, %c1, %c1) args(%n, %records) : i32, !plan.workspace
      plan.print %records[0], "n", [] : i32
    }
    ```

    Preconditions: one `plan.launch` names the kernel.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "4096", "How many records of one call are kept">,
  ];
  let dependentDialects = ["::girih::plan::PlanDialect", "::mlir::LLVM::LLVMDialect"];
}

def ConvertWGToNVVM : Pass<"convert-wg-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn wg ops, tiles and kernels into one thread's instructions";
  let description = [{
    A buffer becomes its address in shared memory (i32), a barrier too; a view a pointer to the tensor map among the
    kernel's parameters; a tile, pending or not, a struct of the 32-bit registers that one thread holds. Arithmetic on
    tiles becomes arithmetic on registers. A kernel becomes an llvm.func with `nvvm.reqntid`, `nvvm.minctasm = 1`
    (without which ptxas ignores setmaxnreg) and tensor maps by value as grid constants (without which LLVM copies them
    to local memory).

    ```mlir
    %d = wg.mma %a, %b, %acc accumulate(%w) : ...
    %t = wg.wait %d in_flight(0) : !wg.pending<tensor<128x256xf32, #acc>> -> tensor<128x256xf32, #acc>
    // becomes
    %0 = llvm.inline_asm has_side_effects "wgmma.fence...; wgmma.mma_async...; wgmma.commit_group...;", "=f,...,0,...,l,l,b"
    %1 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,...,0,..."
    ```

    A wait takes and returns every register that an instruction in flight may write or read, so nothing that uses them
    moves above it. An asm block is ordered (side effects, memory clobber) and is marked convergent after translation.

    What one thread does for a role is done by the lane that `elect.sync` names, asked once at the role's start.

    Preconditions: the other wg passes have run; offsets are set. Does not preserve any wg op or type: none is left
    inside kernels, and the pass fails where one is.
  }];
  let dependentDialects = ["::girih::wg::WGDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def LowerControlFlow : Pass<"wg-lower-control-flow", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn loops and conditions into branches";
  let description = [{
    Upstream's patterns, applied to the last op of a block first, and to outer ops before inner ones: a block is split
    behind each op, and only what stands between two of them moves. From the first op on, as `convert-scf-to-cf` goes, a
    block of n of them costs n squared, which unrolled kernels feel.

    ```mlir
    scf.if %c {
      llvm.store %x, %p : f32, !llvm.ptr<1>
    }
    // becomes
      cf.cond_br %c, ^then, ^behind
    ^then:
      llvm.store %x, %p : f32, !llvm.ptr<1>
      cf.br ^behind
    ^behind:
    ```

    Preconditions: `convert-wg-to-nvvm` has run. Leaves no op of scf.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect"];
}

def ConvertScalars : Pass<"convert-scalars-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn the arith, math, cf and gpu ops of kernels into llvm and nvvm ops";
  let description = [{
    Upstream's patterns, put together for what is left of a kernel after `convert-wg-to-nvvm` and `wg-lower-control-flow`: an
    index is 32 bits wide, functions of math become libdevice calls.

    ```mlir
    %b = gpu.block_id x
    %i = arith.index_cast %b : index to i32
    %n = arith.muli %i, %c128 : i32
    // becomes
    %b = nvvm.read.ptx.sreg.ctaid.x : i32
    %n = llvm.mul %b, %c128 : i32
    ```

    Preconditions: `convert-wg-to-nvvm` has run, and no structured control flow is left.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def VerifyNVVMPhase : Pass<"verify-nvvm-phase", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Check that a gpu.module holds llvm and nvvm ops only";
  let description = [{
    The end of the nvvm phase: the first op of another dialect is an error at its location. Changes nothing.
  }];
}

#endif // GIRIH_CONVERSION_WGTONVVM_PASSES_TD
