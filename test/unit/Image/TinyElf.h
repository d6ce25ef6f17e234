// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The smallest ELF file with two sections, written out field by field from the gABI, so that the
// tests of damaged files know what each byte means.
#ifndef GIRIH_TEST_UNIT_IMAGE_TINYELF_H
#define GIRIH_TEST_UNIT_IMAGE_TINYELF_H

#include <elf.h>

#include <cstring>
#include <string>

/// Layout: the ELF header at 0, the contents of section .one ("1234") at 64, the section names at
/// 68, three section headers (null, .one, .shstrtab) at 88.
struct TinyElf {
  Elf64_Ehdr header = {};
  Elf64_Shdr sections[3] = {};

  TinyElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shoff = 88;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    sections[1].sh_name = 1;
    sections[1].sh_type = SHT_PROGBITS;
    sections[1].sh_offset = 64;
    sections[1].sh_size = 4;
    sections[2].sh_name = 6;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = 68;
    sections[2].sh_size = 16;
  }

  std::string bytes() const {
    std::string out(reinterpret_cast<const char *>(&header), sizeof(header));
    out += "1234";
    out += std::string("\0.one\0.shstrtab\0\0\0\0\0", 20);
    out += std::string(reinterpret_cast<const char *>(sections), sizeof(sections));
    return out;
  }
};

#endif // GIRIH_TEST_UNIT_IMAGE_TINYELF_H
