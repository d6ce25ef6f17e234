// Prices of accesses and conversions; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LayoutPrices.h"
#include "LayoutProblem.h"

#include "girih/Layout/Blocked.h"

using namespace mlir;

namespace girih::wg {

static constexpr int64_t kSectorBytes = 32;
static constexpr int64_t kMaxVectorBytes = 16;

/// Bytes of an element in memory.
static int64_t bytesOf(Type elementType) {
  return std::max<int64_t>(1, elementType.getIntOrFloatBitWidth() / 8);
}

/// Elements of a type that share a 32-bit register.
static int64_t packOf(Type elementType) {
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return bits == 16 || bits == 8 ? 32 / bits : 1;
}

static int64_t warpsOf(const Layout &layout) {
  return static_cast<int64_t>(layout.inSize(Dim::Warp)) * layout.inSize(Dim::Warpgroup);
}

/// How many warps hold what another one holds, by the digits of their index that lead nowhere.
static int64_t replicasOfWarps(const Layout &layout) {
  int64_t replicas = 1;
  auto isIdle = [](Dim dim, const std::vector<int32_t> &to) {
    return (dim == Dim::Warp || dim == Dim::Warpgroup) && llvm::all_equal(to) && to[0] == 0;
  };
  for (const Base &base : layout.spec().bases)
    replicas *= isIdle(base.dim, base.to) ? 2 : 1;
  for (const Repeat &repeat : layout.spec().repeats)
    replicas *= isIdle(repeat.dim, repeat.step) ? repeat.extent : 1;
  return replicas;
}

GlobalAccess globalAccess(const Layout &layout, RankedTensorType tile, tile::ViewType view,
                          bool isStore) {
  Extents shape = tileExtents(tile);
  int64_t bytes = bytesOf(tile.getElementType()), rank = tile.getRank();
  int64_t lanes = layout.inSize(Dim::Lane), registers = layout.inSize(Dim::Register);
  GlobalAccess access;
  access.ideal = llvm::divideCeil(tile.getNumElements() * bytes, kSectorBytes);

  // The index of each register of each lane of the first warp.
  SmallVector<int32_t> table;
  for (int64_t reg = 0; reg < registers; ++reg)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Point slot;
      slot[Dim::Lane] = static_cast<int32_t>(lane);
      slot[Dim::Register] = static_cast<int32_t>(reg);
      llvm::append_range(table, indexOf(shape, layout.apply(slot)));
    }
  auto indexAt = [&](int64_t lane, int64_t reg) {
    return ArrayRef(table).slice((reg * lanes + lane) * rank, rank);
  };

  // The longest power of two of registers that walk along the contiguous dimension from a multiple
  // of their number.
  auto isVector = [&](int64_t vector) {
    for (int64_t reg = 0; reg < registers; ++reg)
      for (int64_t lane = 0; lane < lanes; ++lane) {
        ArrayRef<int32_t> first = indexAt(lane, reg / vector * vector), here = indexAt(lane, reg);
        for (int64_t dim = 0; dim < rank; ++dim) {
          bool along = dim == view.getContiguous();
          if (here[dim] - first[dim] != (along ? reg % vector : 0) ||
              (along && first[dim] % vector != 0))
            return false;
        }
      }
    return true;
  };
  if (view.hasContiguous()) {
    int64_t most = std::min(kMaxVectorBytes, view.getAlign()) / bytes;
    while (access.vector * 2 <= most && registers % (access.vector * 2) == 0 &&
           isVector(access.vector * 2))
      access.vector *= 2;
  }

  // Sectors by number, as if the tile were alone in memory.
  int64_t sectors = 0;
  SmallVector<int64_t> touched;
  for (int64_t reg = 0; reg < registers; reg += access.vector) {
    touched.clear();
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t sector = 0;
      for (auto [dim, index] : llvm::enumerate(indexAt(lane, reg)))
        sector = sector * shape[dim] + (static_cast<int64_t>(dim) == view.getContiguous()
                                            ? index * bytes / kSectorBytes
                                            : index);
      touched.push_back(sector);
    }
    llvm::sort(touched);
    sectors += std::unique(touched.begin(), touched.end()) - touched.begin();
  }
  access.sectors = sectors * warpsOf(layout) / (isStore ? replicasOfWarps(layout) : 1);
  access.price =
      isStore ? access.sectors : (access.sectors + std::min(access.sectors, access.ideal)) / 2;
  return access;
}

/// A blocked layout with vectors of at most `most` elements along `fastest`; shorter where longer
/// ones would leave threads without an element of their own, down to what fills a register.
static LayoutAttr blockedLayout(RankedTensorType tile, int64_t fastest, int64_t most,
                                int64_t warps) {
  int64_t extent = tile.getDimSize(fastest), count = tile.getNumElements();
  auto dividing = [&](int64_t limit) {
    return std::min<int64_t>(llvm::bit_floor(static_cast<uint64_t>(std::max<int64_t>(limit, 1))),
                             extent & -extent);
  };
  int64_t vector = dividing(most), least = dividing(packOf(tile.getElementType()));
  while (vector > least && count % (vector * warps * 32) != 0)
    vector /= 2;
  girih::Result<Layout> layout = blocked(tileExtents(tile), static_cast<int32_t>(fastest),
                                         static_cast<int32_t>(std::max(vector, least)),
                                         static_cast<int32_t>(std::min<int64_t>(warps, 4)),
                                         static_cast<int32_t>(std::max<int64_t>(warps / 4, 1)));
  return LayoutAttr::get(tile.getContext(), *layout);
}

LayoutAttr preferredLayout(RankedTensorType tile, tile::ViewType view, int64_t warps) {
  if (!view.hasContiguous())
    return defaultLayout(tile, warps);
  int64_t most = std::min(kMaxVectorBytes, view.getAlign()) / bytesOf(tile.getElementType());
  return blockedLayout(tile, view.getContiguous(), most, warps);
}

LayoutAttr defaultLayout(RankedTensorType tile, int64_t warps) {
  return blockedLayout(tile, tile.getRank() - 1, kMaxVectorBytes / bytesOf(tile.getElementType()),
                       warps);
}

girih::Result<ConversionPlan> planOf(LayoutAttr from, LayoutAttr to, Type elementType) {
  return planConversion(from.getLayout(), to.getLayout(),
                        static_cast<int32_t>(bytesOf(elementType)));
}

const ConversionPrice &ConversionPrices::of(LayoutAttr from, LayoutAttr to, Type elementType) {
  int64_t bytes = bytesOf(elementType);
  auto [entry, isNew] = known.try_emplace({from, to, static_cast<unsigned>(bytes)});
  ConversionPrice &price = entry->second;
  if (!isNew || from == to)
    return price;
  girih::Result<ConversionPlan> plan = planOf(from, to, elementType);
  if (!plan)
    price.error = plan.error();
  else
    price.transactions = plan->transactions;
  return price;
}

} // namespace girih::wg
