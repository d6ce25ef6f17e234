// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer's view of the package reader, over the fake driver. The first byte of an input says
// what the rest is: a file; an index; the manifest of an image; an image. All but the first get the
// checksums that they need, so that the fuzzer does not have to find them.
#include "PackageExercise.h"
#include "PackageFixture.h"

using namespace girih::runtime;
namespace image = girih::image;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  static Device device(Driver::open(fakeOptions(DeviceChoice::Emulated)));
  fake() = FakeState();
  fake().largestAllocation = 1 << 20;
  static const std::string oneVariant = oneVariantIndex().dump();
  std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
  switch (data[0] % 4) {
  case 0:
    exercise(text, device);
    break;
  case 1:
    exercise(image::writePackageFile(text, gemmImages()), device);
    break;
  case 2:
    exercise(image::writePackageFile(oneVariant, {imageWith(text)}), device);
    break;
  case 3:
    exercise(image::writePackageFile(oneVariant, {text}), device);
    break;
  }
  return 0;
}
