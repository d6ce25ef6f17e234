// Forms that the examples of the ODS descriptions (../ods-examples.test) leave out.
// RUN: girih-opt %s --mlir-print-debuginfo=false | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false --mlir-print-op-generic | girih-opt --mlir-print-debuginfo=false | FileCheck %s
// RUN: girih-opt %s --mlir-print-debuginfo=false --pass-pipeline="builtin.module(plan.host(canonicalize,cse))" | FileCheck %s --check-prefix=PASSES

gpu.module @device {
  gpu.func @k(%memory: !llvm.ptr<1>, %scale: f32) kernel {
    gpu.return
  }
}

// CHECK: plan.host @empty() attributes {arg_names = []} {
// CHECK-NEXT: }
plan.host @empty() attributes {arg_names = []} {
}

// CHECK: plan.host @f(%[[X:.*]]: !plan.array<f32, rank = 1, contiguous = 0, inout>, %[[S:.*]]: f32) attributes {arg_names = ["x", "s"]} {
plan.host @f(%x: !plan.array<f32, rank = 1, contiguous = 0, inout>, %s: f32) attributes {arg_names = ["x", "s"]} {
  // CHECK: %[[N:.*]] = plan.dim %[[X]][0] : !plan.array<f32, rank = 1, contiguous = 0, inout>
  %n = plan.dim %x[0] : !plan.array<f32, rank = 1, contiguous = 0, inout>
  %again = plan.dim %x[0] : !plan.array<f32, rank = 1, contiguous = 0, inout>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %some = arith.cmpi sgt, %n, %c0 : i64
  // CHECK: plan.require %{{.*}}, "x must not be empty {{[{][{][}][}]}}"{{$}}
  plan.require %some, "x must not be empty {{}}"
  // CHECK: %[[M:.*]] = plan.workspace %[[N]] : !plan.workspace
  %m = plan.workspace %n : !plan.workspace
  // CHECK: plan.launch @device::@k grid(%{{.*}}, %{{.*}}, %{{.*}}) args(%[[M]], %[[S]]) : !plan.workspace, f32
  plan.launch @device::@k grid(%again, %c1, %c1) args(%m, %s) : !plan.workspace, f32
}

gpu.module @memory {
  gpu.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %flags: !llvm.ptr<1>, %n: i32, %half: f16, %yes: i1) kernel {
    gpu.return
  }
}

// An array of any rank and strides goes to a pointer; an unsigned argument to the signless type of its width, and into
// expressions through plan.value.
// CHECK-LABEL: plan.host @pointers
// CHECK-SAME: (%[[X:.*]]: !plan.array<ui8, rank = 0, in>, %[[Y:.*]]: !plan.array<f32, rank = 6, contiguous = 5, aligned, out>, %[[N:.*]]: ui32, %[[H:.*]]: f16, %[[B:.*]]: i1)
plan.host @pointers(%x: !plan.array<ui8, rank = 0, in>, %y: !plan.array<f32, rank = 6, contiguous = 5, aligned, out>,
                    %n: ui32, %half: f16, %yes: i1) attributes {arg_names = ["x", "y", "n", "half", "yes"]} {
  // CHECK: %[[V:.*]] = plan.value %[[N]] : ui32
  %bytes = plan.value %n : ui32
  %flags = plan.workspace %bytes {zero} : !plan.workspace
  // CHECK: plan.launch @memory::@k grid(%[[V]], %[[V]], %[[V]]) args(%[[X]], %[[Y]], %{{.*}}, %[[N]], %[[H]], %[[B]]) : !plan.array<ui8, rank = 0, in>, !plan.array<f32, rank = 6, contiguous = 5, aligned, out>, !plan.workspace, ui32, f16, i1
  plan.launch @memory::@k grid(%bytes, %bytes, %bytes) args(%x, %y, %flags, %n, %half, %yes) : !plan.array<ui8, rank = 0, in>, !plan.array<f32, rank = 6, contiguous = 5, aligned, out>, !plan.workspace, ui32, f16, i1
}

// A tensor map's type has no sign either.
// CHECK-LABEL: plan.host @unsigned_map
plan.host @unsigned_map(%x: !plan.array<ui8, rank = 2, contiguous = 1, aligned, in>) attributes {arg_names = ["x"]} {
  // CHECK: plan.tensor_map %{{.*}} : !plan.array<ui8, rank = 2, contiguous = 1, aligned, in> -> !wg.view<i8, box = [64, 64], swizzle = 64>
  %v = plan.tensor_map %x : !plan.array<ui8, rank = 2, contiguous = 1, aligned, in> -> !wg.view<i8, box = [64, 64], swizzle = 64>
}

// CHECK-LABEL: plan.host @eight_bits
plan.host @eight_bits(%x: !plan.array<f8E4M3FN, rank = 2, contiguous = 1, aligned, in>) attributes {arg_names = ["x"]} {
  // CHECK: plan.tensor_map %{{.*}} -> !wg.view<f8E4M3FN, box = [64, 128], swizzle = 128>
  %v = plan.tensor_map %x : !plan.array<f8E4M3FN, rank = 2, contiguous = 1, aligned, in> -> !wg.view<f8E4M3FN, box = [64, 128], swizzle = 128>
}

// Questions are asked once, unused ones not at all; what acts stays as often as it is written.
// PASSES-LABEL: plan.host @actions
plan.host @actions(%x: !plan.array<f32, rank = 1, contiguous = 0, inout>, %s: f32) attributes {arg_names = ["x", "s"]} {
  // PASSES-NEXT: %[[ONE:.*]] = arith.constant 1
  // PASSES-NEXT: %[[N:.*]] = plan.dim
  // PASSES-NEXT: %[[M:.*]] = plan.workspace %[[N]]
  // PASSES-NEXT: plan.workspace %[[N]]
  // PASSES-NEXT: plan.launch @device::@k grid(%[[N]], %[[N]], %[[ONE]]) args(%[[M]]
  // PASSES-NEXT: plan.launch @device::@k grid(%[[N]], %[[N]], %[[ONE]]) args(%[[M]]
  // PASSES-NEXT: }
  %sms = plan.query multiprocessor_count
  %c1 = arith.constant 1 : i64
  %n = plan.dim %x[0] : !plan.array<f32, rank = 1, contiguous = 0, inout>
  %again = plan.dim %x[0] : !plan.array<f32, rank = 1, contiguous = 0, inout>
  %m = plan.workspace %n : !plan.workspace
  %other = plan.workspace %n : !plan.workspace
  plan.launch @device::@k grid(%n, %again, %c1) args(%m, %s) : !plan.workspace, f32
  plan.launch @device::@k grid(%n, %again, %c1) args(%m, %s) : !plan.workspace, f32
}
