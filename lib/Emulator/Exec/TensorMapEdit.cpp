// Tensor maps that a kernel edits (PTX ISA 9.0, 9.7.9.28 "tensormap.replace", 9.7.13.8
// "tensormap.cp_fenceproxy").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"
#include "Emulator/Exec/AddressList.h"

namespace girih::emu {

namespace {

void noteEdit(Context &c, unsigned lane, uint64_t address) {
  EditedMaps::Edit edit;
  edit.pc = c.pc;
  edit.rank = static_cast<uint16_t>(c.cta.rank);
  edit.warp = static_cast<int16_t>(c.warp.index);
  edit.lane = static_cast<int16_t>(lane);
  edit.agent = c.warp.agent;
  c.cluster.maps.write(address, edit);
}
bool refuse(Context &c, unsigned lane, std::string why, std::string hint = {}) {
  c.cluster.fault("tensor-map-invalid", std::move(why),
                  {c.cluster.here(c, "edits a tensor map", static_cast<int>(lane))},
                  std::move(hint));
  return false;
}

/// sub: the field; count: the ordinal; s[1]: the value, of `bytes`.
Step replace(Context &c, const Instr &in) {
  uint64_t address[32];
  addresses(c, in, address);
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t a = address[lane];
    const uint64_t value =
        in.bytes == 8 ? c.src<uint64_t>(in.s[1])[lane] : c.src<uint32_t>(in.s[1])[lane];
    uint8_t bytes[kTensorMapBytes];
    auto edit = [&] {
      std::string problem =
          replaceTensorMapField(bytes, static_cast<TensorMapField>(in.sub), in.count, value);
      return problem.empty() || refuse(c, lane, "the tensor map cannot be edited: " + problem);
    };
    switch (classify(in.space, a)) {
    case AddressSpace::Shared: {
      uint32_t offset = 0;
      Cta *target = c.cluster.sharedTarget(c, lane, a, kTensorMapBytes, offset, "edits");
      if (!target)
        return Step::Block;
      if (target != &c.cta) {
        refuse(c, lane, "the tensor map lies in the shared memory of another CTA");
        return Step::Block;
      }
      uint8_t *at = target->shared.data() + offset;
      std::memcpy(bytes, at, sizeof(bytes));
      if (misaligned(c, lane, offset, 64, "shared", "edits") || !edit())
        return Step::Block;
      std::memcpy(at, bytes, sizeof(bytes));
      // A weak operation on the whole map.
      if (c.cluster.checking()) {
        c.cluster.sharedRead(c, *target, lane, offset, kTensorMapBytes, kTensorMapBytes);
        c.cluster.sharedWrite(c, *target, lane, offset, kTensorMapBytes, kTensorMapBytes);
      }
      break;
    }
    case AddressSpace::Global:
      if (!c.cluster.checkGlobal(c, lane, a, kTensorMapBytes, "edits") ||
          misaligned(c, lane, a, 64, "global", "edits"))
        return Step::Block;
      c.cluster.readGlobal(a, bytes, sizeof(bytes));
      if (!edit())
        return Step::Block;
      c.cluster.writeGlobal(a, bytes, sizeof(bytes));
      c.cluster.noteGlobal(c, lane, a, kTensorMapBytes, kTensorMapBytes, kAccessWrite);
      noteEdit(c, lane, a);
      break;
    default:
      refuse(c, lane, "the tensor map lies in local or parameter memory, where it cannot be edited",
             "copy it to shared or global memory first");
      return Step::Block;
    }
  }
  ++c.cluster.progress;
  return Step::Next;
}

struct Field {
  const char *name;
  TensorMapField field;
  bool wide;      ///< .b64
  int ordinals;   ///< how many; 0: there is none
  bool immediate; ///< field3 of the ISA
  int64_t greatest = 0;
};
constexpr Field fields[] = {
    {"global_address", TensorMapField::GlobalAddress, true, 0, false},
    {"rank", TensorMapField::Rank, false, 0, false},
    {"box_dim", TensorMapField::BoxDim, false, 5, false},
    {"global_dim", TensorMapField::GlobalDim, false, 5, false},
    {"global_stride", TensorMapField::GlobalStride, true, 4, false},
    {"element_stride", TensorMapField::ElementStride, false, 5, false},
    {"elemtype", TensorMapField::ElementType, false, 0, true, 12},
    {"interleave_layout", TensorMapField::Interleave, false, 0, true, 2},
    {"swizzle_mode", TensorMapField::SwizzleMode, false, 0, true, 3},
    {"fill_mode", TensorMapField::FillMode, false, 0, true, 1},
};

/// variant: an index in `fields`.
void buildReplace(Decoder &d, int variant) {
  const Field &field = fields[variant];
  const size_t value = field.ordinals ? 2 : 1;
  if (!d.expectOperands(value + 1))
    return;
  d.address(d.operand(0), d.spaceModifier());
  d.out.sub = static_cast<uint8_t>(field.field);
  d.out.bytes = field.wide ? 8 : 4;
  if (field.ordinals) {
    int64_t ordinal = d.literal(1);
    if (ordinal < 0 || ordinal >= field.ordinals)
      return d.fail("the ordinal of ." + std::string(field.name) + " must be 0 to " +
                    std::to_string(field.ordinals - 1));
    d.out.count = static_cast<uint8_t>(ordinal);
  }
  if (field.immediate) {
    int64_t given = d.literal(value);
    if (given < 0 || given > field.greatest)
      return d.fail("the value of ." + std::string(field.name) + " must be 0 to " +
                    std::to_string(field.greatest));
  }
  d.out.s[1] = d.source(value, d.out.bytes);
  d.out.exec = replace;
}

/// list: destination, source. The whole warp copies the 128 bytes and releases them.
Step copyAndRelease(Context &c, const Instr &in) {
  const int32_t *start = c.cluster.kernel.lists.data() + in.list;
  uint64_t lastTo = 0, lastFrom = 0;
  for (uint32_t m = c.mask; m; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    const int32_t *list = start;
    uint64_t to = addressAt(c, list, lane), from = addressAt(c, list, lane);
    if (m != c.mask) {
      if (to == lastTo && from == lastFrom)
        continue;
      refuse(c, lane, "lanes of one warp give tensormap.cp_fenceproxy different addresses",
             "all threads of the warp copy the same map");
      return Step::Block;
    }
    lastTo = to;
    lastFrom = from;
    uint32_t offset = 0;
    Cta *source = c.cluster.sharedTarget(c, lane, from, kTensorMapBytes, offset, "copies");
    if (!source || misaligned(c, lane, offset, kTensorMapBytes, "shared", "copies") ||
        !c.cluster.checkGlobal(c, lane, to, kTensorMapBytes, "copies") ||
        misaligned(c, lane, to, kTensorMapBytes, "global", "copies"))
      return Step::Block;
    if (c.cluster.checking())
      c.cluster.sharedRead(c, *source, lane, offset, kTensorMapBytes, 0);
    c.cluster.writeGlobal(to, source->shared.data() + offset, kTensorMapBytes);
    c.cluster.noteGlobal(c, lane, to, kTensorMapBytes, 0, kAccessWrite);
    noteEdit(c, lane, to);
  }
  c.cluster.maps.release(c.warp.order, c.warp.agent);
  ++c.cluster.progress;
  return Step::Next;
}
void buildCopy(Decoder &d, int) {
  if (!d.expectOperands(3))
    return;
  if (d.literal(2) != static_cast<int64_t>(kTensorMapBytes))
    return d.fail("the size of a tensor map is 128 bytes");
  d.listStart();
  listAddress(d, d.operand(0));
  listAddress(d, d.operand(1));
  d.out.flags |= kAligned;
  d.out.exec = copyAndRelease;
}

#define GIRIH_FIELD(index, name, type)                                                             \
  {"tensormap", "replace tile " name " global|shared::cta? b1024 " type, buildReplace, index}
const Form forms[] = {
    GIRIH_FIELD(0, "global_address", "b64"),
    GIRIH_FIELD(1, "rank", "b32"),
    GIRIH_FIELD(2, "box_dim", "b32"),
    GIRIH_FIELD(3, "global_dim", "b32"),
    GIRIH_FIELD(4, "global_stride", "b64"),
    GIRIH_FIELD(5, "element_stride", "b32"),
    GIRIH_FIELD(6, "elemtype", "b32"),
    GIRIH_FIELD(7, "interleave_layout", "b32"),
    GIRIH_FIELD(8, "swizzle_mode", "b32"),
    GIRIH_FIELD(9, "fill_mode", "b32"),
    {"tensormap",
     "cp_fenceproxy global shared::cta tensormap::generic release cta|cluster|gpu|sys sync aligned",
     buildCopy},
};

} // namespace

std::span<const Form> tensorMapForms() { return forms; }

} // namespace girih::emu
