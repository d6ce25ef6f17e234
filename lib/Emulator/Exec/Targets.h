// Compiles the file that includes this once for each instruction set of the host: plain x86-64,
// AVX2 and AVX-512.
//
// A file of lane loops begins with
//
//   #undef GIRIH_TARGET_FILE
//   #define GIRIH_TARGET_FILE "Emulator/Exec/Name.cpp"
//   #include "Emulator/Exec/Targets.h"
//
// and puts what follows between GIRIH_TARGET_BEGIN and GIRIH_TARGET_END. This header then includes
// the file twice more, in the namespaces avx2 and avx512, with code generation for them; the file
// itself is the plain one. Attributes on functions, not options on files: with options the linker
// could pick a library's inline function that was compiled for an instruction set which the machine
// lacks.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// No include guard: see above.
#include "Emulator/Exec/Lanes.h"

#ifndef GIRIH_TARGET_PASS
#define GIRIH_TARGET_PASS

#define GIRIH_PRAGMA(text) _Pragma(#text)
/// Whether the target has fused multiply-add.
#define GIRIH_TARGET_FMA 1
#define GIRIH_TARGET_END                                                                           \
  }                                                                                                \
  GIRIH_PRAGMA(clang attribute pop)

#define GIRIH_TARGET_BEGIN                                                                         \
  GIRIH_PRAGMA(clang attribute push(                                                               \
      __attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt"))), apply_to = function))        \
  namespace girih::emu::avx2 {
#include GIRIH_TARGET_FILE
#undef GIRIH_TARGET_BEGIN

#define GIRIH_TARGET_BEGIN                                                                         \
  GIRIH_PRAGMA(clang attribute push(                                                               \
      __attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,"       \
                            "avx512vl,avx512cd"))),                                                \
      apply_to = function))                                                                        \
  namespace girih::emu::avx512 {
#include GIRIH_TARGET_FILE
#undef GIRIH_TARGET_BEGIN
#undef GIRIH_TARGET_END
#undef GIRIH_TARGET_FMA
#define GIRIH_TARGET_FMA 0

#define GIRIH_TARGET_BEGIN namespace girih::emu::plain {
#define GIRIH_TARGET_END }

#endif
