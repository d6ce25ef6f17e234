// Functions of one PTX module put into another: what goes in, under which names, and what stays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "girih/Target/DeviceFunctions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using girih::target::mergeFunctions;
using testing::HasSubstr;
using testing::Not;

namespace {

const char *kernel = R"(//
.version 8.0
.target sm_90a
.address_size 64

	// .globl	k
.extern .func  (.param .b32 func_retval0) f
(
	.param .b32 f_param_0
)
;
.extern .func other
(
	.param .b32 p
)
;
.visible .entry k()
{
	call.uni (retval0), f, (param0);
	ret;
}
)";

const char *functions = R"(
.version 9.5
.target sm_90a
.address_size 64

.visible .global .align 4 .u32 table[2] = {1, 2};
.visible .global .align 4 .u32 unused;
	// .globl	_Z6helperf
.visible .func  (.param .b32 func_retval0) _Z6helperf(
	.param .b32 _Z6helperf_param_0
)
{
	mov.u64 	%rd1, table;
	{
	ret;
	}
}
.visible .func _Z4deadv()
{
	ret;
}
.visible .func  (.param .b32 func_retval0) f(
	.param .b32 f_param_0
)
{
	call.uni (r), _Z6helperf, (p);
	ret;
}
)";

std::string merged() { return mergeFunctions(kernel, functions, {"f"}, "__7"); }

TEST(MergeFunctions, TheVersionIsTheHigher) {
  EXPECT_THAT(merged(), HasSubstr(".version 9.5\n"));
  std::string older = functions;
  older.replace(older.find("9.5"), 3, "7.8");
  EXPECT_THAT(mergeFunctions(kernel, older, {"f"}, "__7"), HasSubstr(".version 8.0\n"));
  EXPECT_THAT(merged(), Not(HasSubstr(".version 8.0")));
}

TEST(MergeFunctions, TheDefinitionTakesTheDeclarationsPlace) {
  std::string text = merged();
  EXPECT_THAT(text, Not(HasSubstr(".extern .func  (.param .b32 func_retval0) f")));
  EXPECT_THAT(text, HasSubstr("\n.func  (.param .b32 func_retval0) f("));
  EXPECT_LT(text.find(".func  (.param .b32 func_retval0) f("), text.find(".entry k"));
  EXPECT_THAT(text, HasSubstr(".extern .func other\n(\n\t.param .b32 p\n)\n;\n"));
}

TEST(MergeFunctions, HelpersComeAlongUnderNamesOfTheirOwn) {
  std::string text = merged();
  EXPECT_THAT(text, HasSubstr(".func  (.param .b32 func_retval0) _Z6helperf__7("));
  EXPECT_THAT(text, HasSubstr("call.uni (r), _Z6helperf__7, (p);"));
  EXPECT_THAT(text, HasSubstr(".global .align 4 .u32 table__7[2] = {1, 2};"));
  EXPECT_THAT(text, HasSubstr("mov.u64 \t%rd1, table__7;"));
  // Parameters have names that begin with the function's and are not it.
  EXPECT_THAT(text, HasSubstr(".param .b32 _Z6helperf_param_0\n"));
}

TEST(MergeFunctions, NothingIsVisibleAndNothingUnusedComesAlong) {
  std::string text = merged();
  EXPECT_THAT(text, Not(HasSubstr(".visible .func")));
  EXPECT_THAT(text, Not(HasSubstr(".visible .global")));
  EXPECT_THAT(text, Not(HasSubstr("_Z4deadv")));
  EXPECT_THAT(text, Not(HasSubstr("unused")));
  EXPECT_THAT(text, HasSubstr(".visible .entry k()"));
}

} // namespace
