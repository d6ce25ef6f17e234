//===- Locations.cpp - The user's lines, through LLVM, into PTX
//----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//

#include "girih/Target/Locations.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

#include <map>

using namespace girih;
using namespace girih::target;
namespace LLVM = mlir::LLVM;

//===--------------------------------------------------------------------------------------------===//
// Reading MLIR locations
//===--------------------------------------------------------------------------------------------===//

static void appendPlaces(mlir::Location location, llvm::StringRef function,
                         std::vector<Place> &places) {
  if (auto callSite = llvm::dyn_cast<mlir::CallSiteLoc>(location)) {
    appendPlaces(callSite.getCallee(), "", places);
    appendPlaces(callSite.getCaller(), function, places);
  } else if (auto named = llvm::dyn_cast<mlir::NameLoc>(location)) {
    appendPlaces(named.getChildLoc(), named.getName().getValue(), places);
  } else if (auto file = llvm::dyn_cast<mlir::FileLineColLoc>(location)) {
    places.push_back({function.str(), file.getFilename().str(), file.getLine(), file.getColumn()});
  } else if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location)) {
    // Merging all parts, as MLIR's translation does, gives line 0: the first that says anything
    // wins.
    for (mlir::Location part : fused.getLocations()) {
      size_t before = places.size();
      appendPlaces(part, function, places);
      if (places.size() != before)
        return;
    }
  } else if (auto opaque = llvm::dyn_cast<mlir::OpaqueLoc>(location)) {
    appendPlaces(opaque.getFallbackLocation(), function, places);
  }
}

std::vector<Place> target::placesOf(mlir::Location location) {
  std::vector<Place> places;
  appendPlaces(location, "", places);
  return places;
}

std::vector<image::Function> target::declaredSources(mlir::ModuleOp module) {
  std::vector<image::Function> sources;
  auto list = module->getAttrOfType<mlir::ArrayAttr>("girih.sources");
  if (!list)
    return sources;
  for (mlir::Attribute element : list) {
    auto entry = llvm::dyn_cast<mlir::DictionaryAttr>(element);
    auto name = entry ? entry.getAs<mlir::StringAttr>("name") : mlir::StringAttr();
    if (!name)
      continue;
    image::Function function;
    function.name = name.str();
    if (auto file = entry.getAs<mlir::StringAttr>("file"))
      function.file = file.str();
    if (auto line = entry.getAs<mlir::IntegerAttr>("line"))
      function.line = line.getInt();
    sources.push_back(std::move(function));
  }
  return sources;
}

//===--------------------------------------------------------------------------------------------===//
// Step 1: debug scopes on MLIR
//===--------------------------------------------------------------------------------------------===//

namespace {
/// Builds the debug attributes of one gpu.module. A frame's function is the scope's file name and
/// its file the scope's directory; numberLocations reads them back.
class ScopeBuilder {
public:
  explicit ScopeBuilder(mlir::MLIRContext *context) : context(context) {
    auto file = LLVM::DIFileAttr::get(context, "girih", "");
    unit = LLVM::DICompileUnitAttr::get(
        mlir::DistinctAttr::create(mlir::UnitAttr::get(context)), llvm::dwarf::DW_LANG_C99, file,
        mlir::StringAttr::get(context, "girih"), /*isOptimized=*/true,
        LLVM::DIEmissionKind::DebugDirectivesOnly);
    type = LLVM::DISubroutineTypeAttr::get(context, llvm::ArrayRef<LLVM::DITypeAttr>());
  }

  /// Locations of everything in `function`, and the function's own subprogram.
  void rewrite(LLVM::LLVMFuncOp function) {
    if (function.isExternal())
      return;
    mlir::Location own = function.getLoc();
    std::vector<Place> places = placesOf(own);
    if (places.empty())
      places.push_back({function.getName().str(), "", 0, 0});
    outermost = places.back();
    // A function's own location need not name the function that it is in: its ops say it.
    if (outermost.function.empty())
      function.walk([&](mlir::Operation *op) {
        std::vector<Place> chain = placesOf(op->getLoc());
        if (chain.empty() || chain.back().function.empty() || op == function)
          return mlir::WalkResult::advance();
        outermost.function = chain.back().function;
        outermost.file = chain.back().file;
        return mlir::WalkResult::interrupt();
      });
    scope = subprogram(outermost, function.getName());
    inner.clear();
    cache.clear();
    mlir::Location fallback = convert(places);
    for (mlir::Block &block : function.getBody())
      for (mlir::Operation &top : block)
        top.walk([&](mlir::Operation *op) { op->setLoc(converted(op->getLoc(), fallback)); });
    function->setLoc(
        mlir::FusedLoc::get(context,
                            {mlir::FileLineColLoc::get(context, outermost.function,
                                                       static_cast<unsigned>(outermost.line), 0)},
                            scope));
  }

private:
  static std::string functionName(const Place &place) {
    // A plain .mlir file names no functions: its file is the one "function", and PTX holds no path.
    if (!place.function.empty())
      return place.function;
    return llvm::sys::path::filename(place.file).str();
  }

  LLVM::DIFileAttr fileOf(const Place &place) {
    return LLVM::DIFileAttr::get(context, functionName(place), place.file);
  }

  LLVM::DISubprogramAttr subprogram(const Place &place, llvm::StringRef linkageName) {
    auto file = fileOf(place);
    return LLVM::DISubprogramAttr::get(
        context, mlir::DistinctAttr::create(mlir::UnitAttr::get(context)), unit, file,
        mlir::StringAttr::get(context, functionName(place)),
        linkageName.empty() ? mlir::StringAttr() : mlir::StringAttr::get(context, linkageName),
        file, static_cast<unsigned>(place.line), static_cast<unsigned>(place.line),
        LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized, type,
        /*retainedNodes=*/{}, /*annotations=*/{});
  }

  mlir::Location frame(const Place &place, LLVM::DILocalScopeAttr frameScope) {
    auto position =
        mlir::FileLineColLoc::get(context, functionName(place), static_cast<unsigned>(place.line),
                                  static_cast<unsigned>(place.column));
    return mlir::FusedLoc::get(context, {position}, frameScope);
  }

  /// The outermost frame must be in the function's own subprogram; where it names another function
  /// (a kernel generated from several), a block of that "file" inside the subprogram says so.
  LLVM::DILocalScopeAttr outerScope(const Place &place) {
    auto file = fileOf(place);
    if (file == scope.getFile())
      return scope;
    return LLVM::DILexicalBlockFileAttr::get(scope, file, /*discriminator=*/0);
  }

  LLVM::DILocalScopeAttr innerScope(const Place &place) {
    LLVM::DISubprogramAttr &entry = inner[{functionName(place), place.file}];
    if (!entry)
      entry = subprogram({functionName(place), place.file, 1, 0}, "");
    return entry;
  }

  mlir::Location convert(const std::vector<Place> &chain) {
    mlir::Location location = frame(chain.back(), outerScope(chain.back()));
    for (size_t i = chain.size() - 1; i-- > 0;)
      location = mlir::CallSiteLoc::get(frame(chain[i], innerScope(chain[i])), location);
    return location;
  }

  mlir::Location converted(mlir::Location location, mlir::Location fallback) {
    auto known = cache.find(location);
    if (known != cache.end())
      return mlir::Location(llvm::cast<mlir::LocationAttr>(known->second));
    std::vector<Place> chain = placesOf(location);
    mlir::Location result = chain.empty() ? fallback : convert(chain);
    cache[location] = result;
    return result;
  }

  mlir::MLIRContext *context;
  LLVM::DICompileUnitAttr unit;
  LLVM::DISubroutineTypeAttr type;
  LLVM::DISubprogramAttr scope;
  Place outermost;
  std::map<std::pair<std::string, std::string>, LLVM::DISubprogramAttr> inner;
  llvm::DenseMap<mlir::Attribute, mlir::Attribute> cache;
};
} // namespace

void target::attachDebugScopes(mlir::Operation *gpuModule) {
  ScopeBuilder builder(gpuModule->getContext());
  gpuModule->walk([&](LLVM::LLVMFuncOp function) { builder.rewrite(function); });
}

//===--------------------------------------------------------------------------------------------===//
// Step 2: numbers on optimised LLVM IR
//===--------------------------------------------------------------------------------------------===//

namespace {
class Numberer {
public:
  Numberer(llvm::LLVMContext &context, const std::vector<image::Function> &sources)
      : context(context) {
    table.functions = sources;
  }

  void rewrite(llvm::Function &function) {
    if (!function.getSubprogram())
      return;
    fillMissing(function);
    llvm::DISubprogram *subprogram = relativeSubprogram(function.getSubprogram());
    scopes.clear();
    std::map<const llvm::DILocation *, llvm::DILocation *> done;
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      const llvm::DILocation *location = instruction.getDebugLoc().get();
      if (!location)
        continue;
      llvm::DILocation *&numbered = done[location];
      if (!numbered)
        numbered = number(location, subprogram);
      instruction.setDebugLoc(llvm::DebugLoc(numbered));
      // A loop's metadata may begin with two locations; they would keep the old scopes alive.
      if (instruction.isTerminator())
        instruction.setMetadata(llvm::LLVMContext::MD_loop, nullptr);
    }
    function.setSubprogram(subprogram);
  }

  image::LocationTable table;

private:
  /// Merged instructions have line 0, generated ones no location: each takes that of the
  /// instruction before it in the block, at a block's begin that at the end of a predecessor.
  static void fillMissing(llvm::Function &function) {
    llvm::DenseMap<const llvm::BasicBlock *, const llvm::DILocation *> atEnd;
    const llvm::DILocation *first = nullptr;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (const llvm::DILocation *location = instruction.getDebugLoc().get();
          location && location->getLine() != 0) {
        first = location;
        break;
      }
    for (llvm::BasicBlock *block : llvm::ReversePostOrderTraversal<llvm::Function *>(&function)) {
      const llvm::DILocation *current = first;
      for (const llvm::BasicBlock *predecessor : llvm::predecessors(block))
        if (auto known = atEnd.find(predecessor); known != atEnd.end()) {
          current = known->second;
          break;
        }
      for (llvm::Instruction &instruction : *block) {
        const llvm::DILocation *location = instruction.getDebugLoc().get();
        if (location && location->getLine() != 0)
          current = location;
        else if (current)
          instruction.setDebugLoc(llvm::DebugLoc(const_cast<llvm::DILocation *>(current)));
      }
      atEnd[block] = current;
    }
  }

  uint32_t functionIndex(llvm::StringRef name, llvm::StringRef file) {
    auto found = functions.find({name.str(), file.str()});
    if (found != functions.end())
      return found->second;
    std::optional<uint32_t> byName;
    uint32_t index = table.functions.size();
    for (uint32_t i = 0; i < table.functions.size(); ++i)
      if (table.functions[i].name == name) {
        if (table.functions[i].file == file) {
          byName = i;
          break;
        }
        if (!byName)
          byName = i;
      }
    if (byName)
      index = *byName;
    else
      table.functions.push_back({name.str(), file.str(), 1});
    functions[{name.str(), file.str()}] = index;
    return index;
  }

  image::Frame frame(const llvm::DILocation *location) {
    image::Frame result;
    result.function = functionIndex(location->getFilename(), location->getDirectory());
    int64_t first = table.functions[result.function].line;
    result.line = location->getLine() - (first > 0 ? first : 1) + 1;
    result.column = location->getColumn();
    return result;
  }

  llvm::DILocation *number(const llvm::DILocation *location, llvm::DISubprogram *subprogram) {
    std::vector<image::Frame> chain;
    for (const llvm::DILocation *at = location; at; at = at->getInlinedAt())
      chain.push_back(frame(at));
    std::vector<int64_t> key;
    for (const image::Frame &at : chain)
      key.insert(key.end(), {at.function, at.line, at.column});
    auto [entry, isNew] = numbers.try_emplace(std::move(key), 0);
    if (isNew && table.locations.size() < maxLocations) {
      table.locations.push_back(chain);
      entry->second = static_cast<uint32_t>(table.locations.size());
    }
    // LLVM has no negative lines; a function whose ops stand above its first line is the front
    // end's mistake, and line 0 says "unknown" to every reader.
    unsigned line = static_cast<unsigned>(std::max<int64_t>(chain.front().line, 0));
    const std::string &name = table.functions[chain.front().function].name;
    return llvm::DILocation::get(context, line, entry->second, scopeFor(name, subprogram));
  }

  llvm::DILocalScope *scopeFor(const std::string &name, llvm::DISubprogram *subprogram) {
    if (subprogram->getFilename() == name)
      return subprogram;
    llvm::DILocalScope *&scope = scopes[name];
    if (!scope)
      scope = llvm::DILexicalBlockFile::get(context, subprogram,
                                            llvm::DIFile::get(context, name, ""), 0);
    return scope;
  }

  /// `old` without its path and with a relative line: LLVM prints its line in the .loc at the head
  /// of the function.
  llvm::DISubprogram *relativeSubprogram(llvm::DISubprogram *old) {
    uint32_t index = functionIndex(old->getFilename(), old->getDirectory());
    int64_t first = std::max<int64_t>(table.functions[index].line, 1);
    unsigned line = static_cast<unsigned>(std::max<int64_t>(old->getLine() - first + 1, 0));
    llvm::DIFile *file = llvm::DIFile::get(context, old->getFilename(), "");
    return llvm::DISubprogram::getDistinct(
        context, file, old->getName(), old->getLinkageName(), file, line, old->getType(), line,
        nullptr, 0, 0, llvm::DINode::FlagZero, old->getSPFlags(), old->getUnit());
  }

  llvm::LLVMContext &context;
  std::map<std::pair<std::string, std::string>, uint32_t> functions;
  std::map<std::vector<int64_t>, uint32_t> numbers;
  std::map<std::string, llvm::DILocalScope *> scopes;
};
} // namespace

image::LocationTable target::numberLocations(llvm::Module &module,
                                             const std::vector<image::Function> &sources) {
  Numberer numberer(module.getContext(), sources);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      numberer.rewrite(function);
  return std::move(numberer.table);
}
