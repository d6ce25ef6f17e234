//===- Argument.cpp - What a call passes to a kernel
//---------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments as text, for messages.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/Argument.h"

#include <sstream>

namespace girih::runtime {

std::string printExtents(const std::vector<int64_t> &extents) {
  std::string text = "(";
  for (size_t i = 0; i < extents.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(extents[i]);
  return text + (extents.size() == 1 ? ",)" : ")");
}

std::string describe(const Argument &argument) {
  if (const auto *array = std::get_if<ArrayArgument>(&argument))
    return std::string("an array of ") + name(array->dtype) + " with shape " +
           printExtents(array->shape);
  if (const auto *integer = std::get_if<int64_t>(&argument))
    return "the integer " + std::to_string(*integer);
  if (std::holds_alternative<Absent>(argument))
    return "nothing";
  std::ostringstream text;
  text << "the float " << std::get<double>(argument);
  return text.str();
}

} // namespace girih::runtime
