// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A package with the fixture's GEMM in several variants.
#ifndef GIRIH_TEST_UNIT_RUNTIME_PACKAGEFIXTURE_H
#define GIRIH_TEST_UNIT_RUNTIME_PACKAGEFIXTURE_H

#include "Fixture.h"

#include "girih/Image/PackageFile.h"
#include "girih/Runtime/Package.h"

#include <nlohmann/json.hpp>

namespace girih::runtime {

/// The parameters of the GEMM as its author declared them, and an optional one.
inline nlohmann::json gemmEntry(nlohmann::json variants) {
  nlohmann::json entry = nlohmann::json::parse(R"({"name":"matmul","summary":"C = A B, scaled.",
   "parameters":[
    {"name":"a","kind":"array","access":"in","dims":[{"name":"M"},{"name":"K","multiple":8}]},
    {"name":"b","kind":"array","access":"in","dims":[{"name":"K","multiple":8},{"name":"N"}]},
    {"name":"c","kind":"array","access":"out","dims":[{"name":"M"},{"name":"N"}]},
    {"name":"scale","kind":"scalar","dtype":"f32","optional":true}]})");
  entry["variants"] = std::move(variants);
  return entry;
}

/// The GEMM's manifest for another dtype of its operands, and with `kernel` as its name.
inline std::string gemmManifestFor(const char *dtype, const char *kernel) {
  nlohmann::json root = nlohmann::json::parse(gemmManifest);
  root["name"] = root["kernels"][0]["name"] = kernel;
  for (int i : {0, 1})
    root["parameters"][i]["dtype"] = root["plan"][11 + i]["dtype"] = dtype;
  return root.dump();
}

/// The GEMM's manifest without its scale.
inline std::string gemmManifestWithoutScale() {
  nlohmann::json root = nlohmann::json::parse(gemmManifest);
  root["name"] = root["kernels"][0]["name"] = "plain";
  root["parameters"].erase(3);
  root["kernels"][0]["parameters"].erase(4);
  root["plan"].erase(14);
  root["plan"][14]["args"] = {11, 12, 13, 1};
  return root.dump();
}

/// Variants: 0 bf16 with M up to 64, 1 bf16, 2 f16, 3 bf16 without a scale.
inline nlohmann::json gemmIndex() {
  nlohmann::json index = {{"writer", "girih test"}};
  index["kernels"].push_back(gemmEntry(nlohmann::json::parse(R"([
    {"arch":"sm_90a","image":0,"constants":[["BM","64"],["BN","256"]],
     "when":[{"name":"M","parameter":0,"dim":0,"low":1,"high":64}]},
    {"arch":"sm_90a","image":1},
    {"arch":"sm_90a","image":2},
    {"arch":"sm_90a","image":3,"absent":[3]}])")));
  return index;
}

/// The index of a package that holds the GEMM and one image.
inline nlohmann::json oneVariantIndex() {
  nlohmann::json index = {{"writer", "girih test"}};
  index["kernels"].push_back(gemmEntry(nlohmann::json::parse(R"([{"arch":"sm_90a","image":0}])")));
  return index;
}

inline std::vector<std::string> gemmImages() {
  return {imageWith(gemmManifestFor("bf16", "small")), imageWith(gemmManifestFor("bf16", "large")),
          imageWith(gemmManifestFor("f16", "half")), imageWith(gemmManifestWithoutScale())};
}

inline std::string gemmPackage(const nlohmann::json &index = gemmIndex()) {
  return image::writePackageFile(index.dump(), gemmImages());
}

inline std::vector<Argument> gemmArguments(DType dtype, int64_t m, int64_t n, int64_t k) {
  return {matrix(dtype, m, k), matrix(dtype, k, n), matrix(DType::F32, m, n), 1.5};
}

} // namespace girih::runtime

#endif // GIRIH_TEST_UNIT_RUNTIME_PACKAGEFIXTURE_H
