// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records of kernels as text: order, indices, numbers of every type.
#include "../../../lib/Runtime/Records.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace girih::runtime;

namespace {

Step print(unsigned site, const char *label, DType dtype, std::vector<int64_t> shape) {
  Step step;
  step.kind = StepKind::Print;
  step.site = site;
  step.message = label;
  step.dtype = dtype;
  step.shape = std::move(shape);
  return step;
}

Record record(uint32_t site, uint32_t cta, uint32_t element, uint64_t value) {
  Record result;
  result.site = site;
  result.cta = cta;
  result.element = element;
  result.value = value;
  return result;
}

TEST(Records, AreSortedByCtaVisitSiteAndElement) {
  Step x = print(0, "x", DType::I32, {2, 2}), n = print(7, "n", DType::U8, {});
  // Each element's own records stay in order: its thread wrote them one after the other.
  std::vector<Record> records;
  for (uint64_t visit = 0; visit < 2; ++visit)
    for (uint32_t cta : {1u, 0u})
      for (uint32_t element : {3u, 0u, 2u, 1u})
        records.push_back(record(0, cta, element, 100 * cta + 10 * visit + element));
  records.push_back(record(7, 0, 0, 255));
  Report report = makeReport(records, {&x, &n}, 0);
  EXPECT_EQ(report.text, "x[0, 0] = 0 (cta 0)\n"
                         "x[0, 1] = 1 (cta 0)\n"
                         "x[1, 0] = 2 (cta 0)\n"
                         "x[1, 1] = 3 (cta 0)\n"
                         "n = 255 (cta 0)\n"
                         "x[0, 0] = 10 (cta 0)\n"
                         "x[0, 1] = 11 (cta 0)\n"
                         "x[1, 0] = 12 (cta 0)\n"
                         "x[1, 1] = 13 (cta 0)\n"
                         "x[0, 0] = 100 (cta 1)\n"
                         "x[0, 1] = 101 (cta 1)\n"
                         "x[1, 0] = 102 (cta 1)\n"
                         "x[1, 1] = 103 (cta 1)\n"
                         "x[0, 0] = 110 (cta 1)\n"
                         "x[0, 1] = 111 (cta 1)\n"
                         "x[1, 0] = 112 (cta 1)\n"
                         "x[1, 1] = 113 (cta 1)\n");
  EXPECT_EQ(report.failed, nullptr);
}

TEST(Records, TheOrderOfThreadsDoesNotMatter) {
  Step x = print(0, "x", DType::F32, {64});
  std::vector<Record> records;
  for (uint32_t i = 0; i < 64; ++i)
    records.push_back(record(0, i % 3, i, 0x3f800000));
  std::string expected = makeReport(records, {&x}, 0).text;
  std::mt19937 random(1);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    EXPECT_EQ(makeReport(records, {&x}, 0).text, expected);
  }
}

TEST(Records, TheFirstFailedAssertionCounts) {
  Step check;
  check.kind = StepKind::Assert;
  check.site = 1;
  Step other = check;
  other.site = 2;
  Report report =
      makeReport({record(2, 5, 0, 0), record(1, 4, 0, 0), record(2, 4, 0, 0)}, {&check, &other}, 0);
  EXPECT_EQ(report.failed, &check);
  EXPECT_EQ(report.failedAt, " (cta 4)");
  EXPECT_EQ(report.text, "");
}

TEST(Records, WhatFoundNoPlaceIsCounted) {
  Step x = print(0, "x", DType::I8, {});
  EXPECT_EQ(makeReport({record(0, 0, 0, 0xff)}, {&x}, 12).text,
            "x = -1 (cta 0)\n... and 12 more records, for which there was no room\n");
}

TEST(Records, NumbersOfEveryType) {
  EXPECT_EQ(numberText(DType::F32, 0x3fc00000), "1.5");
  EXPECT_EQ(numberText(DType::F32, 0x3f800000), "1.0");
  EXPECT_EQ(numberText(DType::F32, 0x3dcccccd), "0.1");
  EXPECT_EQ(numberText(DType::F32, 0xff800000), "-inf");
  EXPECT_EQ(numberText(DType::F32, 0x7fc00000), "nan");
  EXPECT_EQ(numberText(DType::F32, 0x7149f2ca), "1e+30");
  EXPECT_EQ(numberText(DType::F64, 0x3fb999999999999a), "0.1");
  EXPECT_EQ(numberText(DType::F32, 0x47c35000), "100000.0");
  EXPECT_EQ(numberText(DType::F32, 0x38d1b717), "0.0001");
  EXPECT_EQ(numberText(DType::F32, 0x3727c5ac), "1e-05");
  EXPECT_EQ(numberText(DType::F64, 0x4341c37937e08000), "1e+16");
  EXPECT_EQ(numberText(DType::F16, 0x2e66), "0.099975586");
  EXPECT_EQ(numberText(DType::BF16, 0xc000), "-2.0");
  EXPECT_EQ(numberText(DType::E4M3, 0x7e), "448.0");
  EXPECT_EQ(numberText(DType::I8, 0x80), "-128");
  EXPECT_EQ(numberText(DType::U8, 0x80), "128");
  EXPECT_EQ(numberText(DType::I32, 0xffffffff), "-1");
  EXPECT_EQ(numberText(DType::U32, 0xffffffff), "4294967295");
  EXPECT_EQ(numberText(DType::I64, ~uint64_t{0}), "-1");
  EXPECT_EQ(numberText(DType::U64, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(numberText(DType::B1, 1), "True");
  EXPECT_EQ(numberText(DType::B1, 0), "False");
}

} // namespace
