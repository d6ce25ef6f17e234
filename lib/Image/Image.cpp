//===- Image.cpp - One file for both drivers
//----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that need both the ELF file and the location table in it.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Image/Image.h"

namespace girih::image {

Bytes setSources(std::string_view image, const std::vector<Source> &sources) {
  std::optional<std::string_view> section = readSection(image, locationSection);
  if (!section)
    return Bytes(image);
  LocationTable table = LocationTable::parse(*section);
  for (const Source &source : sources)
    table.setSource(source.name, source.file, source.firstLine);
  return withSections(image, {{std::string(locationSection), table.print()}});
}

Bytes withoutTraces(std::string_view image) {
  Sections sections;
  for (std::string_view name : {ptxSection, locationSection, manifestSection})
    if (std::optional<std::string_view> contents = readSection(image, name))
      sections.emplace_back(name, *contents);
  return withSections(image, sections);
}

LocationTable readLocations(std::string_view image) {
  std::optional<std::string_view> section = readSection(image, locationSection);
  return section ? LocationTable::parse(*section) : LocationTable();
}

} // namespace girih::image
