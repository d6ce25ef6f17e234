//===- PackageFile.h - Several images and their index in one file
//----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A package is what a kernel is shipped as: one file with an index (JSON) and the images that it
// speaks of. All numbers are little endian.
//
//   offset  bytes
//   0       8      "girihpkg"
//   8       4      the schema of what follows
//   12      4      the ABI: how the runtime calls what is in the images
//   16      8      bytes of the whole file
//   24      8      checksum of everything from offset 32 to the end of the index
//   32      8      bytes of the index
//   40      8      number of images
//   48      24 n   of each image: offset in the file, bytes, checksum
//   ...            the index, and the images one after the other
//
// The first 16 bytes never change, so that every version of girih can say what a file is that it
// cannot read.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_IMAGE_PACKAGEFILE_H
#define GIRIH_IMAGE_PACKAGEFILE_H

#include "girih/Image/Elf.h"

namespace girih::image {

/// The schema that this library writes, and the newest that it reads.
inline constexpr uint32_t packageSchema = 1;
/// Counts up whenever kernels are called in another way: how parameters are passed, what the memory
/// of a plan's records looks like. A package of one ABI cannot be called by another one's runtime.
inline constexpr uint32_t packageAbi = 1;

/// The parts of a package, views into its file.
struct PackageFile {
  std::string_view index;
  std::vector<std::string_view> images;
};

/// FNV-1a of 64 bits (Fowler, Noll and Vo): each step can be undone, so any change of a single byte
/// shows.
uint64_t checksum(std::string_view bytes);

/// A package with this index and these images.
Bytes writePackageFile(std::string_view index, const std::vector<Bytes> &images);

/// The parts of `file`. Throws Error with one sentence: no package, a newer schema, another ABI, a
/// file that was cut, a checksum that does not match.
PackageFile readPackageFile(std::string_view file);

} // namespace girih::image

#endif // GIRIH_IMAGE_PACKAGEFILE_H
