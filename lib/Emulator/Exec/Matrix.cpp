// Fragments of 8x8 matrices to and from shared memory (PTX ISA 9.0, 9.7.14.5.15
// "ldmatrix", 9.7.14.5.16 "stmatrix", 9.7.14.5.17 "movmatrix"). Lanes 8 i to 8 i + 7 name the rows
// of matrix i, 16 bytes each; lane l holds the elements (l / 4, 2 (l % 4)) and the next one of each
// matrix, or of its transpose.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/Address.h"

namespace girih::emu {

namespace {

/// Row pointers of all matrices; false if a row is bad. `undefined`: a bit for each byte of each
/// row.
bool rows(Context &c, const Instr &in, bool writes, uint8_t **row, uint64_t *undefined = nullptr) {
  const unsigned count = in.count * 8u;
  uint64_t places[32];
  for (unsigned lane = 0; lane < count; ++lane) {
    uint64_t address = static_cast<uint64_t>(in.imm);
    if (in.s[0] != kNone)
      address += in.width == 4 ? c.src<uint32_t>(in.s[0])[lane] : c.src<uint64_t>(in.s[0])[lane];
    uint32_t offset = 0;
    const char *what = writes ? "stmatrix writes" : "ldmatrix reads";
    if (classify(in.space, address) != AddressSpace::Shared) {
      c.cluster.fault("shared-out-of-bounds",
                      std::string(what) + " a generic address that is not in shared memory",
                      {c.cluster.here(c, what, static_cast<int>(lane))});
      return false;
    }
    Cta *target = c.cluster.sharedTarget(c, lane, address, 16, offset, what);
    if (!target)
      return false;
    if (offset % 16) {
      Site here = c.cluster.here(c, what, static_cast<int>(lane));
      here.space = "shared";
      here.address = offset;
      here.bytes = 16;
      c.cluster.fault("misaligned", "the address of a matrix row is not a multiple of 16", {here});
      return false;
    }
    if (c.cluster.checking()) {
      if (writes)
        c.cluster.sharedWrite(c, *target, lane, offset, 16);
      else
        c.cluster.sharedRead(c, *target, lane, offset, 16);
      if (undefined && (undefined[lane] = target->sharedDefined.undefinedMask(offset, 16)))
        c.cluster.readUndefinedShared(c, *target, lane, offset, 16);
    }
    row[lane] = target->shared.data() + offset;
    places[lane] = offset;
  }
  if (c.cluster.counting()) [[unlikely]]
    c.cluster.countAccess(c, static_cast<uint32_t>((uint64_t(1) << count) - 1),
                          AddressSpace::Shared, places, 16);
  return true;
}

Step ldmatrix(Context &c, const Instr &in) {
  uint8_t *row[32];
  uint64_t undefined[32] = {};
  if (!rows(c, in, false, row, undefined))
    return Step::Block;
  for (unsigned m = 0; m < in.count; ++m) {
    uint32_t t[32];
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint16_t low, high;
      unsigned r = lane / 4, e = 2 * (lane % 4);
      if (in.sub & 1) {
        std::memcpy(&low, row[8 * m + e] + 2 * r, 2);
        std::memcpy(&high, row[8 * m + e + 1] + 2 * r, 2);
      } else {
        std::memcpy(&low, row[8 * m + r] + 2 * e, 2);
        std::memcpy(&high, row[8 * m + r] + 2 * e + 2, 2);
      }
      t[lane] = low | static_cast<uint32_t>(high) << 16;
    }
    storeLanes(c, c.cluster.kernel.lists[in.list + m], t);
    uint32_t undefinedLanes = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned r = lane / 4, e = 2 * (lane % 4);
      uint64_t bytes = in.sub & 1 ? (undefined[8 * m + e] | undefined[8 * m + e + 1]) >> (2 * r) & 3
                                  : undefined[8 * m + r] >> (2 * e) & 15;
      undefinedLanes |= uint32_t(bytes != 0) << lane;
    }
    c.setDefined(c.cluster.kernel.lists[in.list + m], undefinedLanes, c.pc);
  }
  return Step::Next;
}
Step stmatrix(Context &c, const Instr &in) {
  uint8_t *row[32];
  if (!rows(c, in, true, row))
    return Step::Block;
  for (unsigned m = 0; m < in.count; ++m) {
    const uint32_t *a = c.src<uint32_t>(c.cluster.kernel.lists[in.list + m]);
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint16_t low = static_cast<uint16_t>(a[lane]), high = static_cast<uint16_t>(a[lane] >> 16);
      unsigned r = lane / 4, e = 2 * (lane % 4);
      if (in.sub & 1) {
        std::memcpy(row[8 * m + e] + 2 * r, &low, 2);
        std::memcpy(row[8 * m + e + 1] + 2 * r, &high, 2);
      } else {
        std::memcpy(row[8 * m + r] + 2 * e, &low, 2);
        std::memcpy(row[8 * m + r] + 2 * e + 2, &high, 2);
      }
    }
  }
  ++c.cluster.progress;
  return Step::Next;
}
void buildMatrix(Decoder &d, int variant) {
  if (!d.expectOperands(2))
    return;
  bool loads = variant == 0;
  unsigned count = d.has("x4") ? 4 : d.has("x2") ? 2 : 1;
  const ptx::Operand &data = d.operand(loads ? 0 : 1);
  d.address(d.operand(loads ? 1 : 0), d.spaceModifier());
  if (data.kind != ptx::OperandKind::Vector || data.elements.size() != count)
    return d.fail("expected " + std::to_string(count) + " registers in braces");
  d.listStart();
  for (const ptx::Operand &e : data.elements)
    d.listAdd(loads ? d.dest(e, 4) : d.source(e, 4));
  d.out.count = static_cast<uint8_t>(count);
  d.out.sub = static_cast<uint8_t>((d.has("trans") ? 1 : 0) | (loads ? 0x80 : 0));
  d.out.flags |= kAligned;
  d.out.exec = loads ? ldmatrix : stmatrix;
}

Step movmatrix(Context &c, const Instr &in) {
  const uint32_t *a = c.src<uint32_t>(in.s[0]);
  auto element = [&](unsigned r, unsigned e) {
    return static_cast<uint16_t>(a[4 * r + e / 2] >> (e % 2 ? 16 : 0));
  };
  uint32_t t[32];
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned r = lane / 4, e = 2 * (lane % 4);
    t[lane] = element(e, r) | static_cast<uint32_t>(element(e + 1, r)) << 16;
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildMovmatrix(Decoder &d, int) {
  simpleOperands(d, 1, 4);
  d.out.flags |= kAligned;
  d.out.exec = movmatrix;
}

const Form forms[] = {
    {"ldmatrix", "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16", buildMatrix, 0},
    {"stmatrix", "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16", buildMatrix, 1},
    {"movmatrix", "sync aligned m8n8 trans b16", buildMovmatrix},
};

} // namespace

std::span<const Form> matrixForms() { return forms; }

} // namespace girih::emu
