// From a kernel to the model of it that the checker runs. Ops are asked through their interfaces;
// the only ops that are known by name are those that make structure: roles, allocations, parts of
// buffers, loops, branches, and integer arithmetic.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Writer.h"

#include "girih/Dialect/WG/Transforms/RingProtocol.h"

using namespace mlir;

namespace girih::wg::check {

namespace {

/// The kernel's barriers and buffers.
void collectArrays(Model &model, DenseMap<Value, int32_t> &arrays) {
  model.kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocBarrierOp>(op)) {
      arrays[alloc.getBarrier()] = static_cast<int32_t>(model.barriers.size());
      auto count = static_cast<int32_t>(alloc.getBarrier().getType().getCount());
      model.barriers.push_back({nameOf(op), op->getLoc(), count, model.numBarriers});
      model.numBarriers += count;
    } else if (auto alloc = dyn_cast<AllocBufferOp>(op)) {
      arrays[alloc.getBuffer()] = static_cast<int32_t>(model.buffers.size());
      BufferType type = alloc.getBuffer().getType();
      BufferArray array{nameOf(op), op->getLoc()};
      array.slots = static_cast<int32_t>(alloc.getSlots());
      array.first = model.numSlots;
      array.rows = static_cast<int32_t>(type.getShape()[0]);
      array.columns = static_cast<int32_t>(type.getShape()[1]);
      array.offset = alloc.getOffset() ? static_cast<int64_t>(*alloc.getOffset()) : -1;
      array.slotBytes = type.getBytes();
      model.buffers.push_back(std::move(array));
      model.numSlots += static_cast<int32_t>(alloc.getSlots());
    }
  });
  // Slots that were given the same bytes.
  model.aliases.resize(model.numSlots);
  for (const BufferArray &one : model.buffers)
    for (const BufferArray &other : model.buffers) {
      if (&one == &other || one.offset < 0 || other.offset < 0 ||
          one.offset >= other.offset + other.slots * other.slotBytes ||
          other.offset >= one.offset + one.slots * one.slotBytes)
        continue;
      for (int32_t i = 0; i < one.slots; ++i)
        for (int32_t j = 0; j < other.slots; ++j) {
          int64_t a = one.offset + i * one.slotBytes, b = other.offset + j * other.slotBytes;
          if (a < b + other.slotBytes && b < a + one.slotBytes)
            model.aliases[one.first + i].push_back(other.first + j);
        }
    }
}

/// Which buffers are written at all, and how many arrivals barriers wait for.
void collectUses(Model &model, const DenseMap<Value, int32_t> &arrays) {
  model.kernel.walk([&](Operation *op) {
    if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
      for (const BarrierEffect &effect : barriers.getBarrierEffects()) {
        if (effect.everyCta)
          model.ctas = static_cast<int32_t>(clusterCtas(op));
        if (effect.kind == BarrierEffect::Kind::Init)
          if (auto found = arrays.find(effect.object); found != arrays.end()) {
            model.barriers[found->second].arrivals = effect.count;
            model.barriers[found->second].init = op;
          }
      }
    if (auto accesses = dyn_cast<BufferAccessOpInterface>(op))
      for (const BufferAccess &access : accesses.getBufferAccesses()) {
        if (access.everyCta)
          model.ctas = static_cast<int32_t>(clusterCtas(op));
        if (access.kind != BufferAccess::Kind::Write)
          continue;
        Value root = rootBuffer(access.buffer);
        if (auto slot = root.getDefiningOp<SlotOp>())
          root = slot.getBuffers();
        if (auto found = arrays.find(root); found != arrays.end())
          model.buffers[found->second].written = true;
      }
  });
}

} // namespace

const BarrierArray &Model::arrayOfBarrier(int32_t barrier) const {
  barrier %= numBarriers;
  return *std::prev(llvm::partition_point(
      barriers, [&](const BarrierArray &array) { return array.first <= barrier; }));
}

const BufferArray &Model::arrayOfSlot(int32_t slot) const {
  slot %= numSlots;
  return *std::prev(llvm::partition_point(
      buffers, [&](const BufferArray &array) { return array.first <= slot; }));
}

std::unique_ptr<Model> extractModel(gpu::GPUFuncOp kernel, std::optional<Undecided> &undecided) {
  SmallVector<SpecializeOp> specializes;
  kernel.walk([&](SpecializeOp op) { specializes.push_back(op); });
  Block &entry = kernel.getBody().front();
  if (specializes.size() != 1 || specializes.front()->getBlock() != &entry)
    return nullptr;
  SpecializeOp specialize = specializes.front();

  auto model = std::make_unique<Model>();
  model->kernel = kernel;
  model->threads = specialize.getNumThreads();
  DenseMap<Value, int32_t> arrays;
  collectArrays(*model, arrays);
  collectUses(*model, arrays);
  for (Operation &op : entry) {
    bool initialises = false;
    if (auto barriers = dyn_cast<BarrierEffectOpInterface>(op))
      initialises = llvm::all_of(barriers.getBarrierEffects(), [](const BarrierEffect &effect) {
        return effect.kind == BarrierEffect::Kind::Init;
      });
    if (!initialises && hasEvent(&op) && !undecided)
      undecided = Undecided{op.getLoc(), "part of the protocol stands outside of the roles"};
  }
  for (RoleOp role : specialize.getRoles()) {
    Program &program = model->programs.emplace_back();
    program.role = role.getRoleName().str();
    program.op = role;
    program.firstWarp = static_cast<int32_t>(4 * firstWarpgroup(role));
    program.warps = static_cast<int32_t>(role.getWarps());
    program.idleWarps =
        static_cast<int32_t>(4 * role.getNumWarpgroups()) - static_cast<int32_t>(role.getWarps());
    program.warpgroupsTogether = static_cast<int32_t>(role.getTileWarpgroups());
    program.each = role.getEach();
    Writer(*model, program, undecided, arrays).write(entry, specialize, role.getBody().front());
  }
  return model;
}

} // namespace girih::wg::check
