// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Ptx/Ast.h"

#include <array>

namespace girih::emu::ptx {

namespace {
struct TypeRow {
  Type type;
  const char *name;
  uint8_t bytes;
  bool isSigned, isFloat;
};
constexpr std::array<TypeRow, 31> rows = {{
    {Type::None, "none", 0, false, false},    {Type::Pred, "pred", 1, false, false},
    {Type::B8, "b8", 1, false, false},        {Type::B16, "b16", 2, false, false},
    {Type::B32, "b32", 4, false, false},      {Type::B64, "b64", 8, false, false},
    {Type::B128, "b128", 16, false, false},   {Type::U8, "u8", 1, false, false},
    {Type::U16, "u16", 2, false, false},      {Type::U32, "u32", 4, false, false},
    {Type::U64, "u64", 8, false, false},      {Type::S8, "s8", 1, true, false},
    {Type::S16, "s16", 2, true, false},       {Type::S32, "s32", 4, true, false},
    {Type::S64, "s64", 8, true, false},       {Type::F16, "f16", 2, false, true},
    {Type::F16x2, "f16x2", 4, false, true},   {Type::BF16, "bf16", 2, false, true},
    {Type::BF16x2, "bf16x2", 4, false, true}, {Type::TF32, "tf32", 4, false, true},
    {Type::F32, "f32", 4, false, true},       {Type::F64, "f64", 8, false, true},
    {Type::E4M3, "e4m3", 1, false, true},     {Type::E5M2, "e5m2", 1, false, true},
    {Type::E4M3x2, "e4m3x2", 2, false, true}, {Type::E5M2x2, "e5m2x2", 2, false, true},
    {Type::U16x2, "u16x2", 4, false, false},  {Type::S16x2, "s16x2", 4, true, false},
    {Type::S4, "s4", 0, true, false},         {Type::U4, "u4", 0, false, false},
    {Type::B1, "b1", 0, false, false},
}};
const TypeRow &row(Type type) { return rows[static_cast<size_t>(type)]; }
} // namespace

Type parseType(std::string_view name) {
  for (size_t i = 1; i < rows.size(); ++i)
    if (name == rows[i].name)
      return rows[i].type;
  return Type::None;
}
const char *typeName(Type type) { return row(type).name; }
unsigned typeBytes(Type type) { return row(type).bytes; }
bool isSigned(Type type) { return row(type).isSigned; }
bool isFloat(Type type) { return row(type).isFloat; }

} // namespace girih::emu::ptx
