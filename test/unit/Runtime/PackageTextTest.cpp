// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What girih-package prints: a package in words, and the header for C.
#include "PackageFixture.h"

#include "girih/Runtime/PackageText.h"

using namespace girih::runtime;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

TEST(PackageText, SaysWhatIsInIt) {
  std::string text = packageText(gemmPackage());
  EXPECT_THAT(text, StartsWith("girih package, schema 1, ABI 1, written by girih test, "));
  EXPECT_THAT(text, HasSubstr("\nkernel matmul(a: in [M, K%8], b: in [K%8, N], c: out [M, N], "
                              "scale: f32 or nothing)\n  C = A B, scaled.\n"));
  EXPECT_THAT(text, HasSubstr("  variant 0: sm_90a, "));
  EXPECT_THAT(text, HasSubstr("    where      M from 1 to 64\n"
                              "    constants  BM=64, BN=256\n"
                              "    a          bf16, 2 dimensions, stride 1 in dimension 1\n"));
  EXPECT_THAT(text,
              HasSubstr("    kernel     small: block 384x1x1, 230000 bytes of shared memory, "
                        "168 registers a thread, 0 bytes spilled\n"
                        "    plan       16 steps: 3 tensor maps, 1 requirement, 1 launch\n"
                        "    refuses    a has K = {0}, b has K = {1}: dimensions named K must "
                        "agree\n"));
}

TEST(PackageText, TheHeaderHasAFunctionForEachKernel) {
  Package package(gemmPackage());
  std::string text = packageHeader(package, "lib");
  EXPECT_THAT(text, HasSubstr("#ifndef LIB_GIRIH_H\n#define LIB_GIRIH_H\n"));
  EXPECT_THAT(text, HasSubstr("/* matmul: C = A B, scaled.\n *\n"
                              " *   a: reads bf16 or f16, 2 dimensions [M, K (a multiple of 8)]\n"
                              " *   b: reads bf16 or f16, 2 dimensions [K (a multiple of 8), N]\n"
                              " *   c: writes f32, 2 dimensions [M, N]\n"
                              " *   scale: f32; NULL for none\n */\n"));
  // The formatter would break lines here.
  EXPECT_THAT(text, HasSubstr("lib_matmul(girih_package *package, const girih_array *a, "
                              "const girih_array *b, const girih_array *c, const float *scale, "
                              "girih_stream stream) {"));
  EXPECT_THAT(text, HasSubstr("scale ? girih_from_float(*scale) : girih_from_array(NULL)"));
}

TEST(PackageText, NothingFromAPackageBecomesCode) {
  json index = oneVariantIndex();
  json &kernel = index["kernels"][0];
  kernel["variants"][0]["arch"] = "sm_100a"; // whose images are not read
  kernel["name"] = "x\"); evil(\"";
  kernel["summary"] = "*/ evil();\n#define evil";
  kernel["parameters"] = {{{"name", "double"}, {"kind", "scalar"}, {"dtype", "u8"}},
                          {{"name", "größe"}, {"kind", "scalar"}, {"dtype", "bf16"}},
                          {{"name", "gr____e"}, {"kind", "scalar"}, {"dtype", "i64"}}};
  std::string text = packageHeader(Package(gemmPackage(index)), "1-a");
  EXPECT_THAT(text, HasSubstr("#ifndef _1_A_GIRIH_H\n"));
  EXPECT_THAT(text, HasSubstr("_1_a_x____evil__(girih_package *package, uint8_t double_, "
                              "float gr____e, int64_t gr____e_, girih_stream stream)"));
  EXPECT_THAT(text, HasSubstr("\"x\\042); evil(\\042\""));
  EXPECT_THAT(text, HasSubstr("/* x\"); evil(\": *  evil(); #define evil\n"));
  EXPECT_THAT(text, Not(HasSubstr("\n#define evil")));
}

} // namespace
