// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sections of an ELF file written out by hand: reading, appending, replacing, and every kind of
// damage that a cut or overwritten file can have.
#include "girih/Image/Elf.h"

#include "TinyElf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih::image;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// The message of the Error that `action` throws.
template <typename Action> std::string messageOf(Action &&action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Elf, ReadsASection) {
  std::string file = TinyElf().bytes();
  EXPECT_EQ(readSection(file, ".one"), "1234");
  EXPECT_EQ(readSection(file, ".two"), std::nullopt);
  EXPECT_THAT(sectionNames(file), ElementsAre(".one", ".shstrtab"));
}

TEST(Elf, AMissingSectionIsNamed) {
  std::string file = TinyElf().bytes();
  EXPECT_EQ(messageOf([&] { requireSection(file, ".girih.ptx"); }),
            "the image has no section .girih.ptx: expected one written by girih-compile");
}

TEST(Elf, FileSizeNeedsNoSize) {
  std::string file = TinyElf().bytes();
  EXPECT_EQ(fileSize(file.data()), file.size());
  std::string more = withSections(file, {{".two", "abc"}});
  EXPECT_EQ(fileSize(more.data()), more.size());
  EXPECT_THAT(messageOf([] { fileSize("PTX text, and no ELF at all"); }),
              HasSubstr("not an image"));
}

TEST(Elf, AppendsSections) {
  std::string file = TinyElf().bytes();
  std::string more = withSections(file, {{".two", std::string("a\0b", 3)}, {".three", ""}});
  EXPECT_THAT(sectionNames(more), ElementsAre(".one", ".shstrtab", ".two", ".three"));
  EXPECT_EQ(readSection(more, ".one"), "1234");
  EXPECT_EQ(readSection(more, ".two"), std::string_view("a\0b", 3));
  EXPECT_EQ(readSection(more, ".three"), "");
  // What was there stays where it was, apart from the header's section count and offset.
  EXPECT_EQ(more.substr(sizeof(Elf64_Ehdr), 4), "1234");
}

TEST(Elf, ReplacesASectionWithoutGrowing) {
  std::string file = TinyElf().bytes();
  std::string once = withSections(file, {{".two", "long contents"}, {".three", "x"}});
  std::string other = withSections(once, {{".two", "another text"}, {".three", "y"}});
  EXPECT_EQ(readSection(other, ".two"), "another text");
  EXPECT_EQ(readSection(other, ".three"), "y");
  EXPECT_THAT(sectionNames(other), ElementsAre(".one", ".shstrtab", ".two", ".three"));
  EXPECT_EQ(withSections(other, {{".two", "long contents"}, {".three", "x"}}), once);
}

TEST(Elf, ReplacingTheFirstOfTwoKeepsTheSecond) {
  std::string file = withSections(TinyElf().bytes(), {{".two", "22"}, {".three", "333"}});
  file = withSections(file, {{".two", std::string(1000, '2')}});
  EXPECT_EQ(readSection(file, ".two"), std::string(1000, '2'));
  EXPECT_EQ(readSection(file, ".three"), "333");
}

TEST(Elf, ASectionWithoutBytesInTheFileIsEmpty) {
  TinyElf elf;
  elf.sections[1].sh_type = SHT_NOBITS;
  elf.sections[1].sh_size = 1 << 30;
  EXPECT_EQ(readSection(elf.bytes(), ".one"), "");
  EXPECT_LT(withSections(elf.bytes(), {{".two", "x"}}).size(), 1000u);
}

TEST(Elf, ACompleteFileHoldsAllThatItsHeadersSpeakOf) {
  TinyElf elf;
  elf.header.e_phoff = ~uint64_t{0}; // of no program header
  elf.sections[0].sh_offset = ~uint64_t{0};
  elf.sections[0].sh_type = SHT_PROGBITS;
  Bytes file = elf.bytes();
  EXPECT_NO_THROW(checkComplete(file));
  EXPECT_EQ(fileSize(file.data()), file.size());
  elf.sections[1].sh_offset = 1000;
  EXPECT_EQ(
      messageOf([&] { checkComplete(elf.bytes()); }),
      "the image is damaged: section .one (4 bytes at offset 1000) lies beyond its 280 bytes");
}

TEST(Elf, WhatIsNoElfFileIsRefused) {
  EXPECT_EQ(messageOf([] { readSection("", ".one"); }),
            "not an image: expected a 64-bit little-endian ELF file, found 0 bytes that begin "
            "otherwise");
  TinyElf elf;
  elf.header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(messageOf([&] { readSection(elf.bytes(), ".one"); }), HasSubstr("not an image"));
}

TEST(Elf, EveryCutIsAnErrorOrHarmless) {
  std::string file = withSections(TinyElf().bytes(), {{".two", "abc"}});
  for (size_t size = 0; size < file.size(); ++size) {
    std::string cut = file.substr(0, size);
    EXPECT_THAT(messageOf([&] { readSection(cut, ".two"); }),
                testing::AnyOf(HasSubstr("not an image"), HasSubstr("the image is damaged")))
        << "cut to " << size << " bytes";
  }
}

TEST(Elf, DamageIsNamed) {
  auto damaged = [](auto &&change) {
    TinyElf elf;
    change(elf);
    std::string file = elf.bytes();
    return messageOf([&] { withSections(file, {{".two", "x"}}); });
  };
  EXPECT_EQ(damaged([](TinyElf &elf) { elf.header.e_shnum = 0; }),
            "the image is damaged: it has no section headers");
  EXPECT_EQ(damaged([](TinyElf &elf) { elf.header.e_shentsize = 40; }),
            "the image is damaged: its section headers have 40 bytes, expected 64");
  EXPECT_EQ(damaged([](TinyElf &elf) { elf.header.e_shoff = ~0ull - 8; }),
            "the image is damaged: a section header at offset 18446744073709551607 lies beyond its "
            "280 bytes");
  EXPECT_EQ(damaged([](TinyElf &elf) { elf.header.e_shstrndx = 7; }),
            "the image is damaged: its table of section names is section 7 of 3");
  EXPECT_EQ(damaged([](TinyElf &elf) { elf.header.e_shstrndx = 0; }),
            "the image is damaged: it has no table of section names");
  EXPECT_EQ(damaged([](TinyElf &elf) { elf.sections[1].sh_name = 99; }),
            "the image is damaged: a section's name at 99 lies beyond the table of section names");
  EXPECT_EQ(damaged([](TinyElf &elf) { elf.sections[1].sh_size = ~0ull; }),
            "the image is damaged: section .one (18446744073709551615 bytes at offset 64) lies "
            "beyond its 280 bytes");
  EXPECT_EQ(
      damaged([](TinyElf &elf) { elf.sections[2].sh_offset = 5000; }),
      "the image is damaged: the table of section names (16 bytes at offset 5000) lies beyond "
      "its 280 bytes");
  EXPECT_EQ(
      damaged([](TinyElf &elf) {
        elf.header.e_phnum = 1;
        elf.header.e_phoff = 4000;
        elf.header.e_phentsize = 56;
      }),
      "the image is damaged: its program headers (56 bytes at offset 4000) lie beyond its 280 "
      "bytes");
}

} // namespace
