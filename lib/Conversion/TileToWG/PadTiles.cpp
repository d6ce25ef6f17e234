// wg-pad-tiles: tiles whose extents have too few factors of two for the threads get larger ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "girih/Conversion/TileToWG/TileToWG.h"
#include "girih/Dialect/Tile/IR/Tile.h"

#include "SolveLayouts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace girih::wg {
#define GEN_PASS_DEF_PADTILES
#include "girih/Conversion/TileToWG/Passes.h.inc"

namespace {

int64_t lowestBit(int64_t extent) { return extent & -extent; }

/// What an extent becomes: a power of two up to 128, a multiple of 64 up to 512 and of 128 above,
/// which is at most half as much again from 129 on.
int64_t paddedExtent(int64_t extent) {
  if (extent <= 128)
    return static_cast<int64_t>(llvm::bit_ceil(static_cast<uint64_t>(extent)));
  return llvm::alignTo(extent, extent <= 512 ? 64 : 128);
}

/// Elements of a tile that a thread holds, of `threads` that share it: as many of them have an
/// element of their own as the extents have factors of two.
int64_t elementsOfThread(ArrayRef<int64_t> shape, int64_t threads) {
  int64_t elements = 1, apart = 1;
  for (int64_t extent : shape) {
    elements *= extent;
    apart *= lowestBit(extent);
  }
  return elements / std::min(apart, threads);
}

/// The element that leaves any other as it is under a reduction by one op, if it is known.
TypedAttr neutralOf(Region &combiner) {
  Block &block = combiner.front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return {};
  Operation &op = block.front();
  auto yield = cast<tile::YieldOp>(block.getTerminator());
  if (op.getNumResults() != 1 || op.getNumOperands() != 2 || yield.getValues().size() != 1 ||
      yield.getValues().front() != op.getResult(0) || op.getOperand(0) == op.getOperand(1) ||
      !llvm::all_of(op.getOperands(), [&](Value operand) {
        return llvm::is_contained(block.getArguments(), operand);
      }))
    return {};
  Type type = op.getResult(0).getType();
  if (!isa<IntegerType, Float16Type, BFloat16Type, Float32Type, Float64Type>(type))
    return {};
  Builder builder(op.getContext());
  auto number = [&](double value) -> TypedAttr { return builder.getFloatAttr(type, value); };
  auto integer = [&](const APInt &value) -> TypedAttr {
    return builder.getIntegerAttr(type, value);
  };
  unsigned bits = type.getIntOrFloatBitWidth();
  double infinity = std::numeric_limits<double>::infinity();
  return llvm::TypeSwitch<Operation *, TypedAttr>(&op)
      // -0 + x is x for every x, 0 included.
      .Case([&](arith::AddFOp) { return number(-0.0); })
      .Case([&](arith::MulFOp) { return number(1.0); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) { return number(-infinity); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) { return number(infinity); })
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(
          [&](auto) { return integer(APInt::getZero(bits)); })
      .Case([&](arith::MulIOp) { return integer(APInt(bits, 1)); })
      .Case<arith::AndIOp, arith::MinUIOp>([&](auto) { return integer(APInt::getAllOnes(bits)); })
      .Case([&](arith::MaxSIOp) { return integer(APInt::getSignedMinValue(bits)); })
      .Case([&](arith::MinSIOp) { return integer(APInt::getSignedMaxValue(bits)); })
      .Default([](Operation *) { return TypedAttr(); });
}

/// The neutral elements of a reduction or scan, one for each operand; none if they are not known.
SmallVector<TypedAttr> neutralsOf(Operation *combine) {
  SmallVector<TypedAttr> neutrals;
  if (auto stated = combine->getAttrOfType<ArrayAttr>(kNeutralAttr)) {
    for (auto [attribute, tile] : llvm::zip(stated, combine->getOperands())) {
      auto number = dyn_cast<TypedAttr>(attribute);
      if (number && number.getType() == tile::elementTypeOf(tile.getType()))
        neutrals.push_back(number);
    }
    return neutrals.size() == combine->getNumOperands() ? neutrals : SmallVector<TypedAttr>();
  }
  if (TypedAttr neutral = neutralOf(combine->getRegion(0)))
    neutrals.push_back(neutral);
  return neutrals;
}

class Padder {
public:
  explicit Padder(gpu::GPUFuncOp kernel) : kernel(kernel) {}

  void run() {
    kernel.walk([&](Operation *op) { collect(op); });
    if (extents.empty())
      return;
    Operation *obstacle = nullptr;
    kernel.walk([&](Operation *op) {
      if (!isPadded(op) || works(op))
        return WalkResult::advance();
      obstacle = op;
      return WalkResult::interrupt();
    });
    if (obstacle) {
      emitRemark(obstacle->getLoc())
          << "'" << obstacle->getName() << "' keeps tiles with an extent of "
          << extents.front().first << " in few threads: it has no form for one of "
          << extents.front().second;
      return;
    }
    SmallVector<Operation *> ops;
    kernel.walk([&](Operation *op) {
      if (isPadded(op))
        ops.push_back(op);
    });
    // What an op says of its tiles' true extents, before their types change.
    for (Operation *op : ops)
      mark(op);
    kernel.walk([&](Operation *op) {
      for (Value result : op->getResults())
        grow(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            grow(argument);
    });
  }

private:
  static RankedTensorType tileOf(Value value) {
    return tile::isTile(value.getType()) ? cast<RankedTensorType>(value.getType())
                                         : RankedTensorType();
  }

  /// Notes extents that leave threads without an element of their own.
  void collect(Operation *op) {
    for (Value result : op->getResults()) {
      RankedTensorType type = tileOf(result);
      if (!type || isTile(type))
        continue;
      int64_t threads = 32 * warpsAround(op);
      SmallVector<int64_t> padded = llvm::map_to_vector(type.getShape(), paddedExtent);
      if (elementsOfThread(padded, threads) >= elementsOfThread(type.getShape(), threads))
        continue;
      for (auto [extent, larger] : llvm::zip_equal(type.getShape(), padded))
        if (extent != larger)
          extents.insert({extent, larger});
    }
  }

  bool isPadded(Value value) const {
    RankedTensorType type = tileOf(value);
    return type &&
           llvm::any_of(type.getShape(), [&](int64_t extent) { return extents.contains(extent); });
  }
  bool isPadded(Operation *op) const {
    auto padded = [&](Value value) { return isPadded(value); };
    return llvm::any_of(op->getOperands(), padded) || llvm::any_of(op->getResults(), padded);
  }

  /// Whether an op is right on larger tiles, whatever stands behind the true extents, or can be
  /// made so.
  bool works(Operation *op) const {
    for (Value value : op->getOperands())
      if (isPadded(value) && isTile(value.getType()))
        return false;
    for (Value value : op->getResults())
      if (isPadded(value) && isTile(value.getType()))
        return false;
    // What stands behind may be zero.
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
            arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
      return false;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return !isAlong(reduce) || !neutralsOf(reduce).empty();
    if (auto scan = dyn_cast<tile::ScanOp>(op))
      return !isAlong(scan) || !scan.getReverse() || !neutralsOf(scan).empty();
    return op->hasTrait<OpTrait::Elementwise>() ||
           isa<arith::SelectOp, tile::CastOp, tensor::SplatOp, tile::IotaOp, tile::LoadOp,
               tile::StoreOp, tile::GatherOp, tile::ScatterOp, tile::AtomicOp, tile::ExpandOp,
               tile::BroadcastOp, tile::TransposeOp, tile::JoinOp, tile::SplitOp, tile::AssertOp,
               tile::PrintOp, scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(
               op);
  }

  /// Whether a reduction or scan goes along an extent that becomes larger.
  template <typename Op> bool isAlong(Op op) const {
    return extents.contains(tileOf(op.getTiles().front()).getDimSize(op.getDim()));
  }

  void mark(Operation *op) {
    OpBuilder builder(op);
    llvm::TypeSwitch<Operation *>(op)
        .Case<tile::LoadOp, tile::StoreOp>([&](auto move) {
          SmallVector<int32_t> part(move.getTile().getType().getShape());
          move.setPart(part);
        })
        .Case<tile::ReduceOp, tile::ScanOp>([&](auto combine) {
          if (!isAlong(combine))
            return;
          for (auto [operand, neutral] : llvm::zip(combine.getTilesMutable(), neutralsOf(combine)))
            fillWith(builder, operand, combine.getDim(), neutral);
        })
        .Case<tile::GatherOp, tile::ScatterOp, tile::AtomicOp>([&](auto points) {
          Value inside = insideOf(builder, op->getLoc(), points.getTile().getType());
          if (Value mask = points.getMask())
            inside = arith::AndIOp::create(builder, op->getLoc(), mask, inside);
          points.getMaskMutable().assign(inside);
        })
        .Case([&](tile::PrintOp print) {
          Value inside = insideOf(builder, op->getLoc(), tileOf(print.getValue()));
          if (Value where = print.getWhere()) {
            if (!tile::isTile(where.getType()))
              where = tensor::SplatOp::create(builder, op->getLoc(), inside.getType(), where);
            inside = arith::AndIOp::create(builder, op->getLoc(), where, inside);
          }
          print.getWhereMutable().assign(inside);
        })
        .Case([&](tile::AssertOp check) {
          Location loc = op->getLoc();
          RankedTensorType type = tileOf(check.getCondition());
          Value yes = splat(builder, loc, type, builder.getBoolAttr(true));
          check.getConditionMutable().assign(arith::SelectOp::create(
              builder, loc, insideOf(builder, loc, type), check.getCondition(), yes));
        });
  }

  static Value splat(OpBuilder &builder, Location loc, RankedTensorType type, Attribute value) {
    auto elements = DenseElementsAttr::get(type, ArrayRef<Attribute>(value));
    return arith::ConstantOp::create(builder, loc, type, elements);
  }

  /// i1 by element: whether its index along `dim` is below the true extent.
  Value insideAlong(OpBuilder &builder, Location loc, RankedTensorType type, int64_t dim) {
    RankedTensorType indices = type.clone(builder.getI32Type());
    Value index = tile::IotaOp::create(builder, loc, indices, builder.getI64IntegerAttr(dim));
    Value extent = splat(builder, loc, indices,
                         builder.getI32IntegerAttr(static_cast<int32_t>(type.getDimSize(dim))));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, index, extent);
  }
  /// The same for all dimensions that become larger, of which there is one.
  Value insideOf(OpBuilder &builder, Location loc, RankedTensorType type) {
    Value inside;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (!extents.contains(type.getDimSize(dim)))
        continue;
      Value here = insideAlong(builder, loc, type, dim);
      inside = inside ? Value(arith::AndIOp::create(builder, loc, inside, here)) : here;
    }
    return inside;
  }

  /// Puts a value behind the true extent of an operand along `dim`.
  void fillWith(OpBuilder &builder, OpOperand &operand, int64_t dim, TypedAttr value) {
    Location loc = operand.getOwner()->getLoc();
    RankedTensorType type = tileOf(operand.get());
    Value inside = insideAlong(builder, loc, type, dim);
    operand.set(arith::SelectOp::create(builder, loc, inside, operand.get(),
                                        splat(builder, loc, type, value)));
  }

  void grow(Value value) {
    RankedTensorType type = tileOf(value);
    if (!type || !isPadded(value))
      return;
    SmallVector<int64_t> shape = llvm::map_to_vector(type.getShape(), [&](int64_t extent) {
      auto found = extents.find(extent);
      return found == extents.end() ? extent : found->second;
    });
    auto larger = RankedTensorType::get(shape, type.getElementType());
    value.setType(larger);
    if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
      auto elements = cast<SplatElementsAttr>(constant.getValue());
      constant.setValueAttr(DenseElementsAttr::get(larger, elements.getSplatValue<Attribute>()));
    }
  }

  gpu::GPUFuncOp kernel;
  llvm::MapVector<int64_t, int64_t> extents;
};

struct PadTiles : impl::PadTilesBase<PadTiles> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      bool hasProducts =
          kernel.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
      if (!hasProducts)
        padTiles(kernel);
    }
  }
};

} // namespace

void padTiles(gpu::GPUFuncOp kernel) { Padder(kernel).run(); }

} // namespace girih::wg
