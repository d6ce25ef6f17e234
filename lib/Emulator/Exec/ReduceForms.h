// From the modifiers of a reduction to its function, for the families that reduce: atom, red,
// red.async and cp.reduce.async.bulk.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_REDUCEFORMS_H
#define GIRIH_EMULATOR_EXEC_REDUCEFORMS_H

#include "Emulator/Program/Decoder.h"
#include "girih/Emulator/Reduction.h"

namespace girih::emu {

/// The element type that a PTX type is reduced as; packed types are two elements.
inline ReduceType reduceType(ptx::Type type) {
  using ptx::Type;
  switch (type) {
  case Type::S32:
    return ReduceType::S32;
  case Type::U64:
  case Type::B64:
    return ReduceType::U64;
  case Type::S64:
    return ReduceType::S64;
  case Type::F16:
  case Type::F16x2:
    return ReduceType::F16;
  case Type::BF16:
  case Type::BF16x2:
    return ReduceType::BF16;
  case Type::F32:
    return ReduceType::F32;
  case Type::F64:
    return ReduceType::F64;
  default:
    return ReduceType::U32;
  }
}
/// A reduction in one number, for Instr::target. The form's table has vouched for the pair.
inline uint32_t reduceIndex(const Decoder &d) {
  int op = d.which({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  return static_cast<uint32_t>(op) * kReduceTypes + static_cast<uint32_t>(reduceType(d.type()));
}
inline ReduceFn reduceFn(uint32_t index, bool global) {
  return reduction(static_cast<ReduceOp>(index / kReduceTypes),
                   static_cast<ReduceType>(index % kReduceTypes), global);
}
/// Bytes of one element.
inline uint32_t reduceElement(uint32_t index) {
  return reduceBytes(static_cast<ReduceType>(index % kReduceTypes));
}

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_REDUCEFORMS_H
