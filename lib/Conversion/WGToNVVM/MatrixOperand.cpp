// Descriptors of wgmma operands; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/WGToNVVM/MatrixOperand.h"

namespace girih::wg {

std::optional<MatrixOperand> matrixOperand(BufferType buffer, int64_t kDim) {
  int64_t span = buffer.getSwizzle();
  if (!span)
    return std::nullopt;

  // 9.7.15.5.1.2.2, "Matrix-descriptor layout type": 1 is 128, 2 is 64, 3 is 32 bytes.
  uint32_t mode = span == 128 ? 1 : span == 64 ? 2 : 3;
  // Both majornesses repeat the pattern of 8 lines along the strided direction, which is the stride
  // byte offset.
  constexpr int64_t unit = 16;
  MatrixOperand operand;
  operand.high = (mode << 30) | static_cast<uint32_t>(8 * span / unit);
  int64_t panel = buffer.getPanelBytes() / unit;

  if (buffer.getFastestDim() == kDim) {
    // K-major: lines are rows of M or N. The leading offset is not used in swizzled modes; 1 by
    // convention.
    operand.low = 1u << 16;
    operand.kStep = kWgmmaKBytes / unit;
    operand.kStepsPerPanel = span / kWgmmaKBytes;
    operand.kPanel = panel;
    operand.rowStep = 8 * span / unit;
    operand.rowsPerStep = 8;
    return operand;
  }

  // M- or N-major: lines are steps of K, panels follow each other along M or N at the leading
  // offset.
  int64_t elementBytes = buffer.getElementBits() / 8;
  operand.transposed = true;
  operand.low = static_cast<uint32_t>(panel) << 16;
  operand.kStep = kWgmmaKBytes / elementBytes * span / unit;
  operand.kStepsPerPanel = buffer.getOuterExtent() * elementBytes / kWgmmaKBytes;
  operand.kPanel = 0;
  operand.rowStep = panel;
  operand.rowsPerStep = span / elementBytes;
  return operand;
}

} // namespace girih::wg
