// Every message of the plan dialect, one case each.
// RUN: girih-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected 'in', 'out' or 'inout', found 'read'}}
plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, read>) attributes {arg_names = ["a"]} {
}

// -----

// expected-error @+1 {{expected an integer or float element type, found 'tensor<4xf32>'}}
plan.host @f(%a: !plan.array<tensor<4xf32>, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
}

// -----

// expected-error @+1 {{expected a rank of 0 or more, found -1}}
plan.host @f(%a: !plan.array<bf16, rank = -1, in>) attributes {arg_names = ["a"]} {
}

// -----

// expected-error @+1 {{expected a dimension, found -1: leave 'contiguous' out for an array of any strides}}
plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = -1, in>) attributes {arg_names = ["a"]} {
}

// -----

// expected-error @+1 {{expected the contiguous dimension to be less than the rank, which is 0, found 0}}
plan.host @f(%a: !plan.array<bf16, rank = 0, contiguous = 0, in>) attributes {arg_names = ["a"]} {
}

// -----

// expected-error @+1 {{expected the contiguous dimension to be less than the rank, which is 2, found 2}}
plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 2, in>) attributes {arg_names = ["a"]} {
}

// -----

// expected-error @+1 {{'plan.host' op has 1 arguments and 2 names: 'arg_names' gives one name for each argument}}
plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a", "b"]} {
}

// -----

// expected-error @+1 {{'plan.host' op has two arguments named 'a': names must differ, since messages and the manifest use them}}
plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>, %b: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a", "a"]} {
}

// -----

// expected-error @+1 {{'plan.host' op argument "a" is of type 'memref<4xf32>': a caller passes arrays, integers and floats}}
plan.host @f(%a: memref<4xf32>) attributes {arg_names = ["a"]} {
}

// -----

plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
  // expected-error @+1 {{'gpu.barrier' op cannot stand in a host plan: a plan holds ops of 'arith' and 'plan', which the runtime can interpret}}
  gpu.barrier
}

// -----

plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
  // expected-error @+1 {{'plan.dim' op asks for dimension 2 of an array of rank 2: expected 0 to 1}}
  %m = plan.dim %a[2] : !plan.array<bf16, rank = 2, contiguous = 1, in>
}

// -----

plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
  // expected-error @+1 {{'plan.stride' op asks for dimension -1 of an array of rank 2: expected 0 to 1}}
  %m = plan.stride %a[-1] : !plan.array<bf16, rank = 2, contiguous = 1, in>
}

// -----

plan.host @f(%k: i64) attributes {arg_names = ["k"]} {
  %true = arith.constant true
  // expected-error @+1 {{'plan.require' op message has a stray '{' at column 6: expected '{0}', '{1}', ... for a value, or the brace twice for a brace}}
  plan.require %true, "k is {k}"(%k)
}

// -----

plan.host @f(%k: i64) attributes {arg_names = ["k"]} {
  %true = arith.constant true
  // expected-error @+1 {{'plan.require' op message has a stray '}' at column 7: expected '{0}', '{1}', ... for a value, or the brace twice for a brace}}
  plan.require %true, "k is 0}"(%k)
}

// -----

plan.host @f(%k: i64) attributes {arg_names = ["k"]} {
  %true = arith.constant true
  // expected-error @+1 {{'plan.require' op message mentions {1} but there are 1 values}}
  plan.require %true, "k is {0} and {1}"(%k)
}

// -----

plan.host @f(%k: i64) attributes {arg_names = ["k"]} {
  %true = arith.constant true
  // expected-error @+1 {{'plan.require' op value 0 is not mentioned in the message: write {0} where it belongs, or leave it out}}
  plan.require %true, "k is wrong"(%k)
}

// -----

plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
  // expected-error @+1 {{'plan.tensor_map' op makes a map of 'f16' over an array of 'bf16': element types must agree}}
  %v = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<f16, box = [64, 64], swizzle = 128>
}

// -----

plan.host @f(%a: !plan.array<bf16, rank = 6, contiguous = 1, in>) attributes {arg_names = ["a"]} {
  // expected-error @+1 {{'plan.tensor_map' op makes a map over an array of rank 6: expected a rank from 1 to 5}}
  %v = plan.tensor_map %a : !plan.array<bf16, rank = 6, contiguous = 1, in> -> !wg.view<bf16, box = [64, 64], swizzle = 128>
}

// -----

plan.host @f(%a: !plan.array<bf16, rank = 2, aligned, in>) attributes {arg_names = ["a"]} {
  // expected-error @+1 {{'plan.tensor_map' op makes a map over an array without a contiguous dimension: TMA needs one, pass the array's address instead}}
  %v = plan.tensor_map %a : !plan.array<bf16, rank = 2, aligned, in> -> !wg.view<bf16, box = [64, 64], swizzle = 128>
}

// -----

plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
  // expected-error @+1 {{'plan.tensor_map' op makes a map with a box of rank 3 over an array of rank 2: ranks must agree}}
  %v = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<bf16, box = [1, 64, 64], swizzle = 128>
}

// -----

plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
  // expected-error @+1 {{'plan.tensor_map' op makes a map whose fastest dimension is 0 over an array whose contiguous dimension is 1: choose the map's order so that they agree}}
  %v = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in> -> !wg.view<bf16, box = [64, 64], order = [0, 1], swizzle = 128>
}

// -----

plan.host @f(%a: !plan.array<bf16, rank = 2, contiguous = 1, in>) attributes {arg_names = ["a"]} {
  // expected-error @+1 {{'plan.tensor_map' op result #0 must be a tensor map type, but got 'i64'}}
  %v = plan.tensor_map %a : !plan.array<bf16, rank = 2, contiguous = 1, in> -> i64
}

// -----

gpu.module @device {
  gpu.func @k(%n: i32) kernel {
    gpu.return
  }
}
plan.host @f(%n: i64) attributes {arg_names = ["n"]} {
  // expected-error @+1 {{'plan.launch' op launches @device::@other, which is not a gpu.func in this module}}
  plan.launch @device::@other grid(%n, %n, %n) args(%n) : i64
}

// -----

gpu.module @device {
  gpu.func @k(%n: i32) {
    gpu.return
  }
}
plan.host @f(%n: i64) attributes {arg_names = ["n"]} {
  // expected-error @+1 {{'plan.launch' op launches @device::@k, which lacks the attribute 'kernel' of a gpu.func that can be launched}}
  plan.launch @device::@k grid(%n, %n, %n) args(%n) : i64
}

// -----

gpu.module @device {
  gpu.func @k(%n: i32) kernel {
    gpu.return
  }
}
plan.host @f(%n: i64) attributes {arg_names = ["n"]} {
  // expected-error @+1 {{'plan.launch' op passes 0 arguments to @device::@k, which takes 1}}
  plan.launch @device::@k grid(%n, %n, %n)
}

// -----

gpu.module @device {
  gpu.func @k(%n: i32) kernel {
    gpu.return
  }
}
plan.host @f(%n: i64) attributes {arg_names = ["n"]} {
  // expected-error @+1 {{'plan.launch' op argument 0 is of type 'i64', and @device::@k takes 'i32': a tensor map or a scalar goes to a parameter of its own type, an array or a workspace to an !llvm.ptr<1>}}
  plan.launch @device::@k grid(%n, %n, %n) args(%n) : i64
}

// -----

gpu.module @device {
  gpu.func @k(%memory: !llvm.ptr) kernel {
    gpu.return
  }
}
plan.host @f(%a: !plan.array<bf16, rank = 0, in>, %n: i64) attributes {arg_names = ["a", "n"]} {
  // expected-error @+1 {{'plan.launch' op argument 0 is of type '!plan.array<bf16, rank = 0, in>', and @device::@k takes '!llvm.ptr'}}
  plan.launch @device::@k grid(%n, %n, %n) args(%a) : !plan.array<bf16, rank = 0, in>
}

// -----

gpu.module @device {
  gpu.func @k(%n: i64) kernel {
    gpu.return
  }
}
plan.host @f(%a: !plan.array<bf16, rank = 2, in>, %n: i64) attributes {arg_names = ["a", "n"]} {
  // expected-error @+1 {{'plan.launch' op argument 0 is of type '!plan.array<bf16, rank = 2, in>', and @device::@k takes 'i64'}}
  plan.launch @device::@k grid(%n, %n, %n) args(%a) : !plan.array<bf16, rank = 2, in>
}

// -----

gpu.module @device {
  gpu.func @k(%n: i32) kernel {
    gpu.return
  }
}
plan.host @f(%u: ui16, %n: i64) attributes {arg_names = ["u", "n"]} {
  // expected-error @+1 {{'plan.launch' op argument 0 is of type 'ui16', and @device::@k takes 'i32'}}
  plan.launch @device::@k grid(%n, %n, %n) args(%u) : ui16
}

// -----

plan.host @f() attributes {arg_names = []} {
  // expected-error @+1 {{'plan.records' op has room for 0 records: expected 1 to 16777216}}
  %r = plan.records 0 : !plan.workspace
}

// -----

plan.host @f(%n: i64) attributes {arg_names = ["n"]} {
  %w = plan.workspace %n : !plan.workspace
  // expected-error @+1 {{'plan.print' op reads a workspace: expected the result of plan.records}}
  plan.print %w[0], "x", [] : f32
}

// -----

plan.host @f() attributes {arg_names = []} {
  %r = plan.records 10 : !plan.workspace
  // expected-error @+1 {{'plan.print' op prints numbers of 'tensor<4xf32>': expected an integer or float}}
  plan.print %r[0], "x", [] : tensor<4xf32>
}

// -----

plan.host @f() attributes {arg_names = []} {
  %r = plan.records 10 : !plan.workspace
  // expected-error @+1 {{'plan.print' op is for site 3, as another op is: sites are numbered apart}}
  plan.print %r[3], "x", [] : f32
  plan.assert %r[3], "n must be positive"
}

// -----

// expected-error @+1 {{'plan.query' op expects parent op 'plan.host'}}
%sms = plan.query multiprocessor_count
