// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packages: which variant a call takes, what each refusal says, and damage that checksums do not
// show.
#include "PackageFixture.h"

#include <fstream>

using namespace girih::runtime;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

class PackageTest : public FakeDeviceTest {
protected:
  void SetUp() override {
    FakeDeviceTest::SetUp();
    testing::internal::CaptureStderr(); // the line about the device
  }
  void TearDown() override { testing::internal::GetCapturedStderr(); }

  /// The kernel that a call of the GEMM launches.
  std::string launched(const std::vector<Argument> &arguments) {
    package.kernel("matmul").launch(device(), arguments);
    return fake().launches.back().kernel;
  }
  std::string refusal(const std::vector<Argument> &arguments) {
    return messageOf<LaunchError>([&] { package.kernel("matmul").launch(device(), arguments); });
  }

  Package package{gemmPackage()};
};

TEST_F(PackageTest, TheFirstVariantThatFitsIsTaken) {
  EXPECT_EQ(launched(gemmArguments(DType::BF16, 64, 256, 64)), "small");
  EXPECT_EQ(launched(gemmArguments(DType::BF16, 65, 256, 64)), "large");
  EXPECT_EQ(launched(gemmArguments(DType::F16, 8, 256, 64)), "half");
}

TEST_F(PackageTest, TheStreamReachesTheDriver) {
  auto stream = reinterpret_cast<girih::cuda::CUstream>(uintptr_t{0x55});
  package.kernel("matmul").launch(device(), gemmArguments(DType::F16, 8, 256, 64), stream);
  EXPECT_EQ(fake().launches.back().config.hStream, stream);
}

TEST_F(PackageTest, AnAbsentArgumentPicksItsVariantAndIsNotPassed) {
  std::vector<Argument> arguments = gemmArguments(DType::BF16, 64, 256, 64);
  arguments[3] = Absent{};
  fake().parameterSizes["plain"] = {128, 128, 128, 4};
  EXPECT_EQ(launched(arguments), "plain");
  EXPECT_EQ(fake().launches.back().parameters.size(), 4u);
}

TEST_F(PackageTest, ARefusalNamesTheViolatedConstraintOfEachVariant) {
  EXPECT_EQ(refusal(gemmArguments(DType::F32, 8, 256, 64)),
            "matmul: no variant of the package takes these arguments\n"
            "  variant 0: a: expected an array of bf16 with 2 dimensions, found an array of f32 "
            "with shape (8, 64)\n"
            "  variant 1: a: expected an array of bf16 with 2 dimensions, found an array of f32 "
            "with shape (8, 64)\n"
            "  variant 2: a: expected an array of f16 with 2 dimensions, found an array of f32 "
            "with shape (8, 64)\n"
            "  variant 3: scale: expected nothing, found the float 1.5");
  std::vector<Argument> arguments = gemmArguments(DType::F16, 8, 256, 64);
  arguments[3] = Absent{};
  EXPECT_THAT(refusal(arguments),
              HasSubstr("variant 2: scale: expected an argument, found nothing"));
}

TEST_F(PackageTest, AKeyOutsideItsRangeIsNamedWithItsValue) {
  json index = gemmIndex();
  json small = index["kernels"][0]["variants"][0];
  small["when"].push_back({{"name", "K"}, {"parameter", 0}, {"dim", 1}, {"multiple", 64}});
  index["kernels"][0]["variants"] = json::array({small});
  Package narrow(gemmPackage(index));
  auto refused = [&](int64_t m, int64_t k) {
    return messageOf<LaunchError>(
        [&] { narrow.kernel("matmul").launch(device(), gemmArguments(DType::BF16, m, 256, k)); });
  };
  EXPECT_EQ(refused(65, 64), "matmul: M is 65, this code is for M from 1 to 64");
  EXPECT_EQ(refused(64, 72), "matmul: K is 72, this code is for K a multiple of 64");
  EXPECT_EQ(refused(64, 128), "no error");
}

TEST_F(PackageTest, ARequirementOfThePlanIsNamedWithItsValues) {
  std::vector<Argument> arguments = gemmArguments(DType::BF16, 64, 256, 64);
  arguments[1] = matrix(DType::BF16, 72, 256);
  EXPECT_EQ(refusal(arguments), "a has K = 64, b has K = 72: dimensions named K must agree");
}

TEST_F(PackageTest, TheNumberOfArgumentsIsThatOfTheDeclaration) {
  EXPECT_EQ(refusal({int64_t{1}}), "matmul takes 4 arguments (a, b, c, scale), found 1");
}

TEST_F(PackageTest, AnUnknownKernelIsNamed) {
  EXPECT_EQ(messageOf<LaunchError>([&] { package.kernel("conv"); }),
            "the package has no kernel conv: it has matmul");
}

TEST_F(PackageTest, CodeForOtherDevicesIsKeptAndNotTaken) {
  json index = gemmIndex();
  json &variants = index["kernels"][0]["variants"];
  variants[0]["arch"] = "sm_100a"; // whatever its image is, it is not read
  EXPECT_EQ(Package(gemmPackage(index))
                .kernel("matmul")
                .choose(device(), gemmArguments(DType::BF16, 8, 256, 64)),
            1u);
  variants = json::array({variants[0]});
  Package other(gemmPackage(index));
  EXPECT_EQ(messageOf<DeviceError>([&] {
              other.kernel("matmul").launch(device(), gemmArguments(DType::BF16, 8, 256, 64));
            }),
            "matmul was compiled for sm_100a; Fake H200 runs code for sm_90a");
}

TEST_F(PackageTest, AFileIsNamed) {
  std::string path = testing::TempDir() + "package-test.girih";
  EXPECT_EQ(messageOf<Error>([&] { Package::load(path + "-missing"); }),
            "cannot read the package " + path + "-missing: No such file or directory");
  std::ofstream(path, std::ios::binary) << gemmPackage().substr(0, 100);
  EXPECT_THAT(messageOf<Error>([&] { Package::load(path); }),
              StartsWith(path + ": the package is damaged: it has 100 bytes"));
  std::ofstream(path, std::ios::binary) << gemmPackage();
  EXPECT_EQ(Package::load(path)->writer(), "girih test");
  std::remove(path.c_str());
}

/// The message for the index with `value` at `path`.
std::string damage(const char *path, const json &value) {
  json index = gemmIndex();
  index[json::json_pointer(path)] = value;
  return messageOf<Error>([&] { Package package(gemmPackage(index)); });
}

TEST_F(PackageTest, DamageOfTheIndexIsNamed) {
  const std::string damaged = "the package's index is damaged: ";
  EXPECT_EQ(damage("/kernels/0/variants/0/image", 4),
            damaged + "kernel matmul has a variant with image 4 of 4");
  EXPECT_EQ(damage("/kernels/0/variants/0/image", -1),
            damaged + "expected an integer from 0 to 4294967295, found -1");
  EXPECT_EQ(damage("/kernels/0/variants/0/image", 1e300),
            damaged + "expected an integer from 0 to 4294967295, found 1e+300");
  EXPECT_EQ(damage("/kernels/0/variants", json::array()), damaged + "kernel matmul has no variant");
  EXPECT_EQ(damage("/kernels/0/variants/3/absent/0", 2),
            damaged + "kernel matmul has no parameter 2 that may be absent");
  EXPECT_EQ(damage("/kernels/0/variants/0/when/0/parameter", 3),
            damaged + "kernel matmul has a condition on M, which is no integer");
  EXPECT_EQ(damage("/kernels/0/variants/0/when/0/parameter", 9),
            damaged + "kernel matmul has no parameter 9, of which the condition on M speaks");
  EXPECT_EQ(damage("/kernels/0/variants/0/when/0/multiple", 0),
            damaged + "kernel matmul asks for multiples of 0 of M");
  EXPECT_EQ(damage("/kernels/0/variants/0/when/0/dim", 2),
            "the package is damaged: the image of a variant of matmul has no dimension 2 of a, on "
            "which there is a condition");
  EXPECT_EQ(damage("/kernels/0/parameters/0/name", "x"),
            "the package is damaged: the image of a variant of matmul has the parameter a in the "
            "place of x");
  EXPECT_EQ(damage("/kernels/0/parameters/0/access", "none"),
            damaged + "parameter a has access \"none\"");
  EXPECT_EQ(damage("/kernels/0/parameters/3/dtype", "f17"),
            damaged + "parameter scale has the unknown dtype \"f17\"");
  EXPECT_EQ(damage("/kernels/1", gemmIndex()["kernels"][0]),
            damaged + "two kernels are called matmul");
}

TEST_F(PackageTest, ConditionsInWords) {
  Condition condition{"N", 0, 0};
  condition.multiple = 8;
  EXPECT_EQ(condition.text(), "N a multiple of 8");
  condition.low = 16;
  EXPECT_EQ(condition.text(), "N at least 16, a multiple of 8");
  condition.high = 16;
  condition.multiple = 1;
  EXPECT_EQ(condition.text(), "N = 16");
  condition.low = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(condition.text(), "N at most 16");
}

} // namespace
