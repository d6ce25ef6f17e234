//===- Elf.cpp - Sections of a 64-bit ELF file in memory
//----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The structures come from <elf.h>; every access goes through memcpy, since an image in memory need
// not be aligned.
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Image/Elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace girih::image {
namespace {

[[noreturn]] void damaged(const std::string &what) { throw Error("the image is damaged: " + what); }

template <typename T> T load(std::string_view file, uint64_t offset, const char *what) {
  if (offset > file.size() || file.size() - offset < sizeof(T))
    damaged(std::string(what) + " at offset " + std::to_string(offset) + " lies beyond its " +
            std::to_string(file.size()) + " bytes");
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

template <typename T> void append(Bytes &out, const T &value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

void alignTo(Bytes &out, size_t alignment) {
  out.append((alignment - out.size() % alignment) % alignment, '\0');
}

Elf64_Ehdr loadHeader(std::string_view file) {
  if (!isElf(file))
    throw Error("not an image: expected a 64-bit little-endian ELF file, found " +
                std::to_string(file.size()) + " bytes that begin otherwise");
  auto header = load<Elf64_Ehdr>(file, 0, "the ELF header");
  if (header.e_shnum == 0 || header.e_shoff == 0)
    damaged("it has no section headers");
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    damaged("its section headers have " + std::to_string(header.e_shentsize) + " bytes, expected " +
            std::to_string(sizeof(Elf64_Shdr)));
  return header;
}

/// A file's section headers with their names.
struct SectionTable {
  Elf64_Ehdr header;
  std::vector<Elf64_Shdr> headers;
  std::vector<std::string> names;

  explicit SectionTable(std::string_view file) : header(loadHeader(file)) {
    for (unsigned i = 0; i < header.e_shnum; ++i)
      headers.push_back(load<Elf64_Shdr>(file, header.e_shoff + uint64_t{i} * sizeof(Elf64_Shdr),
                                         "a section header"));
    if (header.e_shstrndx >= headers.size())
      damaged("its table of section names is section " + std::to_string(header.e_shstrndx) +
              " of " + std::to_string(headers.size()));
    if (header.e_shstrndx == SHN_UNDEF)
      damaged("it has no table of section names");
    std::string_view table = contents(file, header.e_shstrndx, "the table of section names");
    for (const Elf64_Shdr &section : headers) {
      size_t end = section.sh_name < table.size() ? table.find('\0', section.sh_name)
                                                  : std::string_view::npos;
      if (end == std::string_view::npos)
        damaged("a section's name at " + std::to_string(section.sh_name) +
                " lies beyond the table of section names");
      names.emplace_back(table.substr(section.sh_name, end - section.sh_name));
    }
  }

  std::string_view contents(std::string_view file, size_t index, const std::string &what) const {
    const Elf64_Shdr &section = headers[index];
    if (section.sh_type == SHT_NOBITS)
      return {};
    if (section.sh_offset > file.size() || file.size() - section.sh_offset < section.sh_size)
      damaged(what + " (" + std::to_string(section.sh_size) + " bytes at offset " +
              std::to_string(section.sh_offset) + ") lies beyond its " +
              std::to_string(file.size()) + " bytes");
    return file.substr(section.sh_offset, section.sh_size);
  }

  /// The index of the section `name`, or nothing.
  std::optional<size_t> find(std::string_view name) const {
    auto it = std::find(names.begin() + 1, names.end(), name);
    if (it == names.end())
      return std::nullopt;
    return it - names.begin();
  }
};

/// The end of everything that withSections leaves in place: the ELF header, the program headers and
/// the sections that are not in `replaced`. The name table is written anew, so it does not count.
uint64_t endOfKept(std::string_view file, const SectionTable &table,
                   const std::vector<bool> &replaced) {
  const Elf64_Ehdr &header = table.header;
  uint64_t end = sizeof(Elf64_Ehdr);
  if (header.e_phnum > 0) {
    uint64_t bytes = uint64_t{header.e_phnum} * header.e_phentsize;
    if (header.e_phoff > file.size() || file.size() - header.e_phoff < bytes)
      damaged("its program headers (" + std::to_string(bytes) + " bytes at offset " +
              std::to_string(header.e_phoff) + ") lie beyond its " + std::to_string(file.size()) +
              " bytes");
    end = std::max(end, header.e_phoff + bytes);
  }
  for (size_t i = 1; i < table.names.size(); ++i) {
    if (replaced[i] || i == header.e_shstrndx || table.headers[i].sh_type == SHT_NOBITS)
      continue;
    std::string_view contents = table.contents(file, i, "section " + table.names[i]);
    end = std::max<uint64_t>(end, contents.data() + contents.size() - file.data());
  }
  return end;
}

} // namespace

bool isElf(std::string_view file) {
  return file.size() >= sizeof(Elf64_Ehdr) && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0 &&
         file[EI_CLASS] == ELFCLASS64 && file[EI_DATA] == ELFDATA2LSB;
}

size_t fileSize(const void *data) {
  const char *bytes = static_cast<const char *>(data);
  // The magic number first: what is not ELF may be shorter than an ELF header.
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0)
    throw Error("not an image: expected a 64-bit little-endian ELF file");
  Elf64_Ehdr header = loadHeader({bytes, sizeof(Elf64_Ehdr)});
  uint64_t end = header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  if (header.e_phnum > 0) // otherwise their offset means nothing
    end = std::max<uint64_t>(end, header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize);
  for (unsigned i = 1; i < header.e_shnum; ++i) { // the first one is none
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + i * sizeof(Elf64_Shdr), sizeof(section));
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL)
      end = std::max<uint64_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

void checkComplete(std::string_view file) {
  SectionTable table(file);
  endOfKept(file, table, std::vector<bool>(table.names.size()));
}

std::optional<std::string_view> readSection(std::string_view file, std::string_view name) {
  SectionTable table(file);
  std::optional<size_t> index = table.find(name);
  if (!index)
    return std::nullopt;
  return table.contents(file, *index, "section " + std::string(name));
}

std::string_view requireSection(std::string_view file, std::string_view name) {
  if (std::optional<std::string_view> contents = readSection(file, name))
    return *contents;
  throw Error("the image has no section " + std::string(name) +
              ": expected one written by girih-compile");
}

std::vector<std::string> sectionNames(std::string_view file) {
  SectionTable table(file);
  return {table.names.begin() + 1, table.names.end()};
}

Bytes withSections(std::string_view file, const Sections &sections) {
  SectionTable table(file);

  // Where each of `sections` goes: its place in the header table, new ones at its end.
  std::vector<size_t> places;
  for (const auto &[name, contents] : sections) {
    std::optional<size_t> index = table.find(name);
    if (!index) {
      index = table.headers.size();
      table.names.push_back(name);
      table.headers.push_back({});
    }
    places.push_back(*index);
  }
  // A file with 0xff00 sections or more would need the extended numbering of the gABI.
  if (table.headers.size() >= SHN_LORESERVE)
    throw Error("the image would have " + std::to_string(table.headers.size()) +
                " sections, more than an ELF header can count");

  std::vector<bool> replaced(table.headers.size());
  for (size_t place : places)
    replaced[place] = true;
  uint64_t end = endOfKept(file, table, replaced);

  Bytes out(file.substr(0, end));
  for (size_t i = 0; i < places.size(); ++i) {
    alignTo(out, 8);
    Elf64_Shdr &section = table.headers[places[i]];
    section = {};
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = out.size();
    section.sh_size = sections[i].second.size();
    section.sh_addralign = 8;
    out += sections[i].second;
  }

  Bytes names;
  for (size_t i = 0; i < table.headers.size(); ++i) {
    table.headers[i].sh_name = names.size();
    names += table.names[i];
    names += '\0';
  }
  Elf64_Shdr &nameTable = table.headers[table.header.e_shstrndx];
  nameTable.sh_offset = out.size();
  nameTable.sh_size = names.size();
  out += names;

  alignTo(out, 8);
  table.header.e_shoff = out.size();
  table.header.e_shnum = table.headers.size();
  for (const Elf64_Shdr &section : table.headers)
    append(out, section);
  std::memcpy(out.data(), &table.header, sizeof(table.header));
  return out;
}

} // namespace girih::image
