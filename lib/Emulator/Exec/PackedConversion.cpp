// Conversions to and from registers of several values (PTX ISA 9.0, 9.7.9.21 "cvt" of f16x2,
// bf16x2, e4m3x2 and e5m2x2; 9.7.9.22 "cvt.pack").
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#undef GIRIH_TARGET_FILE
#define GIRIH_TARGET_FILE "Emulator/Exec/PackedConversion.cpp"
#include "Emulator/Exec/Targets.h"

#include "Emulator/Exec/ConversionOps.h"
#include "Emulator/Exec/FloatOps.h"

GIRIH_TARGET_BEGIN

namespace {

using ptx::Type;

/// Negative numbers to +0; NaN stays.
GIRIH_INLINE float rectify(float v) { return v > 0 || v != v ? v : 0.0f; }

/// a goes to the upper half.
template <typename Format, Rounding rounding> Step pack2(Context &c, const Instr &in) {
  const bool relu = in.sub & kConvertRelu, satfinite = in.sub & kConvertSatfinite;
  return lanes2<uint32_t, float, float>(c, in, [=](float a, float b) {
    auto one = [=](float v) -> uint32_t {
      uint16_t code = Format::template store<rounding>(relu ? rectify(v) : v);
      bool infinite = (code & 0x7fff) == Format::kExponent;
      return satfinite && infinite ? code - 1u : code;
    };
    return one(a) << 16 | one(b);
  });
}
void buildPack2(Decoder &d, int) {
  simpleOperands(d, 2, 4);
  d.out.sub = static_cast<uint8_t>((d.has("satfinite") ? kConvertSatfinite : 0) |
                                   (d.has("relu") ? kConvertRelu : 0));
  const bool nearest = d.has("rn");
  if (d.type() == Type::BF16x2)
    d.out.exec = nearest ? ExecFn(pack2<Brain, Rounding::NearestEven>)
                         : ExecFn(pack2<Brain, Rounding::TowardsZero>);
  else
    d.out.exec = nearest ? ExecFn(pack2<Half, Rounding::NearestEven>)
                         : ExecFn(pack2<Half, Rounding::TowardsZero>);
}

template <bool e5m2> GIRIH_INLINE uint32_t toFp8(float v, bool relu) {
  uint32_t code = bits::of(relu ? rectify(v) : v);
  return e5m2 ? bits::narrowE5m2(code) : bits::narrowE4m3(code);
}
template <bool e5m2> Step packFp8(Context &c, const Instr &in) {
  const bool relu = in.sub & kConvertRelu;
  return lanes2<uint16_t, float, float>(c, in, [=](float a, float b) {
    return static_cast<uint16_t>(toFp8<e5m2>(a, relu) << 8 | toFp8<e5m2>(b, relu));
  });
}
template <bool e5m2> Step packFp8FromHalf(Context &c, const Instr &in) {
  const bool relu = in.sub & kConvertRelu;
  return lanes1<uint16_t, uint32_t>(c, in, [=](uint32_t a) {
    float high = Half::load(static_cast<uint16_t>(a >> 16)), low = Half::load(a & 0xffff);
    return static_cast<uint16_t>(toFp8<e5m2>(high, relu) << 8 | toFp8<e5m2>(low, relu));
  });
}
void buildPackFp8(Decoder &d, int fromHalf) {
  if (!d.expectOperands(fromHalf ? 2 : 3))
    return;
  d.out.sub = d.has("relu") ? kConvertRelu : 0;
  d.out.d[0] = d.dest(0, 2);
  d.out.s[0] = d.source(1, 4);
  if (!fromHalf)
    d.out.s[1] = d.source(2, 4);
  if (d.type() == Type::E5M2x2)
    d.out.exec = fromHalf ? ExecFn(packFp8FromHalf<true>) : ExecFn(packFp8<true>);
  else
    d.out.exec = fromHalf ? ExecFn(packFp8FromHalf<false>) : ExecFn(packFp8<false>);
}
/// Exact: binary16 holds every value of both formats.
template <bool e5m2> Step unpackFp8(Context &c, const Instr &in) {
  const bool relu = in.sub & kConvertRelu;
  return lanes1<uint32_t, uint16_t>(c, in, [=](uint16_t a) {
    auto one = [=](uint32_t code) -> uint32_t {
      float v = std::bit_cast<float>(e5m2 ? bits::widenE5m2(code) : bits::widenE4m3(code));
      return Half::store(relu ? rectify(v) : v);
    };
    return one(a & 0xff) | one(static_cast<uint32_t>(a) >> 8) << 16;
  });
}
void buildUnpackFp8(Decoder &d, int) {
  if (!d.expectOperands(2))
    return;
  d.out.sub = d.has("relu") ? kConvertRelu : 0;
  d.out.d[0] = d.dest(0, 4);
  d.out.s[0] = d.source(1, 2);
  d.out.exec = d.type(1) == Type::E5M2x2 ? ExecFn(unpackFp8<true>) : ExecFn(unpackFp8<false>);
}

/// 9.7.9.22: a and b clamped to `bytes` bits, below the low bits of c if there is one.
Step packIntegers(Context &c, const Instr &in) {
  const unsigned size = in.bytes;
  const int32_t high = in.sign ? (1 << (size - 1)) - 1 : static_cast<int32_t>((1u << size) - 1),
                low = in.sign ? -(1 << (size - 1)) : 0;
  const uint32_t field = (1u << size) - 1;
  const int32_t *a = c.src<int32_t>(in.s[0]), *b = c.src<int32_t>(in.s[1]);
  const uint32_t *e = in.s[2] == kNone ? nullptr : c.src<uint32_t>(in.s[2]);
  uint32_t t[32];
  for (unsigned i = 0; i < 32; ++i) {
    auto clamp = [=](int32_t v) {
      return static_cast<uint32_t>(v < low ? low : v > high ? high : v) & field;
    };
    t[i] = clamp(a[i]) << size | clamp(b[i]);
    if (e)
      t[i] |= e[i] << (2 * size);
  }
  storeLanes(c, in.d[0], t);
  return Step::Next;
}
void buildPackIntegers(Decoder &d, int size) {
  const bool third = size < 16;
  simpleOperands(d, third ? 3 : 2, 4);
  d.out.bytes = static_cast<uint8_t>(size);
  d.out.sign = d.which({"s2", "s4", "s8", "s16"}) >= 0;
  d.out.exec = packIntegers;
}

const Form forms[] = {
    {"cvt", "rn|rz relu? satfinite? f16x2|bf16x2 f32", buildPack2},
    {"cvt", "rn satfinite relu? e4m3x2|e5m2x2 f32", buildPackFp8, 0},
    {"cvt", "rn satfinite relu? e4m3x2|e5m2x2 f16x2", buildPackFp8, 1},
    {"cvt", "rn relu? f16x2 e4m3x2|e5m2x2", buildUnpackFp8},
    {"cvt", "pack sat u16|s16 s32", buildPackIntegers, 16},
    {"cvt", "pack sat u8|s8 s32 b32", buildPackIntegers, 8},
    {"cvt", "pack sat u4|s4 s32 b32", buildPackIntegers, 4},
    {"cvt", "pack sat u2|s2 s32 b32", buildPackIntegers, 2},
};

} // namespace

std::span<const Form> packedConversionForms() { return forms; }

GIRIH_TARGET_END
