// What constrains the layouts of a kernel: ties, whose values share one layout, and links between
// ties of different shapes. Everything that wg-assign-layouts knows about ops is here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_TILETOWG_LAYOUTPROBLEM_H
#define GIRIH_LIB_CONVERSION_TILETOWG_LAYOUTPROBLEM_H

#include "girih/Dialect/Tile/IR/Tile.h"
#include "girih/Dialect/WG/IR/WG.h"
#include "girih/Layout/Shape.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

namespace girih::wg {

/// Values and operands that have one layout, because an op works on all of them element by element
/// or hands them on. A value is laid out by exactly one tie. An operand may be given what it needs
/// by a conversion.
struct Tie {
  mlir::Operation *op;
  llvm::SmallVector<mlir::Value, 2> values;
  llvm::SmallVector<mlir::OpOperand *, 4> operands;
  /// The operands may be in any layout: a wg.convert_layout.
  bool takesAny = false;
  /// Decided before the pass: a type had it.
  bool isFixed = false;
  /// What it lays out is made of constants and coordinates alone: cheaper to compute anew, in
  /// whatever layout a use wants, than to convert.
  bool isCheap = false;
  LayoutAttr layout;

  /// The tile's type, of the first value or operand.
  mlir::RankedTensorType type() const;
};

/// Two ties of one op that changes the shape of a tile.
struct Link {
  mlir::Operation *op;
  unsigned from, to;
};

/// Extents as the layout library takes them.
Extents tileExtents(mlir::RankedTensorType type);

/// Why an op cannot work on a tile in a layout, if it cannot: reductions and scans must tell what
/// lies along their dimension from what does not.
std::optional<std::string> unsuitable(mlir::Operation *op, const Layout &layout,
                                      mlir::RankedTensorType tile);

/// A tile that any thread can make in any layout: a constant, a splat, an iota.
bool isFreeTile(mlir::Operation *op);

/// Whether there are several layouts of `to` for one of `from`, of which forward() gives a wasteful
/// one: of a broadcast.
bool isWastefulForward(const Link &link);
/// Whether backward() has no answer: of a reduction, and of the places of a take or put.
bool isOneWay(const Link &link);

class LayoutProblem {
public:
  /// What a link makes of a layout of its `from`; or of its `to`. The reasons of a refusal are the
  /// layout library's.
  girih::Result<LayoutAttr> forward(const Link &link, LayoutAttr layout) const;
  girih::Result<LayoutAttr> backward(const Link &link, LayoutAttr layout) const;
  /// Whether each thread has what the link's op needs if the two ties have their layouts.
  bool holds(const Link &link) const;

  /// Collects ties and links of a kernel. Fails, with an error, at an op that no rule covers.
  static mlir::FailureOr<LayoutProblem> of(mlir::gpu::GPUFuncOp kernel);

  llvm::SmallVector<Tie> ties;
  llvm::SmallVector<Link> links;
  llvm::DenseMap<mlir::Value, unsigned> tieOfValue;
  llvm::DenseMap<mlir::OpOperand *, unsigned> tieOfOperand;
  /// Links by tie, as `from` or as `to`.
  llvm::DenseMap<unsigned, llvm::SmallVector<unsigned, 1>> linksOfTie;
  /// Whether some tile lacks a layout.
  bool isOpen = false;

private:
  /// Answers of the layout library: by the op's name, what it states, the two shapes and the
  /// layout.
  using Question = std::tuple<const void *, const void *, bool, Extents, Extents, const void *>;
  mutable std::map<Question, girih::Result<LayoutAttr>> answers;
  girih::Result<LayoutAttr> answer(const Link &link, bool isForward, LayoutAttr layout) const;

  unsigned addTie(mlir::Operation *op, mlir::ValueRange values,
                  llvm::ArrayRef<mlir::OpOperand *> operands);
  void addLink(mlir::Operation *op, unsigned from, unsigned to);
  void addLoop(mlir::Operation *op, mlir::ValueRange arguments, mlir::ValueRange results,
               llvm::MutableArrayRef<mlir::OpOperand> inits, mlir::Operation *yield);
  mlir::LogicalResult add(mlir::Operation *op);
  /// Marks the cheap ties; ops are in the order in which they run.
  void markCheap();
};

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_TILETOWG_LAYOUTPROBLEM_H
