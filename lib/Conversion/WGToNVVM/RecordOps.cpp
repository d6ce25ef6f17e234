// tile.print and tile.assert become records in memory of the host plan (plan.records has the
// layout).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Patterns.h"

#include "girih/Conversion/WGToNVVM/Records.h"
#include "girih/Conversion/WGToNVVM/Registers.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace girih::wg {

namespace {

constexpr int64_t headerBytes = 16, recordBytes = 32;

/// Where the records of one op go, and what is the same in all of them.
struct Recorder {
  Location loc;
  Value memory, cta;
  int64_t limit, site;

  /// Writes a record if `when` (null: always) holds and there is room.
  void write(OpBuilder &outside, Value when, Value element, Value bits) const {
    OpBuilder builder = outside;
    if (when)
      builder = scf::IfOp::create(builder, loc, TypeRange(), when, /*withElseRegion=*/false)
                    .getThenBodyBuilder();
    Value place = LLVM::AtomicRMWOp::create(
        builder, loc, LLVM::AtomicBinOp::add, memory, i32Constant(builder, loc, 1),
        LLVM::AtomicOrdering::monotonic, builder.getStringAttr("device"));
    Value room = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ult, place,
                                      i32Constant(builder, loc, limit));
    OpBuilder inside = scf::IfOp::create(builder, loc, TypeRange(), room, /*withElseRegion=*/false)
                           .getThenBodyBuilder();
    auto pointer = cast<LLVM::LLVMPointerType>(memory.getType());
    auto byte = inside.getI8Type();
    Value first = LLVM::GEPOp::create(inside, loc, pointer, byte, memory,
                                      ArrayRef<LLVM::GEPArg>{headerBytes});
    Value record =
        LLVM::GEPOp::create(inside, loc, pointer, LLVM::LLVMArrayType::get(byte, recordBytes),
                            first, ArrayRef<LLVM::GEPArg>{place});
    auto store = [&](int32_t at, Value value) {
      Value to =
          LLVM::GEPOp::create(inside, loc, pointer, byte, record, ArrayRef<LLVM::GEPArg>{at});
      LLVM::StoreOp::create(inside, loc, value, to);
    };
    store(0, i32Constant(inside, loc, site));
    store(4, cta);
    store(8, element);
    store(16, bits);
  }
};

/// i32: x + gridDim.x * (y + gridDim.y * z).
Value ctaNumber(OpBuilder &builder, Location loc) {
  Type i32 = builder.getI32Type();
  Value x = NVVM::BlockIdXOp::create(builder, loc, i32),
        y = NVVM::BlockIdYOp::create(builder, loc, i32),
        z = NVVM::BlockIdZOp::create(builder, loc, i32);
  Value columns = NVVM::GridDimXOp::create(builder, loc, i32),
        rows = NVVM::GridDimYOp::create(builder, loc, i32);
  Value plane = LLVM::AddOp::create(builder, loc, y, LLVM::MulOp::create(builder, loc, rows, z));
  return LLVM::AddOp::create(builder, loc, x, LLVM::MulOp::create(builder, loc, columns, plane));
}

/// i64: the bits of a number, extended with zeros.
Value bitsOf(OpBuilder &builder, Location loc, Value number) {
  Type type = number.getType();
  if (isa<FloatType>(type)) {
    type = builder.getIntegerType(type.getIntOrFloatBitWidth());
    number = LLVM::BitcastOp::create(builder, loc, type, number);
  }
  if (type.isInteger(64))
    return number;
  return LLVM::ZExtOp::create(builder, loc, builder.getI64Type(), number);
}

Value both(OpBuilder &builder, Location loc, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return LLVM::AndOp::create(builder, loc, a, b);
}

/// i32: the number of a register's element, row-major.
Value elementNumber(OpBuilder &builder, Location loc, std::vector<CoordinateValues> &coordinates,
                    ArrayRef<int64_t> shape, size_t reg) {
  Value number;
  for (auto [dim, coordinate] : llvm::enumerate(coordinates)) {
    Value at = coordinate.at(builder, reg);
    number = number ? LLVM::AddOp::create(builder, loc, times(builder, loc, number, shape[dim]), at)
                    : at;
  }
  return number ? number : i32Constant(builder, loc, 0);
}

template <typename Op> struct RecordPattern : StatePattern<Op> {
  using StatePattern<Op>::StatePattern;

  Recorder recorder(Op op, ConversionPatternRewriter &rewriter) const {
    const RecordsOfKernel &records = this->state.records.find(op)->second;
    Location loc = op.getLoc();
    return {loc, rewriter.getRemappedValue(records.memory), ctaNumber(rewriter, loc), records.limit,
            cast<IntegerAttr>(op->getAttr(kSiteAttr)).getInt()};
  }

  /// Calls `visit` with a builder and the number of a register for each element that this thread is
  /// to record.
  template <typename Visit>
  void forEachElement(Op op, RankedTensorType tile, ConversionPatternRewriter &rewriter,
                      Visit visit) const {
    Location loc = op.getLoc();
    const TileAccess &plan = *this->state.tileAccesses.find(tile)->second;
    const ThreadPlace &place = this->state.roles.of(op).place;
    OpBuilder builder = rewriter;
    if (Value owner = emitOwner(rewriter, loc, plan, place))
      builder = scf::IfOp::create(rewriter, loc, TypeRange(), owner, /*withElseRegion=*/false)
                    .getThenBodyBuilder();
    std::vector<CoordinateValues> coordinates;
    for (const Coordinate &coordinate : plan.coordinates)
      coordinates.emplace_back(builder, loc, coordinate, place, Value());
    for (size_t reg = 0; reg < plan.registers(); ++reg)
      if (plan.owned[reg])
        visit(builder, reg, elementNumber(builder, loc, coordinates, tile.getShape(), reg));
  }

  /// i1: whether this thread is the one that records a number that all threads have; may be null.
  Value isFirst(Op op, ConversionPatternRewriter &rewriter) const {
    return emitFirstThread(rewriter, op.getLoc(), this->state.roles.of(op));
  }
};

struct PrintPattern : RecordPattern<tile::PrintOp> {
  using RecordPattern::RecordPattern;
  LogicalResult matchAndRewrite(tile::PrintOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Recorder to = recorder(op, rewriter);
    auto tile = dyn_cast<RankedTensorType>(op.getValue().getType());
    if (!tile) {
      Value when = both(rewriter, loc, isFirst(op, rewriter), adaptor.getWhere());
      to.write(rewriter, when, i32Constant(rewriter, loc, 0),
               bitsOf(rewriter, loc, adaptor.getValue()));
      rewriter.eraseOp(op);
      return success();
    }
    SmallVector<Value> values = unpackElements(rewriter, loc, adaptor.getValue(), tile), masks;
    Value everywhere = adaptor.getWhere();
    if (op.getWhere() && isa<RankedTensorType>(op.getWhere().getType())) {
      masks = unpackElements(rewriter, loc, adaptor.getWhere(),
                             cast<RankedTensorType>(op.getWhere().getType()));
      everywhere = {};
    }
    forEachElement(op, tile, rewriter, [&](OpBuilder &builder, size_t reg, Value element) {
      to.write(builder, masks.empty() ? everywhere : masks[reg], element,
               bitsOf(builder, loc, values[reg]));
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct AssertPattern : RecordPattern<tile::AssertOp> {
  using RecordPattern::RecordPattern;
  LogicalResult matchAndRewrite(tile::AssertOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Recorder to = recorder(op, rewriter);
    Value yes = LLVM::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
    Value nothing = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64IntegerAttr(0));
    auto fails = [&](OpBuilder &builder, Value condition) -> Value {
      return LLVM::XOrOp::create(builder, loc, condition, yes);
    };
    auto tile = dyn_cast<RankedTensorType>(op.getCondition().getType());
    if (!tile) {
      Value when =
          both(rewriter, loc, isFirst(op, rewriter), fails(rewriter, adaptor.getCondition()));
      to.write(rewriter, when, i32Constant(rewriter, loc, 0), nothing);
      rewriter.eraseOp(op);
      return success();
    }
    SmallVector<Value> values = unpackElements(rewriter, loc, adaptor.getCondition(), tile);
    forEachElement(op, tile, rewriter, [&](OpBuilder &builder, size_t reg, Value element) {
      to.write(builder, fails(builder, values[reg]), element, nothing);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

LogicalResult findRecords(gpu::GPUFuncOp kernel, ConversionState &state) {
  auto where = kernel->getAttrOfType<DenseI64ArrayAttr>(kRecordsAttr);
  WalkResult result = kernel.walk([&](Operation *op) {
    if (!isa<tile::PrintOp, tile::AssertOp>(op))
      return WalkResult::advance();
    if (!where || !op->hasAttr(kSiteAttr)) {
      op->emitOpError("has no memory for its records; run wg-collect-records first");
      return WalkResult::interrupt();
    }
    state.records[op] = {kernel.getArgument(where[0]), where[1]};
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void populateRecordPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                            const ConversionState &state) {
  patterns.add<PrintPattern, AssertPattern>(converter, patterns.getContext(), state);
}

} // namespace girih::wg
