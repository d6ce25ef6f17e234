//===- PackageFile.cpp - Several images and their index in one file
//--------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------===//
#include "girih/Image/PackageFile.h"

#include <algorithm>
#include <cstring>

namespace girih::image {
namespace {

constexpr std::string_view magic = "girihpkg";

/// The fixed start of the file.
struct Header {
  char magic[8];
  uint32_t schema, abi;
  uint64_t fileBytes, checksum, indexBytes, imageCount;
};
static_assert(sizeof(Header) == 48);
/// Where the part begins that the header's checksum covers.
constexpr size_t checkedFrom = 32;

struct ImageEntry {
  uint64_t offset, bytes, checksum;
};
static_assert(sizeof(ImageEntry) == 24);

[[noreturn]] void damaged(const std::string &what) {
  throw Error("the package is damaged: " + what);
}

template <typename T> std::string_view bytesOf(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(T)};
}

} // namespace

uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

Bytes writePackageFile(std::string_view index, const std::vector<Bytes> &images) {
  Header header = {};
  std::memcpy(header.magic, magic.data(), magic.size());
  header.schema = packageSchema;
  header.abi = packageAbi;
  header.indexBytes = index.size();
  header.imageCount = images.size();
  uint64_t end = sizeof(Header) + images.size() * sizeof(ImageEntry) + index.size();
  Bytes table;
  for (const Bytes &image : images) {
    table += bytesOf(ImageEntry{end, image.size(), checksum(image)});
    end += image.size();
  }
  header.fileBytes = end;
  // The checksum covers the end of the header, the table and the index.
  Bytes checked(bytesOf(header).substr(checkedFrom));
  checked += table;
  checked += index;
  header.checksum = checksum(checked);
  Bytes file(bytesOf(header).substr(0, checkedFrom));
  file += checked;
  for (const Bytes &image : images)
    file += image;
  return file;
}

PackageFile readPackageFile(std::string_view file) {
  if (file.size() < 16 || file.substr(0, magic.size()) != magic)
    throw Error("not a girih package: expected a file that begins with \"girihpkg\", found " +
                std::to_string(file.size()) + " bytes that begin otherwise");
  Header header = {};
  std::memcpy(&header, file.data(), std::min(file.size(), sizeof(header)));
  if (header.schema == 0 || header.schema > packageSchema)
    throw Error("the package has schema " + std::to_string(header.schema) +
                ", this runtime reads schema " + std::to_string(packageSchema) +
                "; use the runtime of the girih that wrote it");
  if (header.abi != packageAbi)
    throw Error("the package's kernels are called by ABI " + std::to_string(header.abi) +
                ", this runtime calls by ABI " + std::to_string(packageAbi) +
                "; export it anew with the girih of this runtime");
  if (file.size() < sizeof(header) || header.fileBytes != file.size())
    damaged("it has " + std::to_string(file.size()) + " bytes" +
            (file.size() < sizeof(header)
                 ? ", fewer than a header"
                 : ", its header says " + std::to_string(header.fileBytes)));
  // No sum below can wrap around: each part is compared with what is left of the file.
  uint64_t rest = file.size() - sizeof(header);
  if (header.imageCount > rest / sizeof(ImageEntry))
    damaged("it has no room for " + std::to_string(header.imageCount) + " images");
  size_t tableBytes = header.imageCount * sizeof(ImageEntry);
  if (header.indexBytes > rest - tableBytes)
    damaged("it has no room for an index of " + std::to_string(header.indexBytes) + " bytes");
  size_t indexBegin = sizeof(header) + tableBytes, indexEnd = indexBegin + header.indexBytes;
  if (checksum(file.substr(checkedFrom, indexEnd - checkedFrom)) != header.checksum)
    damaged("the checksum of its index does not match");

  PackageFile parts;
  parts.index = file.substr(indexBegin, header.indexBytes);
  for (size_t i = 0; i < header.imageCount; ++i) {
    ImageEntry entry;
    std::memcpy(&entry, file.data() + sizeof(header) + i * sizeof(entry), sizeof(entry));
    if (entry.offset > file.size() || entry.bytes > file.size() - entry.offset)
      damaged("image " + std::to_string(i) + " lies beyond its end");
    std::string_view image = file.substr(entry.offset, entry.bytes);
    if (checksum(image) != entry.checksum)
      damaged("the checksum of image " + std::to_string(i) + " does not match");
    parts.images.push_back(image);
  }
  return parts;
}

} // namespace girih::image
