//===- PackageHeader.cpp - A package as a header for C
//---------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names come from Python, where more is a name than in C, and from a file that anyone may have
// written: nothing of it gets into the header that is not a name, a string or a comment there.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Runtime/PackageText.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace girih::runtime {
namespace {

/// What is no name in C17 or C++20, nor in the functions below.
bool isTaken(const std::string &name) {
  static const std::set<std::string> words = {
      "alignas",   "alignof", "and",       "asm",       "auto",      "bitand",    "bitor",
      "bool",      "break",   "case",      "catch",     "char",      "class",     "compl",
      "concept",   "const",   "consteval", "constexpr", "constinit", "continue",  "decltype",
      "default",   "delete",  "do",        "double",    "else",      "enum",      "explicit",
      "export",    "extern",  "false",     "float",     "for",       "friend",    "goto",
      "if",        "inline",  "int",       "long",      "mutable",   "namespace", "new",
      "noexcept",  "not",     "nullptr",   "operator",  "or",        "package",   "private",
      "protected", "public",  "register",  "requires",  "restrict",  "return",    "short",
      "signed",    "sizeof",  "static",    "stream",    "struct",    "switch",    "template",
      "this",      "throw",   "true",      "try",       "typedef",   "typeid",    "typename",
      "typeof",    "union",   "unsigned",  "using",     "virtual",   "void",      "volatile",
      "while",     "xor",     "NULL"};
  return words.count(name) > 0 || name.compare(0, 6, "girih_") == 0;
}

/// A name in C that is not in `used`, to which it is added.
std::string identifier(const std::string &name, std::set<std::string> &used) {
  std::string result;
  for (unsigned char c : name)
    result += c < 128 && (std::isalnum(c) || c == '_') ? static_cast<char>(c) : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])))
    result.insert(0, "_");
  while (isTaken(result) || !used.insert(result).second)
    result += '_';
  return result;
}

std::string stringLiteral(const std::string &text) {
  std::string literal = "\"";
  for (unsigned char c : text) {
    // Octal escapes end after three digits, hexadecimal ones do not.
    char octal[5];
    std::snprintf(octal, sizeof(octal), "\\%03o", c);
    literal += c >= 32 && c < 127 && c != '"' && c != '\\' && c != '?' ? std::string(1, c) : octal;
  }
  return literal + "\"";
}

/// Text that neither ends a comment nor begins a line.
std::string inComment(std::string text) {
  for (size_t i = 0; i < text.size(); ++i)
    if (static_cast<unsigned char>(text[i]) < 32 || (text[i] == '/' && i > 0 && text[i - 1] == '*'))
      text[i] = ' ';
  return text;
}

const char *scalarType(DType type) {
  switch (type) {
  case DType::F64:
    return "double";
  case DType::I8:
    return "int8_t";
  case DType::U8:
  case DType::B1:
    return "uint8_t";
  case DType::I16:
    return "int16_t";
  case DType::U16:
    return "uint16_t";
  case DType::I32:
    return "int32_t";
  case DType::U32:
    return "uint32_t";
  case DType::I64:
    return "int64_t";
  case DType::U64:
    return "uint64_t";
  default:
    return "float";
  }
}

/// The dtypes and ranks that the variants take: "bf16 or f32, 2 dimensions".
std::string accepted(const PackagedKernel &kernel, size_t index) {
  std::string types, ranks;
  auto add = [](std::string &text, const std::string &word) {
    if ((" " + text + " ").find(" " + word + " ") == std::string::npos)
      text += (text.empty() ? "" : " or ") + word;
  };
  const KernelEntry &entry = kernel.entry();
  for (size_t i = 0; i < entry.variants.size(); ++i) {
    if (!kernel.program(i) || entry.variants[i].absent[index])
      continue;
    for (const Parameter &parameter : kernel.program(i)->manifest().parameters)
      if (parameter.name == entry.parameters[index].name) {
        add(types, name(parameter.dtype));
        add(ranks, std::to_string(parameter.rank));
      }
  }
  return types + ", " + ranks + (ranks == "1" ? " dimension" : " dimensions");
}

std::string parameterComment(const PackagedKernel &kernel, size_t index, const std::string &label) {
  const DeclaredParameter &parameter = kernel.entry().parameters[index];
  std::string text = label + ": ";
  if (parameter.isArray) {
    text += parameter.access == Access::In    ? "reads "
            : parameter.access == Access::Out ? "writes "
                                              : "reads and writes ";
    text += accepted(kernel, index);
    std::string dims;
    for (const DeclaredDim &dim : parameter.dims)
      dims += (dims.empty() ? "" : ", ") + dim.name +
              (dim.multiple > 1 ? " (a multiple of " + std::to_string(dim.multiple) + ")" : "");
    if (!dims.empty())
      text += " [" + dims + "]";
  } else {
    text += name(parameter.dtype);
  }
  return text + (parameter.optional ? "; NULL for none" : "");
}

std::string functionText(const PackagedKernel &kernel, const std::string &function) {
  const KernelEntry &entry = kernel.entry();
  std::string comment = "/* " + inComment(entry.name) + ": " +
                        (entry.summary.empty() ? "a kernel" : inComment(entry.summary)) + "\n *\n";
  std::string parameters = "girih_package *package", arguments;
  std::set<std::string> used;
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    const DeclaredParameter &parameter = entry.parameters[i];
    std::string label = identifier(parameter.name, used);
    comment += " *   " + inComment(parameterComment(kernel, i, label)) + "\n";
    parameters += ", ";
    std::string argument;
    if (parameter.isArray) {
      parameters += "const girih_array *" + label;
      argument = "girih_from_array(" + label + ")";
    } else {
      bool integer = isInteger(parameter.dtype);
      std::string value = (parameter.optional ? "*" : "") + label;
      parameters += (parameter.optional ? "const " : "") +
                    std::string(scalarType(parameter.dtype)) + (parameter.optional ? " *" : " ") +
                    label;
      argument = integer ? "girih_from_integer((int64_t)" + value + ")"
                         : "girih_from_float(" + value + ")";
      if (parameter.optional)
        argument = label + " ? " + argument + " : girih_from_array(NULL)";
    }
    arguments += (arguments.empty() ? "" : ",\n      ") + argument;
  }
  size_t count = entry.parameters.size();
  std::string list = "NULL";
  std::string body = "  girih_kernel *girih_found;\n"
                     "  girih_status girih_result = girih_find_kernel(package, " +
                     stringLiteral(entry.name) + ", &girih_found);\n";
  if (count > 0) {
    body = "  girih_argument girih_arguments[] = {\n      " + arguments + "};\n" + body;
    list = "girih_arguments";
  }
  body += "  return girih_result == GIRIH_OK ? girih_launch(girih_found, " + list + ", " +
          std::to_string(count) + ", stream) : girih_result;\n";
  return comment + " */\nstatic inline girih_status " + function + "(" + parameters +
         ", girih_stream stream) {\n" + body + "}\n";
}

} // namespace

std::string packageHeader(const Package &package, const std::string &prefix) {
  std::set<std::string> functions, none;
  std::string stem = identifier(prefix, none), guard = stem + "_GIRIH_H";
  std::transform(guard.begin(), guard.end(), guard.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = "/* The kernels of a package of " + inComment(package.writer()) +
                     ", a function for each. Written by girih-package header.\n"
                     " * An array says its dtype, shape and strides; a call that no variant of the "
                     "kernel takes fails, and\n * girih_last_error says why. */\n"
                     "#ifndef " +
                     guard + "\n#define " + guard + "\n\n#include <girih/Runtime/girih.h>\n\n";
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const std::unique_ptr<PackagedKernel> &kernel : package.kernels())
    text += functionText(*kernel, identifier(stem + "_" + kernel->entry().name, functions)) + "\n";
  return text + "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

} // namespace girih::runtime
