// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/TensorOperand.h"
#include "Emulator/Text.h"

namespace girih::emu {

using ptx::OperandKind;

bool listTensor(Decoder &d, const ptx::Operand &op) {
  auto refuse = [&](std::string why) {
    d.fail(std::move(why));
    return false;
  };
  if (op.kind != OperandKind::Tensor || op.elements[1].kind != OperandKind::Vector)
    return refuse("expected [map, {coordinates}]");
  listAddress(d, op.elements[0]);
  int rank = d.which({"1d", "2d", "3d", "4d", "5d"}) + 1;
  if (op.elements[1].elements.size() != static_cast<size_t>(rank))
    return refuse("expected " + std::to_string(rank) + " coordinates");
  for (const ptx::Operand &e : op.elements[1].elements)
    d.listAdd(d.source(e, 4));
  d.out.count = static_cast<uint8_t>(rank);
  return true;
}

namespace {
/// A map that this cluster has edited needs its fences (EditedMaps.h).
void checkEdited(Context &c, unsigned lane, uint64_t address) {
  EditedMaps::Missing missing = EditedMaps::Missing::Nothing;
  const EditedMaps::Edit *edit = c.cluster.maps.check(address, c.warp.order, c.warp.agent, missing);
  if (!edit || missing == EditedMaps::Missing::Nothing)
    return;
  Site here = c.cluster.here(c, "uses the tensor map", static_cast<int>(lane));
  here.space = "global";
  here.address = address;
  here.bytes = kTensorMapBytes;
  const char *what =
      missing == EditedMaps::Missing::Release
          ? "its writer has not executed fence.proxy.tensormap::generic.release since"
      : missing == EditedMaps::Missing::Order
          ? "nothing orders the use after the writer's release"
          : "the user has not executed fence.proxy.tensormap::generic.acquire on its address since";
  c.cluster.report(
      "tensormap-fence",
      "the tensor map at " + hex(address) + " is used after it was edited, and " + what,
      {here, c.cluster.site("edited it", edit->pc, edit->rank, edit->warp, edit->lane)},
      "after an edit: release by the writer (tensormap.cp_fenceproxy contains one), a barrier, and "
      "fence.proxy.tensormap::generic.acquire [map], 128 by the user");
}
} // namespace

bool loadTensorMap(Context &c, unsigned lane, uint64_t address, TensorMap &map) {
  uint8_t bytes[kTensorMapBytes];
  const char *what = "names a tensor map";
  uint64_t window = address & ~(kWindowBytes - 1);
  auto refuse = [&](std::string why, std::string hint = {}) {
    c.cluster.fault("tensor-map-invalid", std::move(why),
                    {c.cluster.here(c, what, static_cast<int>(lane))}, std::move(hint));
    return false;
  };
  if (window == kParamWindow) {
    uint64_t offset = address - kParamWindow;
    if (offset + kTensorMapBytes > c.cluster.launch.params.size())
      return refuse("the tensor map's address lies past the kernel's parameters");
    std::memcpy(bytes, c.cluster.launch.params.data() + offset, sizeof(bytes));
  } else if (window == kSharedWindow || window == kLocalWindow || address < kWindowBytes) {
    // 9.7.9.27.1.2: a generic address in parameter, constant or global memory.
    return refuse(
        std::string("the tensor map lies in ") + (window == kLocalWindow ? "local" : "shared") +
            " memory, where a copy cannot read it",
        window == kLocalWindow ? "pass it as a __grid_constant__ parameter"
                               : "copy it to global memory with tensormap.cp_fenceproxy first");
  } else {
    if (!c.cluster.checkGlobal(c, lane, address, kTensorMapBytes, what))
      return false;
    c.cluster.readGlobal(address, bytes, sizeof(bytes));
    if (c.cluster.checking())
      checkEdited(c, lane, address);
  }
  std::string problem =
      address % 64 ? "its address is not a multiple of 64" : decodeTensorMap(bytes, map);
  return problem.empty() || refuse("the tensor map cannot be used: " + problem);
}

namespace {
std::string modeProblem(uint32_t rank, bool im2col, const TensorMap &map) {
  if (im2col != (map.kind == TensorMapKind::Im2col))
    return im2col ? "the instruction is .im2col, and the tensor map is a tiled one"
                  : "the instruction is .tile, and the tensor map is an im2col one";
  if (map.rank != rank)
    return "the instruction copies " + std::to_string(rank) + " dimensions, the tensor map has " +
           std::to_string(map.rank);
  return {};
}
bool refuseCopy(Context &c, unsigned lane, std::string problem, uint32_t shared = 0) {
  if (problem.empty())
    return true;
  Site here = c.cluster.here(c, "issues a tensor copy", static_cast<int>(lane));
  if (shared) {
    here.space = "shared";
    here.address = shared;
  }
  c.cluster.fault("tensor-copy-invalid", std::move(problem), {here});
  return false;
}
} // namespace

bool checkTensorMode(Context &c, unsigned lane, uint32_t rank, bool im2col,
                     const int32_t *coordinates, const uint16_t *offsets, const TensorMap &map) {
  std::string problem = modeProblem(rank, im2col, map);
  if (problem.empty())
    problem = TmaBox(map, coordinates, 0, offsets).checkPixels();
  return refuseCopy(c, lane, std::move(problem));
}

bool makeTensorBox(Context &c, unsigned lane, uint32_t rank, bool im2col,
                   const int32_t *coordinates, const uint16_t *offsets, uint32_t shared,
                   const Cta &cta, const TensorMap &map, std::unique_ptr<TmaBox> &box) {
  std::string problem = modeProblem(rank, im2col, map);
  if (problem.empty()) {
    box = std::make_unique<TmaBox>(map, coordinates, shared, offsets);
    problem = box->checkPixels();
  }
  if (problem.empty())
    problem = checkTmaBox(*box, kSharedStart, static_cast<uint32_t>(cta.shared.size()));
  return refuseCopy(c, lane, std::move(problem), shared);
}

} // namespace girih::emu
