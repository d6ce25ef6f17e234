// Where a thread's elements of a tile lie in a view: addresses, and tests against the view's
// extents.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef GIRIH_LIB_CONVERSION_WGTONVVM_GLOBALPLACES_H
#define GIRIH_LIB_CONVERSION_WGTONVVM_GLOBALPLACES_H

#include "GlobalView.h"
#include "TileAccess.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <map>

namespace girih::wg {

/// The zero of a type, as LLVM has it.
mlir::Value zeroElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType);
/// a and b; either may be null for true.
mlir::Value bothTrue(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);

/// i1, the same in all threads: whether a tile of this shape lies inside the view as a whole.
/// Dimension `except` is not asked about.
mlir::Value insideAsAWhole(mlir::OpBuilder &builder, mlir::Location loc, const GlobalView &view,
                           mlir::ValueRange indices, llvm::ArrayRef<int32_t> shape,
                           std::optional<int64_t> except = std::nullopt);

/// Which of a thread's elements are in the part of a tile that belongs to a view.
class PartTest {
public:
  /// `part` may be the whole tile.
  PartTest(mlir::OpBuilder &builder, mlir::Location loc, const TileAccess &plan,
           mlir::RankedTensorType tile, llvm::ArrayRef<int32_t> part, const ThreadPlace &place);

  /// i1: whether the element of a register is; null if the part is the whole tile.
  mlir::Value inside(mlir::OpBuilder &builder, size_t reg);

private:
  mlir::Location loc;
  llvm::ArrayRef<int32_t> part;
  llvm::SmallVector<size_t> dims;            ///< of which the part is smaller
  std::vector<CoordinateValues> coordinates; ///< along these
  std::map<std::tuple<size_t, int32_t, int32_t>, mlir::Value> tests;
};

class Places {
public:
  /// A tile at an index.
  Places(mlir::OpBuilder &builder, mlir::Location loc, const TileAccess &plan,
         const GlobalView &view, const ThreadPlace &place, mlir::ValueRange indices)
      : Places(builder, loc, plan, view, place, indices, nullptr, {}) {}
  /// One whose coordinates along a dimension are `places` (i32, by number) instead.
  Places(mlir::OpBuilder &builder, mlir::Location loc, const TileAccess &plan,
         const GlobalView &view, const ThreadPlace &place, mlir::ValueRange indices,
         const ListedDim *listed, llvm::ArrayRef<mlir::Value> places);

  /// i1: whether the element of a register is inside.
  mlir::Value inside(mlir::OpBuilder &builder, size_t reg);
  /// i1: whether it is along one dimension.
  mlir::Value insideAlong(mlir::OpBuilder &builder, size_t dim, size_t reg);
  /// i32: how many elements from that of a register on lie before the extent along a dimension, if
  /// it is inside.
  mlir::Value room(mlir::OpBuilder &builder, size_t dim, size_t reg);
  /// The address of the element of a register, and the constant number of elements behind it.
  std::pair<mlir::Value, int64_t> address(mlir::OpBuilder &builder, size_t reg);

private:
  using Numbers = llvm::SmallVector<int32_t>;
  mlir::Value pointer(mlir::OpBuilder &builder, const Numbers &flips, const Numbers &adds);
  Coordinate::Step step(size_t dim, size_t reg) const;
  bool isListed(size_t dim) const { return listed && listed->dim == static_cast<int64_t>(dim); }

  mlir::Location loc;
  const GlobalView &view;
  const ListedDim *listed;
  llvm::SmallVector<mlir::Value> places;
  std::vector<CoordinateValues> coordinates;
  std::map<std::tuple<size_t, int32_t, int32_t>, mlir::Value> tests;
  std::map<std::pair<Numbers, Numbers>, mlir::Value> pointers;
};

/// Builds `then` and `otherwise` in the branches of a condition.
template <typename Then, typename Else>
mlir::ResultRange branch(mlir::OpBuilder &builder, mlir::Location loc, mlir::TypeRange types,
                         mlir::Value condition, Then then, Else otherwise) {
  auto op = mlir::scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
  auto fill = [&](mlir::Block *block, auto build) {
    mlir::OpBuilder inside = mlir::OpBuilder::atBlockBegin(block);
    llvm::SmallVector<mlir::Value> results = build(inside);
    if (!types.empty())
      mlir::scf::YieldOp::create(inside, loc, results);
  };
  fill(op.thenBlock(), then);
  fill(op.elseBlock(), otherwise);
  return op.getResults();
}

} // namespace girih::wg

#endif // GIRIH_LIB_CONVERSION_WGTONVVM_GLOBALPLACES_H
