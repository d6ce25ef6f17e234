// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifests: what is read, and the text for each kind of damage.
#include "Fixture.h"

#include <nlohmann/json.hpp>

using namespace girih::runtime;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(Manifest, IsRead) {
  Manifest manifest = Manifest::parse(gemmManifest);
  EXPECT_EQ(manifest.name, "matmul");
  ASSERT_EQ(manifest.parameters.size(), 4u);
  EXPECT_EQ(manifest.parameters[2].access, Access::Out);
  EXPECT_EQ(manifest.parameters[2].dtype, DType::F32);
  EXPECT_EQ(manifest.parameters[1].contiguous, 1);
  EXPECT_FALSE(manifest.parameters[1].aligned);
  EXPECT_FALSE(manifest.parameters[3].isArray);
  ASSERT_EQ(manifest.kernels.size(), 1u);
  EXPECT_THAT(manifest.kernels[0].block, ElementsAre(384, 1, 1));
  EXPECT_EQ(manifest.kernels[0].registers, 168u);
  ASSERT_EQ(manifest.plan.size(), 16u);
  EXPECT_THAT(manifest.plan[12].box, ElementsAre(64, 64));
  EXPECT_THAT(manifest.plan[15].operands, ElementsAre(9, 10, 8, 11, 12, 13, 1, 14));
}

TEST(Manifest, AnArrayPromisesWhatItSays) {
  json root = json::parse(gemmManifest);
  root["parameters"][0]["aligned"] = true;
  root["parameters"][1]["contiguous"] = -1;
  root["parameters"][2].erase("contiguous");
  Manifest manifest = Manifest::parse(root.dump());
  EXPECT_TRUE(manifest.parameters[0].aligned);
  EXPECT_EQ(manifest.parameters[1].contiguous, -1);
  EXPECT_EQ(manifest.parameters[2].contiguous, -1);
}

/// The message for the GEMM's manifest with `value` at `path`.
std::string damage(const char *path, const json &value) {
  json root = json::parse(gemmManifest);
  root[json::json_pointer(path)] = value;
  return messageOf<Error>([&] { Manifest::parse(root.dump()); });
}

TEST(Manifest, DamageIsNamed) {
  EXPECT_THAT(messageOf<Error>([] { Manifest::parse("not JSON"); }),
              HasSubstr("the manifest is damaged: "));
  EXPECT_THAT(messageOf<Error>([] { Manifest::parse("{\"schema\":1}"); }), HasSubstr("'name'"));
  EXPECT_EQ(
      damage("/schema", 2),
      "the manifest has schema 2, this runtime reads schema 1; use the runtime that the package "
      "was made with");
  EXPECT_EQ(damage("/parameters/0/dtype", "f17"), "the manifest is damaged: unknown dtype \"f17\"");
  EXPECT_EQ(damage("/parameters/0/kind", "tuple"),
            "the manifest is damaged: parameter a is of kind \"tuple\"");
  EXPECT_EQ(damage("/parameters/0/contiguous", 2),
            "the manifest is damaged: parameter a of rank 2 has contiguous dimension 2");
  EXPECT_EQ(damage("/parameters/0/access", "maybe"),
            "the manifest is damaged: parameter a has access \"maybe\"");
  EXPECT_EQ(damage("/parameters/3/dtype", "e4m3"),
            "the manifest is damaged: parameter scale is a scalar of e4m3; scalars are integers, "
            "f64, f32, "
            "f16 or bf16");
  EXPECT_EQ(damage("/kernels/0/parameters/0/kind", "matrix"),
            "the manifest is damaged: kernel matmul has a parameter of kind \"matrix\"");
  EXPECT_EQ(damage("/plan/4/op", "xor"),
            "the manifest is damaged: step 4 of the plan: unknown op \"xor\"");
  EXPECT_EQ(
      damage("/plan/4/args", {1, 4}),
      "the manifest is damaged: step 4 of the plan: refers to step 4, which is not an earlier "
      "one");
  EXPECT_EQ(damage("/plan/4/args", {1, 2, 3}),
            "the manifest is damaged: step 4 of the plan: eq has 3 operands, expected 2");
  EXPECT_EQ(damage("/plan/0/array", 3),
            "the manifest is damaged: step 0 of the plan: parameter 3 is no array");
  EXPECT_EQ(damage("/plan/14", {{"op", "address"}, {"array", 3}}),
            "the manifest is damaged: step 14 of the plan: parameter 3 is no array");
  EXPECT_EQ(
      damage("/plan/14", {{"op", "address"}, {"array", 0}}),
      "the manifest is damaged: step 15 of the plan: step 14 does not fit argument 4 of kernel "
      "matmul");
  EXPECT_EQ(damage("/plan/0/dim", 2),
            "the manifest is damaged: step 0 of the plan: dimension 2 of an array of rank 2");
  EXPECT_EQ(damage("/plan/6", {{"op", "query"}, {"what", "weather"}}),
            "the manifest is damaged: step 6 of the plan: unknown query \"weather\"");
  EXPECT_EQ(damage("/plan/14/parameter", 0),
            "the manifest is damaged: step 14 of the plan: parameter 0 is no scalar");
  EXPECT_EQ(
      damage("/plan/11/box", {64}),
      "the manifest is damaged: step 11 of the plan: a box of 1 dimensions over an array of 2, "
      "expected the same number, one to five");
  EXPECT_EQ(
      damage("/plan/11/order", {1, 1}),
      "the manifest is damaged: step 11 of the plan: order is no permutation of 2 dimensions");
  EXPECT_EQ(damage("/plan/11/swizzle", 48),
            "the manifest is damaged: step 11 of the plan: swizzle 48, expected 0, 32, 64 or 128");
  EXPECT_EQ(
      damage("/plan/11/dtype", "f32"),
      "the manifest is damaged: step 11 of the plan: a tensor map of f32 over an array of bf16");
  EXPECT_EQ(damage("/plan/15/kernel", 1),
            "the manifest is damaged: step 15 of the plan: launches kernel 1 of 1");
  EXPECT_EQ(
      damage("/plan/8", {{"op", "records"}, {"limit", 0}}),
      "the manifest is damaged: step 8 of the plan: room for 0 records, expected 1 to 16777216");
  EXPECT_EQ(damage("/plan/14", {{"op", "assert"}, {"message", ""}, {"records", 8}, {"site", 0}}),
            "the manifest is damaged: step 14 of the plan: step 8 holds no records");
  EXPECT_EQ(damage("/plan/14", {{"op", "print"},
                                {"label", "x"},
                                {"dtype", "f32"},
                                {"shape", {4, 0}},
                                {"records", 8},
                                {"site", 0}}),
            "the manifest is damaged: step 14 of the plan: a shape with the extent 0");
  EXPECT_EQ(damage("/plan/15/grid", {9, 10}),
            "the manifest is damaged: step 15 of the plan: the grid has 2 extents, expected 3");
  EXPECT_EQ(
      damage("/plan/15/args", {11, 12}),
      "the manifest is damaged: step 15 of the plan: kernel matmul takes 5 arguments, found 2");
  EXPECT_EQ(
      damage("/plan/15/args", {11, 12, 13, 11, 14}),
      "the manifest is damaged: step 15 of the plan: step 11 does not fit argument 3 of kernel "
      "matmul");
  // An address is no number.
  EXPECT_EQ(damage("/plan/9", {{"op", "address"}, {"array", 0}}),
            "the manifest is damaged: step 15 of the plan: step 9 is not an integer");
  EXPECT_EQ(damage("/plan/15/grid", {14, 10, 8}),
            "the manifest is damaged: step 15 of the plan: step 14 is not an integer");
}

} // namespace
