// The operand [map, {coordinates}] of tensor instructions: finding the map, and what it says of a
// copy.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_EMULATOR_EXEC_TENSOROPERAND_H
#define GIRIH_EMULATOR_EXEC_TENSOROPERAND_H

#include "Emulator/Exec/AddressList.h"

namespace girih::emu {

/// Adds [map, {coordinates}] to the list, and the rank to Instr::count; false: the instruction was
/// refused.
bool listTensor(Decoder &d, const ptx::Operand &op);

/// Reads and decodes the 128 bytes of a tensor map, wherever they are; false: reported.
bool loadTensorMap(Context &c, unsigned lane, uint64_t address, TensorMap &map);

/// Does the map fit the instruction's rank and mode, and the place the map? False: reported.
bool checkTensorMode(Context &c, unsigned lane, uint32_t rank, bool im2col,
                     const int32_t *coordinates, const uint16_t *offsets, const TensorMap &map);

/// The box of a copy between the tensor and shared memory of `cta`; false: reported.
bool makeTensorBox(Context &c, unsigned lane, uint32_t rank, bool im2col,
                   const int32_t *coordinates, const uint16_t *offsets, uint32_t shared,
                   const Cta &cta, const TensorMap &map, std::unique_ptr<TmaBox> &box);

} // namespace girih::emu

#endif // GIRIH_EMULATOR_EXEC_TENSOROPERAND_H
