//===- Image.h - One file for both drivers
//------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of the sections that girih appends to a cubin, and the operations on the whole image.
//
//===--------------------------------------------------------------------------------------------===//
#ifndef GIRIH_IMAGE_IMAGE_H
#define GIRIH_IMAGE_IMAGE_H

#include "girih/Image/LocationTable.h"

namespace girih::image {

/// The PTX text that the cubin was assembled from; what the emulated device runs.
inline constexpr std::string_view ptxSection = ".girih.ptx";
/// The location table (LocationTable.h).
inline constexpr std::string_view locationSection = ".girih.loc";
/// The manifest: parameters, kernels and the host plan (docs/Packages.md).
inline constexpr std::string_view manifestSection = ".girih.manifest";

/// Where a function stands today: a line of the location table's header.
struct Source {
  std::string name;
  std::string file;
  int64_t firstLine = 0;
};

/// `image` with files and first lines of the functions in its location table set. An image without
/// a location table is returned as it is. Throws Error if the image or the table is damaged.
Bytes setSources(std::string_view image, const std::vector<Source> &sources);

/// `image` with girih's sections written anew: what setSources replaced may have left its bytes in
/// the file, and so what an image was before. Throws Error if the image is damaged.
Bytes withoutTraces(std::string_view image);

/// The location table of `image`; an empty table if it has none. Throws Error.
LocationTable readLocations(std::string_view image);

} // namespace girih::image

#endif // GIRIH_IMAGE_IMAGE_H
