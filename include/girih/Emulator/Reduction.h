// What atomics, reductions and bulk reductions do to one element of memory, as functions of bytes.
// One definition serves atom, red, red.async and cp.reduce.async.bulk, which differ only in when
// and where they do it.
//
// Sources: PTX ISA 9.0, 9.7.13.5 "atom", 9.7.13.6 "red", 9.7.9.25.4.2 "cp.reduce.async.bulk" (the
// operations, the wrap of inc and dec, and that add.f32 on global memory flushes subnormal inputs
// and results to zero of their sign). What min and max of f16 and bf16 do with a NaN is not said
// there; they follow the instructions min and max (9.7.4): the other operand wins.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GIRIH_EMULATOR_REDUCTION_H
#define GIRIH_EMULATOR_REDUCTION_H

#include <cstddef>
#include <cstdint>

namespace girih::emu {

enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };
inline constexpr int kReduceOps = 8;

/// Types of elements. The bitwise operations take the unsigned ones.
enum class ReduceType : uint8_t { U32, S32, U64, S64, F16, BF16, F32, F64 };
inline constexpr int kReduceTypes = 8;

/// memory[i] = op(memory[i], operand[i]) for `count` elements; the two do not overlap. Neither has
/// to be aligned.
using ReduceFn = void (*)(uint8_t *memory, const uint8_t *operand, size_t count);

/// Null where PTX has no such operation on such a type. `flush`: of f32 additions, subnormal inputs
/// and results become zero, as on global memory.
ReduceFn reduction(ReduceOp op, ReduceType type, bool flush = false);

constexpr uint32_t reduceBytes(ReduceType type) {
  return type == ReduceType::F16 || type == ReduceType::BF16                             ? 2
         : type == ReduceType::U64 || type == ReduceType::S64 || type == ReduceType::F64 ? 8
                                                                                         : 4;
}

} // namespace girih::emu

#endif // GIRIH_EMULATOR_REDUCTION_H
