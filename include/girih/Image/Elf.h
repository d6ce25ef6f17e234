//===- Elf.h - Sections of a 64-bit ELF file in memory
//------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A girih image is the cubin that ptxas wrote with a few non-allocated sections appended: the real
// driver runs the cubin and ignores them, the emulated one reads them. This is the little that is
// needed to read and append sections: no relocation, no symbols, no LLVM.
//
// Facts about the format: System V gABI, chapters "ELF Header", "Sections" and "Program Header".
// Every offset read from the file is checked against its size, so a damaged or cut file gives an
// Error and never a read out of bounds.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_IMAGE_ELF_H
#define GIRIH_IMAGE_ELF_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace girih::image {

/// What is wrong with an image or one of its sections; what() is one sentence for the user.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The bytes of a file or a section. Both are binary; std::string keeps C++17 callers simple.
using Bytes = std::string;

/// Contents by section name, in the order in which they are appended.
using Sections = std::vector<std::pair<std::string, Bytes>>;

/// True if `file` begins as a little-endian 64-bit ELF file does.
bool isElf(std::string_view file);

/// The size in bytes of the ELF file that begins at `data`, found from its headers. For callers
/// that get a pointer without a size, as cuModuleLoadData does; `data` must point to a whole file,
/// since what the headers say is all there is to go by. Throws Error if `data` is no 64-bit ELF
/// file.
size_t fileSize(const void *data);

/// Throws Error unless everything that the headers of `file` speak of lies within it, so that
/// fileSize(file.data()) is at most its size.
void checkComplete(std::string_view file);

/// The contents of the section `name`, a view into `file`; nothing if there is no such section.
/// Throws Error if the file is damaged.
std::optional<std::string_view> readSection(std::string_view file, std::string_view name);

/// As readSection, but a missing section is an Error that says so.
std::string_view requireSection(std::string_view file, std::string_view name);

/// The names of all sections in file order, the empty first one left out. Throws Error.
std::vector<std::string> sectionNames(std::string_view file);

/// `file` with `sections` added at its end as non-allocated PROGBITS sections; a section whose name
/// exists already is replaced. Existing sections keep their index and their offset (symbols and
/// relocations refer to sections by index), only the name table and the section headers move to the
/// end of the file. Replacing the same sections again gives a file of the same size, not a growing
/// one. Throws Error if the file is damaged.
Bytes withSections(std::string_view file, const Sections &sections);

} // namespace girih::image

#endif // GIRIH_IMAGE_ELF_H
