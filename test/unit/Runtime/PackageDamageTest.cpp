// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packages that nobody meant: random edits of the file, of its images and of the JSON in both, with
// checksums made right again so that the edit reaches the reader behind them. Whatever comes of it
// is a message or a package that works; a crash or a sanitizer's word fails the test.
#include "PackageExercise.h"
#include "PackageFixture.h"

#include <random>

using namespace girih::runtime;
using nlohmann::json;
namespace image = girih::image;

namespace {

class PackageDamage : public FakeDeviceTest {
protected:
  void SetUp() override {
    FakeDeviceTest::SetUp();
    fake().largestAllocation = 1 << 20;
    testing::internal::CaptureStderr(); // the line about the device
  }
  void TearDown() override { testing::internal::GetCapturedStderr(); }

  size_t below(size_t limit) { return random() % limit; }

  /// One of a few values that readers of numbers, texts and lists trip over.
  json oddValue(const json &document) {
    static const json values = {nullptr,
                                true,
                                -1,
                                0,
                                1,
                                2,
                                5,
                                4294967295u,
                                4294967296u,
                                9223372036854775807,
                                18446744073709551615u,
                                -9223372036854775807 - 1,
                                0.5,
                                1e300,
                                "",
                                "in",
                                "bf16",
                                "array",
                                "x\u0000y",
                                "*/\n\"",
                                json::array(),
                                json::object(),
                                {0, 0, 0},
                                {{"op", "launch"}}};
    if (below(4) == 0) // something from elsewhere in the document
      return document[pick(document)];
    return values[below(values.size())];
  }

  /// A random place in a document, not its root.
  json::json_pointer pick(const json &document) {
    json::json_pointer place;
    const json *node = &document;
    do {
      if (!node->is_structured() || node->empty())
        break;
      auto item = node->items().begin();
      std::advance(item, below(node->size()));
      place /= json::json_pointer(node->is_array() ? "/" + item.key() : "/" + escaped(item.key()));
      node = &document[place];
    } while (below(5) != 0);
    return place;
  }

  static std::string escaped(std::string key) {
    for (size_t at = 0; (at = key.find_first_of("~/", at)) != std::string::npos; at += 2)
      key.replace(at, 1, key[at] == '~' ? "~0" : "~1");
    return key;
  }

  void edit(json &document) {
    json::json_pointer place = pick(document);
    json &parent = document[place.parent_pointer()];
    switch (below(4)) {
    case 0:
      if (parent.is_array())
        parent.erase(std::stoul(place.back()));
      else if (parent.is_object())
        parent.erase(place.back());
      break;
    case 1:
      if (parent.is_array())
        parent.push_back(document[place]);
      break;
    default:
      document[place] = oddValue(document);
    }
  }

  /// A plan with every kind of step.
  static std::string richManifest() {
    json root = json::parse(gemmManifest);
    json &plan = root["plan"];
    plan.push_back({{"op", "records"}, {"limit", 16}});
    plan.push_back({{"op", "print"},
                    {"records", 16},
                    {"site", 0},
                    {"label", "x"},
                    {"dtype", "f32"},
                    {"shape", {4, 8}}});
    plan.push_back({{"op", "assert"},
                    {"records", 16},
                    {"site", 1},
                    {"message", "no"},
                    {"where", {{"matmul", 3, 4}}}});
    plan.push_back({{"op", "workspace"}, {"bytes", 6}, {"zero", true}});
    for (const char *op : {"add", "sub", "mul", "div", "ceildiv", "rem", "min", "max", "lt", "and"})
      plan.push_back({{"op", op}, {"args", {0, 3}}});
    plan.push_back({{"op", "select"}, {"args", {4, 0, 1}}});
    plan.push_back({{"op", "stride"}, {"array", 1}, {"dim", 0}});
    plan.push_back({{"op", "query"}, {"what", "multiprocessor_count"}});
    return root.dump();
  }

  std::mt19937_64 random{20240601};
};

TEST_F(PackageDamage, ThePackageItselfWorks) {
  EXPECT_EQ(exercise(gemmPackage(), device()), "");
  EXPECT_GE(fake().launches.size(), 4u);
}

TEST_F(PackageDamage, FlippedBitsAndCutsAreAlwaysNoticed) {
  const std::string package = gemmPackage();
  for (int round = 0; round < 500; ++round) {
    std::string damaged = package;
    damaged[below(damaged.size())] ^= 1 << below(8);
    EXPECT_NE(exercise(damaged, device()), "") << "round " << round;
    EXPECT_NE(exercise(package.substr(0, below(package.size())), device()), "") << round;
  }
}

TEST_F(PackageDamage, EditsOfTheIndexGiveAMessageOrAPackage) {
  std::vector<std::string> images = gemmImages();
  size_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    json index = gemmIndex();
    for (size_t edits = 1 + below(3); edits-- > 0;)
      edit(index);
    std::string text = index.dump(-1, ' ', false, json::error_handler_t::replace);
    if (below(8) == 0)
      text.resize(below(text.size() + 1));
    refused += !exercise(image::writePackageFile(text, images), device()).empty();
  }
  EXPECT_GT(refused, 1000u);
}

TEST_F(PackageDamage, EditsOfAManifestGiveAMessageOrAPackage) {
  json index = oneVariantIndex();
  const json original = json::parse(richManifest());
  EXPECT_EQ(exercise(image::writePackageFile(index.dump(), {imageWith(original.dump())}), device()),
            "");
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    json manifest = original;
    for (size_t edits = 1 + below(3); edits-- > 0;)
      edit(manifest);
    std::string text = manifest.dump(-1, ' ', false, json::error_handler_t::replace);
    refused +=
        !exercise(image::writePackageFile(index.dump(), {imageWith(text)}), device()).empty();
  }
  EXPECT_GT(refused, 1500u);
}

TEST_F(PackageDamage, EditsOfAnImageGiveAMessageOrAPackage) {
  json index = oneVariantIndex();
  const std::string original = image::withSections(
      imageWith(gemmManifest),
      {{std::string(image::locationSection),
        R"({"version":1,"functions":[{"name":"matmul","file":"","line":0}],"locations":[[[0,1,2]]]})"}});
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = original;
    for (size_t edits = 1 + below(3); edits-- > 0;) {
      // Headers are at both ends; most bytes between them are JSON.
      size_t at = below(3) == 0 ? below(64) : damaged.size() - 1 - below(64 * 5);
      damaged[at] = below(2) ? damaged[at] ^ 1 << below(8) : static_cast<char>(random());
    }
    exercise(image::writePackageFile(index.dump(), {damaged}), device());
  }
}

} // namespace
