//===- MergeFunctions.cpp - PTX functions become part of a kernel's module
//------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/DeviceFunctions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace girih;
using llvm::StringRef;

/// "9.3" as 903; 0 for a line that is no version.
static unsigned versionIn(StringRef line) {
  unsigned major = 0, minor = 0;
  line = line.trim();
  if (!line.consume_front(".version ") || line.consumeInteger(10, major) ||
      !line.consume_front(".") || line.consumeInteger(10, minor))
    return 0;
  return 100 * major + minor;
}

static bool isNameLetter(char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; }

/// Calls `visit` with each name in a text (registers and directives without their first letter).
static void forNames(StringRef text, llvm::function_ref<void(size_t, StringRef)> visit) {
  for (size_t at = 0; at < text.size();) {
    if (!isNameLetter(text[at])) {
      ++at;
      continue;
    }
    StringRef name = text.substr(at).take_while(isNameLetter);
    visit(at, name);
    at += name.size();
  }
}

namespace {
/// A function or variable of a module, as text.
struct Item {
  std::string name;
  std::string text;
};
} // namespace

/// The name that a function or variable defines: behind a function's result, before its parameters;
/// before a variable's brackets, value or end.
static StringRef nameOf(StringRef text) {
  StringRef head = text.take_until([](char c) { return c == '{' || c == ';'; });
  if (head.contains(".func")) {
    head = head.substr(head.find(".func") + 5).ltrim();
    if (head.starts_with("("))
      head = head.substr(head.find(')') + 1).ltrim();
    return head.take_while(isNameLetter);
  }
  head = head.take_until([](char c) { return c == '[' || c == '='; }).rtrim();
  size_t begin =
      head.find_last_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$");
  return head.substr(begin + 1);
}

/// A module's functions and variables, without its header. A statement ends with a semicolon, or
/// with the brace of a function's body.
static llvm::SmallVector<Item> itemsOf(StringRef module, unsigned &version) {
  llvm::SmallVector<Item> items;
  std::string text;
  int depth = 0;
  bool inFunction = false;
  while (!module.empty()) {
    auto [line, rest] = module.split('\n');
    module = rest;
    StringRef code = line.trim();
    if (unsigned found = versionIn(line))
      version = found;
    if (depth == 0 && text.empty() &&
        (code.empty() || code.starts_with("//") || code.starts_with(".version") ||
         code.starts_with(".target") || code.starts_with(".address_size")))
      continue;
    if (text.empty())
      inFunction = code.contains(".func");
    text += line.str() + "\n";
    depth += static_cast<int>(code.count('{')) - static_cast<int>(code.count('}'));
    bool ends = inFunction ? code.ends_with("}") || code.ends_with(";") : code.ends_with(";");
    if (depth == 0 && ends) {
      items.push_back({nameOf(text).str(), text});
      text.clear();
    }
  }
  return items;
}

/// Marks an item and those that it names.
static void keep(llvm::ArrayRef<Item> items, const llvm::StringMap<size_t> &byName, size_t index,
                 llvm::SmallVectorImpl<bool> &kept) {
  if (kept[index])
    return;
  kept[index] = true;
  forNames(items[index].text, [&](size_t, StringRef name) {
    if (auto found = byName.find(name); found != byName.end())
      keep(items, byName, found->second, kept);
  });
}

std::string target::mergeFunctions(std::string_view kernel, std::string_view functions,
                                   const std::vector<std::string> &names,
                                   const std::string &suffix) {
  unsigned added = 0;
  llvm::SmallVector<Item> items = itemsOf(StringRef(functions), added);
  llvm::StringMap<size_t> byName;
  for (auto [index, item] : llvm::enumerate(items))
    byName[item.name] = index;
  llvm::SmallVector<bool> kept(items.size(), false);
  for (const std::string &name : names)
    if (auto found = byName.find(name); found != byName.end())
      keep(items, byName, found->second, kept);

  std::string definitions;
  for (auto [index, item] : llvm::enumerate(items)) {
    if (!kept[index])
      continue;
    StringRef text = item.text;
    // To functions that are seen from outside ptxas gives the convention of calls.
    text.consume_front(".visible ");
    size_t written = 0;
    forNames(text, [&](size_t at, StringRef name) {
      if (!byName.contains(name) || llvm::is_contained(names, name))
        return;
      definitions += text.substr(written, at + name.size() - written).str() + suffix;
      written = at + name.size();
    });
    definitions += text.substr(written).str() + "\n";
  }

  std::string merged;
  StringRef rest(kernel);
  bool skipping = false;
  while (!rest.empty()) {
    auto [line, behind] = rest.split('\n');
    rest = behind;
    StringRef code = line.trim();
    if (unsigned own = versionIn(line)) {
      unsigned higher = std::max(own, added);
      merged +=
          ".version " + std::to_string(higher / 100) + "." + std::to_string(higher % 100) + "\n";
      continue;
    }
    if (code.starts_with(".extern .func"))
      skipping = byName.contains(nameOf(line.str() + "\n" + behind.str()));
    if (!skipping)
      merged += line.str() + "\n";
    else if (code.ends_with(";"))
      skipping = false;
    if (code.starts_with(".address_size"))
      merged += "\n" + definitions;
  }
  return merged;
}
