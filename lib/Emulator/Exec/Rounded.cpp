// Floating-point arithmetic with a directed rounding (.rz, .rm, .rp; PTX ISA 9.0, 9.7.3): the
// host's own rounding mode does the work. This file is built with -frounding-math, so that nothing
// moves across the change of mode.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator/Exec/FloatOps.h"

#include <cfenv>
#include <cmath>

namespace girih::emu {

namespace {

using ptx::Type;

enum Operation { Add, Sub, Mul, Div, Fma, Rcp, Sqrt };

template <typename T> Step rounded(Context &c, const Instr &in) {
  const T *a = c.src<T>(in.s[0]);
  const T *b = in.s[1] == kNone ? a : c.src<T>(in.s[1]);
  const T *e = in.s[2] == kNone ? a : c.src<T>(in.s[2]);
  const bool ftz = in.bytes & 1, sat = in.bytes & 2;
  constexpr int modes[] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  T t[32];
  const int before = std::fegetround();
  std::fesetround(modes[in.count]);
  for (unsigned i = 0; i < 32; ++i) {
    T x = a[i], y = b[i], z = e[i];
    if (ftz) {
      x = flush(x);
      y = flush(y);
      z = flush(z);
    }
    const T first = x;
    switch (in.sub) {
    case Add:
      x = x + y;
      break;
    case Sub:
      x = x - y;
      break;
    case Mul:
      x = x * y;
      break;
    case Div:
      x = x / y;
      break;
    case Fma:
      x = std::fma(x, y, z);
      break;
    case Rcp:
      x = T(1) / x;
      break;
    default:
      x = std::sqrt(x);
    }
    if (ftz)
      x = flush(x);
    t[i] = sat ? saturate(x) : payload(x, first, y, z);
  }
  std::fesetround(before);
  storeLanes(c, in.d[0], t);
  return Step::Next;
}

void build(Decoder &d, int operation) {
  unsigned sources = operation == Fma ? 3 : operation >= Rcp ? 1 : 2;
  simpleOperands(d, sources, d.bytes());
  d.out.sub = static_cast<uint8_t>(operation);
  d.out.count = static_cast<uint8_t>(d.which({"rz", "rm", "rp"}));
  d.out.bytes = static_cast<uint8_t>((d.has("ftz") ? 1 : 0) | (d.has("sat") ? 2 : 0));
  d.out.exec = d.type() == Type::F64 ? ExecFn(rounded<double>) : ExecFn(rounded<float>);
}

const Form forms[] = {
    {"add", "rz|rm|rp ftz? sat? f32", build, Add},
    {"add", "rz|rm|rp f64", build, Add},
    {"sub", "rz|rm|rp ftz? sat? f32", build, Sub},
    {"sub", "rz|rm|rp f64", build, Sub},
    {"mul", "rz|rm|rp ftz? sat? f32", build, Mul},
    {"mul", "rz|rm|rp f64", build, Mul},
    {"fma", "rz|rm|rp ftz? sat? f32", build, Fma},
    {"fma", "rz|rm|rp f64", build, Fma},
    {"mad", "rz|rm|rp ftz? sat? f32", build, Fma},
    {"mad", "rz|rm|rp f64", build, Fma},
    {"div", "rz|rm|rp ftz? f32", build, Div},
    {"div", "rz|rm|rp f64", build, Div},
    // ptxas takes .ftz with f64, on which it has no effect.
    {"rcp", "rz|rm|rp ftz? f32|f64", build, Rcp},
    {"sqrt", "rz|rm|rp ftz? f32", build, Sqrt},
    {"sqrt", "rz|rm|rp f64", build, Sqrt},
};

} // namespace

std::span<const Form> roundedForms() { return forms; }

} // namespace girih::emu
