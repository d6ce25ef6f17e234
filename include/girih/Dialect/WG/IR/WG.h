// The wg dialect in C++: include this one header.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WG_H
#define GIRIH_DIALECT_WG_IR_WG_H

#include "girih/Dialect/Plan/IR/Plan.h"
#include "girih/Dialect/WG/IR/WGEffects.h"
#include "girih/Layout/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace girih {
/// For the uniquing of layout attributes.
inline llvm::hash_code hash_value(const Layout &layout) { return layout.hash(); }
} // namespace girih

#include "girih/Dialect/WG/IR/WGDialect.h.inc"
#include "girih/Dialect/WG/IR/WGEnums.h.inc"
#include "girih/Dialect/WG/IR/WGOpInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "girih/Dialect/WG/IR/WGAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "girih/Dialect/WG/IR/WGTypes.h.inc"

namespace girih::wg {
/// Shared memory that a CTA may have (CUDA C++ Programming Guide, "Technical Specifications per
/// Compute Capability", 9.0: 227 KiB a thread block).
inline constexpr int64_t kMaxSharedBytes = 232448;

/// Bits that an element takes in memory: 32 for tf32, otherwise the type's width. 0 for what is no
/// number.
int64_t getStorageBits(mlir::Type elementType);

/// Whether a type is a tile: a ranked tensor whose encoding is a #wg.layout.
bool isTile(mlir::Type type);
/// The layout of a tile.
LayoutAttr getLayout(mlir::RankedTensorType tile);

/// Registers that a launch of that many threads allots to each of them: an equal share of the
/// 65,536 of a multiprocessor in steps of 8, at most 255.
int64_t getLaunchRegisters(int64_t threads);
/// CTAs of a cluster of the kernel around `op` (its known_cluster_size); 1 without clusters.
int64_t clusterCtas(mlir::Operation *op);
} // namespace girih::wg

#define GET_OP_CLASSES
#include "girih/Dialect/WG/IR/WGOps.h.inc"

#endif // GIRIH_DIALECT_WG_IR_WG_H
