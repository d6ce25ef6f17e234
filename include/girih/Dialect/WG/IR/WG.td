// Umbrella of the wg dialect: what mlir-tblgen reads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_DIALECT_WG_IR_WG_TD
#define GIRIH_DIALECT_WG_IR_WG_TD

include "girih/Dialect/WG/IR/WGRoleOps.td"
include "girih/Dialect/WG/IR/WGBufferOps.td"
include "girih/Dialect/WG/IR/WGRingOps.td"
include "girih/Dialect/WG/IR/WGCopyOps.td"
include "girih/Dialect/WG/IR/WGMmaOps.td"
include "girih/Dialect/WG/IR/WGMmaSyncOps.td"
include "girih/Dialect/WG/IR/WGTeamOps.td"
include "girih/Dialect/WG/IR/WGBarrierOps.td"

#endif // GIRIH_DIALECT_WG_IR_WG_TD
