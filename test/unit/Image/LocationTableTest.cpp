// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Location numbers to lines: the expected lines are counted by hand from a source that is written
// out here.
#include "girih/Image/LocationTable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace girih::image;
using testing::HasSubstr;

namespace {

// In gemm.py, `def matmul` stands in line 12 and `def helper` in line 5. Number 1 is line 20 of the
// file, column 8; number 2 is line 6 in helper, called from line 21.
const char *const json = R"({"version":1,
  "functions":[{"name":"matmul","file":"","line":0},{"name":"helper","file":"","line":0}],
  "locations":[[[0,9,8]],[[1,2,4],[0,10,8]]]})";

std::string parseError(std::string_view text) {
  try {
    LocationTable::parse(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(LocationTable, RelativeLinesBeforeTheSourcesAreSet) {
  LocationTable table = LocationTable::parse(json);
  EXPECT_EQ(table.text(1), "matmul+9:8");
  EXPECT_EQ(table.text(2), "helper+2:4, called from matmul+10:8");
}

TEST(LocationTable, LinesOfTheFileAfterwards) {
  LocationTable table = LocationTable::parse(json);
  table.setSource("matmul", "gemm.py", 12);
  table.setSource("helper", "gemm.py", 5);
  table.setSource("dropped", "gemm.py", 1);
  EXPECT_EQ(table.text(1), "gemm.py:20:8");
  EXPECT_EQ(table.text(2), "gemm.py:6:4 (in helper), called from gemm.py:21:8 (in matmul)");
  std::vector<ResolvedFrame> chain = table.resolve(2);
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].function, "helper");
  EXPECT_EQ(chain[0].line, 6);
  EXPECT_EQ(chain[1].line, 21);
  EXPECT_EQ(chain[1].column, 8);
}

TEST(LocationTable, UnknownNumbersHaveNoText) {
  LocationTable table = LocationTable::parse(json);
  EXPECT_EQ(table.text(0), "");
  EXPECT_EQ(table.text(3), "");
}

TEST(LocationTable, PrintsWhatItParses) {
  LocationTable table = LocationTable::parse(json);
  table.setSource("matmul", "a \"quoted\" name.py", 12);
  std::string printed = table.print();
  LocationTable again = LocationTable::parse(printed);
  EXPECT_EQ(again.print(), printed);
  EXPECT_EQ(again.text(1), "a \"quoted\" name.py:20:8");
}

TEST(LocationTable, AFileNameThatIsNotUtf8IsNoError) {
  LocationTable table = LocationTable::parse(json);
  table.setSource("matmul", "caf\xe9.py", 12);
  EXPECT_THAT(LocationTable::parse(table.print()).text(1), HasSubstr(".py:20:8"));
}

TEST(LocationTable, DamageIsNamed) {
  EXPECT_THAT(parseError("{"), HasSubstr("the location table is damaged: "));
  EXPECT_THAT(parseError(R"({"version":1})"), HasSubstr("functions"));
  EXPECT_EQ(parseError(R"({"version":2,"functions":[],"locations":[]})"),
            "the location table has version 2, this library reads version 1");
  EXPECT_EQ(parseError(R"({"version":1,"functions":[],"locations":[[[0,1,1]]]})"),
            "the location table is damaged: location 1 names function 0 of 0");
  EXPECT_EQ(parseError(R"({"version":1,"functions":[],"locations":[[]]})"),
            "the location table is damaged: location 1 has no frames");
}

} // namespace
