// Text that is no PTX: a message with a line for each mistake, and for a module that is cut, or
// loses or repeats a token, at any place; never a crash.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

using namespace girih::emu;
using namespace girih::emu::test;
using testing::HasSubstr;

namespace {

const std::string kHead = ".version 8.0\n.target sm_90a\n.address_size 64\n";

std::string inModule(const std::string &text) { return refusal(kHead + text); }
std::string inKernel(const std::string &body) { return refusal(kernelText(body, {})); }

struct Row {
  const char *text, *message;
};

TEST(Malformed, Modules) {
  EXPECT_EQ(refusal(""), "test.ptx:1: expected '.version', with which every module begins, found "
                         "the end of the text");
  EXPECT_THAT(refusal(".target sm_90a\n"), HasSubstr("test.ptx:1: expected '.version'"));
  EXPECT_THAT(refusal(".version 8.0\n"), HasSubstr("the module has no .target"));
  const Row rows[] = {
      {".global .u32;", "expected a variable's name, found ';'"},
      {".global x;", "expected a type, found 'x'"},
      {".global .u32 x[0];", "an array of 0 elements"},
      {".global .u32 x[-3];", "an array of -3 elements"},
      {".global .u32 x[4294967296][4294967296];", "an array of"},
      {".global .u32 x[100000000000];", "no room for 'x': the emulated device has"},
      {".global .u32 x[];", "array 'x' has neither an extent nor an initialiser"},
      {".global .u32 x[2][];", "expected an extent; only the first may be left out"},
      {".global .u32 x[2] = {1, 2, 3};", "more initialisers than the 2 elements"},
      {".global .u32 x[2][2] = {1, 2};",
       "expected '{' around the elements of a dimension, found '1'"},
      {".global .v4 .f32 x = {1.0, 2.0};", "a vector of 4 elements with 2 initialisers"},
      {".global .f32 x = 3;", "an integer constant in a variable of type .f32; write a decimal"},
      {".global .u32 x[2] = {1, 2,};", "expected an element after ','"},
      {".shared .u32 x[];", "array 'x' has neither an extent nor an initialiser"},
      {".version 8.0", "a second .version"},
      {".global .u32 x = 1.5;", "a floating-point constant in a variable of type .u32"},
      {".global .u32 x = 1 / 0;", "division by zero in a constant expression"},
      {".global .u16 x = y;", "an address in an element of 16 bits"},
      {".global .u64 x = y;", "the initialiser of 'x' names 'y', which is no"},
      {".global .u8 x = 0xff0(x);", "a mask covers one byte of an address"},
      {".global .u32 x; .global .u32 x;", "variable 'x' is defined twice"},
      {".global .align 3 .u32 x;", "an alignment of 3; powers of two are possible"},
      {".global .pred x;", "a predicate in memory"},
      {".global .texref t;", "textures, samplers and surfaces ('.texref') are not modelled"},
      {".global .attribute(.managed) .u32 x;", "'.attribute' (managed or unified memory)"},
      {".extern .global .u32 x;", "external variable 'x': linking is not modelled"},
      {".shared .u32 x = 1;", "because only .global and .const variables have initialisers"},
      {".local .u32 x;", "'.local' is not modelled at module level"},
      {".reg .u32 x;", "'.reg' is not modelled at module level"},
      {".nonsense 3;", "'.nonsense' is not modelled at module level"},
      {".entry k() .nonsense { ret; }", "'.nonsense' is not modelled on a kernel"},
      {".func f() .maxntid 3 { ret; }", "'.maxntid' is not modelled on a device function"},
      {".entry k() .maxntid { ret; }", "expected an extent, found '{'"},
      {".entry k() .maxntid 32 .reqntid 32 { ret; }", ".maxntid and .reqntid exclude each other"},
      {".entry k() .maxclusterrank 4 .reqnctapercluster 2 { ret; }", "exclude each other"},
      {".entry k() .blocksareclusters { ret; }", "needs .reqntid and .reqnctapercluster"},
      {".entry k() .maxnctapersm 2 { ret; }", "left PTX with version 2.1; write .minnctapersm"},
      {".func (.param .b32 r) f() .noreturn { ret; }", "cannot have a result"},
      {".entry k(.reg .u32 x) { ret; }", "expected '.param', found '.reg'"},
      {".entry k(.param .b8 x[40000]) { ret; }", "the parameters have more than 32764 bytes"},
      {".entry k(.param .u32 x .param .u32 y) { ret; }", "expected ',' or ')' after a parameter"},
      {".entry k() { ret; } .entry k() { ret; }", "'k' is defined twice"},
      {".entry k() { ret;", "expected '}', found the end of the text"},
      {".func f(.param .b8 v[], .param .b32 x) { ret; }", "which must come last"},
      {".file x;", "expected a file number after .file"},
      {".file 1 x;", "expected a file name in quotes"},
      {".section .debug_info { .b8 1", "expected '}' at the end of the section"},
      {".pragma nounroll;", "expected a string after .pragma"},
      {"/* no end", "a comment that does not end"},
      {".alias f;", "expected ',' in .alias"},
  };
  for (const Row &row : rows) {
    std::string message = inModule(row.text);
    EXPECT_THAT(message, HasSubstr(row.message)) << row.text;
    EXPECT_TRUE(std::regex_search(message, std::regex("^test\\.ptx:[4-6]: "))) << message;
  }
}

TEST(Malformed, VersionsAndTargets) {
  auto load = [](const std::string &version, const std::string &target) {
    return refusal(".version " + version + "\n.target " + target + "\n.address_size 64\n");
  };
  for (const char *version : {"7.8", "8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8",
                              "9.0", "9.1", "9.2", "9.3", "9.4", "9.5"})
    EXPECT_EQ(load(version, "sm_90a"), "") << version;
  for (const char *version : {"7.7", "8.9", "8.15", "9.6", "10.0", "8", "x"})
    EXPECT_THAT(load(version, "sm_90a"), HasSubstr("test.ptx:1: PTX version '")) << version;
  for (const char *target : {"sm_90", "sm_80", "sm_52", "sm_90a, debug"})
    EXPECT_EQ(load("9.0", target), "") << target;
  for (const char *target : {"sm_100a", "sm_100", "sm_100f", "sm_120", "sm_80a", "sm_", "sm_9x"})
    EXPECT_THAT(load("9.0", target), HasSubstr("is not modelled; the device is an sm_90a"))
        << target;
  EXPECT_THAT(load("9.0", "sm_90a, map_f64_to_f32"), HasSubstr("target option 'map_f64_to_f32'"));
  EXPECT_THAT(refusal(".version 8.0\n.target sm_90a\n.address_size 32\n"),
              HasSubstr("test.ptx:3: only .address_size 64 is modelled"));
}

TEST(Malformed, Statements) {
  const Row rows[] = {
      {"mov.u32 %r1, 08;", "expected a number, found '08'"},
      {"mov.u32 %r1, 0x;", "expected a number, found '0x'"},
      {"mov.f32 %f1, 0f123;", "expected a number, found '0f123'"},
      {"mov.u32 %r1, 12ab;", "expected a number, found '12ab'"},
      {"mov.u32 %r1, (1 + 2;", "expected ')' in a constant expression"},
      {"mov.u32 %r1, 1 + ;", "expected a number, found ';'"},
      {"mov.u32 %r1, 1.5 & 2;", "'&' between floating-point constants"},
      {"add.u32 %r1, {%r2, 3;", "expected ',' or '}', found ';'"},
      {"ld.global.u32 %r1, [%rd1;", "expected ']' after an address, found ';'"},
      {"ld.global.u32 %r1, [nothing];", "'nothing' is neither a register nor a variable"},
      {"@%r1;", "expected an instruction"},
      {"@nothing bra X;", "'nothing' is no predicate register"},
      {"@%r1 mov.u32 %r1, 1;", "the guard is no predicate register"},
      {"bra X Y;", "expected ';' after the label"},
      {"X: X: ret;", "'X' is declared twice in this block"},
      {".reg .u32 y; .reg .u32 y;", "'y' is declared twice in this block"},
      {".reg .u32 z<2>; .reg .u32 z<3>;", "registers 'z' are declared twice"},
      {".reg .u32 z<9999999>;", "the function has too many registers"},
      {".reg z;", "expected a register type"},
      {".loc 1 2;", "expected file, line and column in .loc"},
      {".loc 1 2 3, elsewhere 4;", "'elsewhere' is not modelled in .loc"},
      {".nonsense;", "'.nonsense' is not modelled in a function"},
      {".branchtargets A;", "'.branchtargets' needs a label before it"},
      {"T: .branchtargets NOWHERE;", "no label 'NOWHERE' in scope"},
      {"T: .callprototype f;", "expected '_' in place of the function's name"},
      {"X: mov.u32 %r1, X;", "label 'X' where a value is needed"},
      {"add.f32 %f1, %f2, 1;", "an integer constant where .f32 needs a floating-point one"},
      {"mov.u32 %r1, thing;", "nothing of the name 'thing' is declared"},
      {"mov.u32 %r1;", "expected 2 operands, found 1"},
      {"st.param.u32 [p_out], 1;", "a kernel's parameters cannot be written"},
  };
  for (const Row &row : rows) {
    std::string message = inKernel(row.text);
    EXPECT_THAT(message, HasSubstr(row.message)) << row.text;
    EXPECT_TRUE(std::regex_search(message, std::regex("^test\\.ptx:[0-9]+: "))) << message;
  }
}

TEST(Malformed, NestingIsBounded) {
  const std::string many(100000, '(');
  EXPECT_THAT(inKernel("mov.u32 %r1, " + many + ";"), HasSubstr("nest too deep"));
  EXPECT_THAT(inKernel("mov.u32 %r1, " + std::string(100000, '-') + "1;"),
              HasSubstr("nest too deep"));
  EXPECT_THAT(inKernel("mov.u32 %r1, " + std::string(100000, '{') + ";"),
              HasSubstr("nest too deep"));
  EXPECT_THAT(inModule(".global .u32 x[2] = " + std::string(100000, '{') + ";"),
              HasSubstr("expected a number"));
  // Blocks are another matter: any number of them.
  EXPECT_EQ(inKernel(std::string(100000, '{') + "ret;" + std::string(100000, '}')), "");
}

/// A module with something of everything.
const std::string kEverything =
    kHead +
    ".file 1 \"a.py\", 12, 34\n.global .align 4 .u32 w[2][2] = {{1, 2}, {(3 + 4) * 2}};\n"
    ".const .u64 t[] = {generic(w), w+8, f};\n.global .u8 m[2] = {0xff(w), 0xff00(generic(w)+4)};\n"
    ".shared .align 16 .b8 s[64];\n.extern .shared .b8 d[];\n.weak .func (.param .b32 r) f(.param "
    ".b32 a)\n{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret; }\n.visible "
    ".func g(.reg .b32 a) .noreturn { exit; }\n.alias h, f;\n.visible .entry k(.param .u64 .ptr "
    ".global .align 16 p, .param .align 8 .b8 b[24])\n.maxntid 128, 1, 1\n.minnctapersm 2\n"
    ".pragma \"nounroll\";\n{ .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .v2 .f32 "
    "v; "
    ".local .b8 depot[16];\n.loc 1 3 4\nld.param.u64 %rd1, [p]; /* text */ mov.f32 v.x, "
    "0f3F800000; "
    "// end\n@!%p1 bra L; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), f, "
    "(x); ld.param.b32 %r2, [y]; } P: .callprototype (.param .b32 _) _ (.param .b32 _); mov.u64 "
    "%rd3, f; call (%r4), %rd3, (%r2), P;\n.loc 1 9 1, function_name $L__info0+4, inlined_at 1 3 "
    "4\n"
    "T: .branchtargets L, M; brx.idx %r2, T; L: st.shared.v2.b32 [s+8], {%r1, 7}; M: "
    "setp.eq.and.u32 "
    "%p1|%p2, %r1, -1, !%p1; ret; }\n.section .debug_str { L1: .b8 1, 2\n.b64 L1 }\n";

std::vector<std::pair<size_t, size_t>> tokens(const std::string &text) {
  static const std::regex token("[A-Za-z_.%$][A-Za-z0-9_.$]*|[0-9][0-9A-Za-z.]*|\"[^\"]*\"|\\S");
  std::vector<std::pair<size_t, size_t>> result;
  for (std::sregex_iterator i(text.begin(), text.end(), token), end; i != end; ++i)
    result.emplace_back(i->position(), i->length());
  return result;
}

/// A changed module loads, or is refused with a line.
bool loadsOrSaysWhere(const std::string &text, bool &loads) {
  const std::string message = refusal(text);
  loads = message.empty();
  return loads || std::regex_search(message, std::regex("^test\\.ptx:[0-9]+: \\S"));
}

TEST(Malformed, AModuleCutAtAnyToken) {
  ASSERT_EQ(refusal(kEverything), "");
  for (auto [at, length] : tokens(kEverything)) {
    const std::string head = kEverything.substr(0, at);
    bool loads = false;
    EXPECT_TRUE(loadsOrSaysWhere(head, loads)) << head;
    // Inside braces nothing is complete.
    const int open = static_cast<int>(std::count(head.begin(), head.end(), '{') -
                                      std::count(head.begin(), head.end(), '}'));
    if (open > 0)
      EXPECT_FALSE(loads) << head;
  }
}

TEST(Malformed, AModuleThatLosesOrRepeatsAToken) {
  for (auto [at, length] : tokens(kEverything)) {
    bool loads = false;
    EXPECT_TRUE(
        loadsOrSaysWhere(kEverything.substr(0, at) + kEverything.substr(at + length), loads))
        << "without '" << kEverything.substr(at, length) << "' at " << at;
    EXPECT_TRUE(
        loadsOrSaysWhere(kEverything.substr(0, at + length) + " " + kEverything.substr(at), loads))
        << "with a second '" << kEverything.substr(at, length) << "' at " << at;
  }
}

TEST(Malformed, AModuleWithAnyByteChanged) {
  constexpr char bytes[] = "\0;{}[]()<>,.%@!:\"/*+-0x9fRb \n"; // with the zero at its end
  uint64_t state = 12345;
  for (int i = 0; i < 3000; ++i) {
    std::string text = kEverything;
    for (int change = 0; change < 2; ++change) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text[(state >> 33) % text.size()] = bytes[(state >> 20) % sizeof(bytes)];
    }
    bool loads = false;
    EXPECT_TRUE(loadsOrSaysWhere(text, loads)) << text;
  }
}

} // namespace
