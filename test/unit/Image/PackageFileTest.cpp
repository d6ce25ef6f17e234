// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The package file: what is written is read, and whatever happens to it is noticed and named.
#include "girih/Image/PackageFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

using namespace girih::image;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

std::string messageFor(std::string_view file) {
  try {
    readPackageFile(file);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

template <typename T> Bytes with(Bytes file, size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof(value));
  return file;
}

// From the tables of the algorithm's authors (isthe.com/chongo/tech/comp/fnv, 64-bit FNV-1a).
TEST(PackageFile, TheChecksumIsFnv) {
  EXPECT_EQ(checksum(""), 0xcbf29ce484222325u);
  EXPECT_EQ(checksum("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(checksum("foobar"), 0x85944171f73967e8u);
}

TEST(PackageFile, WhatIsWrittenIsRead) {
  std::string zeros(3, '\0');
  Bytes file = writePackageFile("{}", {"first", zeros, ""});
  PackageFile parts = readPackageFile(file);
  EXPECT_EQ(parts.index, "{}");
  EXPECT_THAT(parts.images, ElementsAre("first", zeros, ""));
  EXPECT_EQ(file.size(), 48u + 3 * 24 + 2 + 5 + 3);
  EXPECT_THAT(readPackageFile(writePackageFile("", {})).images, IsEmpty());
}

TEST(PackageFile, ForeignFilesAndVersionsAreNamed) {
  Bytes file = writePackageFile("{}", {"image"});
  EXPECT_EQ(
      messageFor("\x7f"
                 "ELF"),
      "not a girih package: expected a file that begins with \"girihpkg\", found 4 bytes that "
      "begin otherwise");
  EXPECT_EQ(messageFor(with(file, 8, uint32_t{2})),
            "the package has schema 2, this runtime reads schema 1; use the runtime of the girih "
            "that wrote it");
  EXPECT_EQ(
      messageFor(with(file, 12, uint32_t{7})),
      "the package's kernels are called by ABI 7, this runtime calls by ABI 1; export it anew "
      "with the girih of this runtime");
}

TEST(PackageFile, DamageIsNamed) {
  Bytes file = writePackageFile("{}", {"image"});
  EXPECT_EQ(messageFor(file.substr(0, 40)),
            "the package is damaged: it has 40 bytes, fewer than a header");
  EXPECT_EQ(messageFor(file.substr(0, 60)),
            "the package is damaged: it has 60 bytes, its header says 79");
  EXPECT_EQ(messageFor(with(file, 40, ~uint64_t{0})),
            "the package is damaged: it has no room for 18446744073709551615 images");
  EXPECT_EQ(messageFor(with(file, 32, uint64_t{100})),
            "the package is damaged: it has no room for an index of 100 bytes");
  EXPECT_EQ(messageFor(with(file, 73, '!')),
            "the package is damaged: the checksum of its index does not match");
  EXPECT_EQ(messageFor(with(file, 78, '!')),
            "the package is damaged: the checksum of image 0 does not match");
}

TEST(PackageFile, AnImageBeyondTheEndIsNamedEvenWithARightChecksum) {
  Bytes file = writePackageFile("{}", {"image"});
  file = with(file, 56, ~uint64_t{0} - 2);
  file = with(file, 24, checksum(std::string_view(file).substr(32, 48 + 24 + 2 - 32)));
  EXPECT_EQ(messageFor(file), "the package is damaged: image 0 lies beyond its end");
}

TEST(PackageFile, EveryFlippedBitAndEveryCutIsNoticed) {
  Bytes file = writePackageFile(R"({"kernels": []})", {"first image", "second"});
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    Bytes flipped = file;
    flipped[bit / 8] ^= 1 << bit % 8;
    EXPECT_NE(messageFor(flipped), "no error") << "bit " << bit;
  }
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_NE(messageFor(std::string_view(file).substr(0, length)), "no error") << length;
  EXPECT_NE(messageFor(file + "!"), "no error");
}

} // namespace
