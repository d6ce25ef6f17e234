// Arithmetic of every width: integer intrinsics, conversions, narrow floating-point types, f64, and
// the math library that NVRTC links in.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void integer_intrinsics(const unsigned *a, const unsigned *b,
                                              const unsigned *c, unsigned *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned u = a[i], v = b[i], w = c[i];
  unsigned *out = y + 24 * i;
  out[0] = __popc(u);
  out[1] = __clz(u);
  out[2] = __ffs(u);
  out[3] = __brev(u);
  out[4] = __byte_perm(u, v, w & 0x7777);
  out[5] = __funnelshift_l(u, v, w);
  out[6] = __funnelshift_r(u, v, w);
  out[7] = __funnelshift_lc(u, v, w & 63);
  out[8] = __dp4a((int)u, (int)v, (int)w);
  out[9] = __dp4a(u, v, w);
  out[10] = __dp2a_lo((int)u, (int)v, (int)w);
  out[11] = __umulhi(u, v);
  out[12] = (unsigned)__mulhi((int)u, (int)v);
  out[13] = __sad((int)u, (int)v, w);
  out[14] = __uhadd(u, v);
  out[15] = (unsigned)__rhadd((int)u, (int)v);
  out[16] = v ? u / v : 0;
  out[17] = v ? u % v : 0;
  out[18] = (unsigned)((int)u / (int)(v | 1));
  out[19] = (unsigned)((int)u % (int)(v | 1));
  out[20] = __vadd4(u, v);
  out[21] = __vabsdiffu4(u, v);
  out[22] = __vmaxs2(u, v);
  out[23] = __popcll((unsigned long long)u << 32 | v) + __clzll((long long)v << 20);
}

extern "C" __global__ void long_integers(const long long *a, const long long *b, long long *y) {
  int i = threadIdx.x;
  long long u = a[i], v = b[i];
  long long *out = y + 8 * i;
  out[0] = u * v;
  out[1] = v ? u / v : 0;
  out[2] = v ? u % v : 0;
  out[3] = __mul64hi(u, v);
  out[4] = (long long)__umul64hi(u, v);
  out[5] = u >> (v & 63);
  out[6] = (long long)__brevll(u);
  out[7] = (unsigned long long)u / ((unsigned long long)v | 1);
}

extern "C" __global__ void math32(const float *x, const float *z, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  float u = x[i], v = z[i], a = fabsf(u);
  float values[] = {sinf(u),          cosf(u),      tanf(u),   expf(u),
                    logf(a),          powf(a, v),   erff(u),   tanhf(u),
                    sqrtf(a),         rsqrtf(a),    u / v,     cbrtf(u),
                    atan2f(u, v),     fmodf(u, v),  expm1f(u), log1pf(a),
                    lgammaf(a + 1.f), hypotf(u, v), roundf(u), erfcf(u),
                    exp2f(u),         log2f(a),     sinhf(u),  asinf(u / (a + 1.f))};
  for (int k = 0; k < 24; ++k)
    y[k * n + i] = values[k];
}

extern "C" __global__ void math64(const double *x, const double *z, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  double u = x[i], v = z[i], a = fabs(u);
  double values[] = {sin(u),  exp(u),  log(a),     pow(a, v),    u / v,    sqrt(a),
                     erf(u),  tanh(u), rsqrt(a),   fma(u, v, a), floor(u), rint(u),
                     atan(u), cbrt(u), fmod(u, v), 1.0 / v};
  for (int k = 0; k < 16; ++k)
    y[k * n + i] = values[k];
}

extern "C" __global__ void fast_math(const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  float u = x[i];
  float values[] = {__sinf(u),
                    __cosf(u),
                    __expf(u),
                    __logf(fabsf(u)),
                    __fdividef(u, 3.0f),
                    __frcp_rn(u),
                    __fsqrt_rn(fabsf(u)),
                    __fmaf_rz(u, u, 1.0f),
                    __fadd_ru(u, 1e-8f),
                    __saturatef(u),
                    __exp10f(u * 0.1f),
                    __powf(fabsf(u), 1.5f)};
  for (int k = 0; k < 12; ++k)
    y[k * n + i] = values[k];
}

extern "C" __global__ void rounding(const float *x, const double *d, int *y, long long *z) {
  int i = threadIdx.x;
  float u = x[i];
  int *out = y + 8 * i;
  out[0] = __float2int_rn(u);
  out[1] = __float2int_rz(u);
  out[2] = __float2int_ru(u);
  out[3] = __float2int_rd(u);
  out[4] = (int)__float2uint_rn(u);
  out[5] = __double2int_rn(d[i]);
  out[6] = __float_as_int(__double2float_rn(d[i]));
  out[7] = __float_as_int(__int2float_rn(__float_as_int(u)));
  z[4 * i] = __float2ll_rn(u * 1e9f);
  z[4 * i + 1] = __double2ll_rd(d[i] * 1e12);
  z[4 * i + 2] = __double_as_longlong((double)u);
  z[4 * i + 3] = __double_as_longlong(__ll2double_rn(__double_as_longlong(d[i])));
}

extern "C" __global__ void half_arithmetic(const __half2 *a, const __half2 *b, __half2 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  __half2 u = a[i], v = b[i];
  __half2 values[] = {__hadd2(u, v),     __hsub2(u, v),         __hmul2(u, v), __hfma2(u, v, u),
                      __hmin2(u, v),     __hmax2(u, v),         __hneg2(u),    __habs2(u),
                      __hadd2_sat(u, v), __hfma2_relu(u, v, u), __h2div(u, v), h2sqrt(__habs2(u))};
  for (int k = 0; k < 12; ++k)
    y[k * n + i] = values[k];
}

extern "C" __global__ void bfloat_arithmetic(const __nv_bfloat162 *a, const __nv_bfloat162 *b,
                                             __nv_bfloat162 *y, unsigned *compare) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  __nv_bfloat162 u = a[i], v = b[i];
  __nv_bfloat162 values[] = {__hadd2(u, v), __hsub2(u, v), __hmul2(u, v), __hfma2(u, v, u),
                             __hmin2(u, v), __hmax2(u, v), __hneg2(u),    __habs2(u)};
  for (int k = 0; k < 8; ++k)
    y[k * n + i] = values[k];
  compare[i] = __hlt2_mask(u, v) ^ (__hbeq2(u, v) ? 1u : 0u);
}

extern "C" __global__ void narrow_conversions(const float *x, unsigned short *h, unsigned short *b,
                                              unsigned char *e4, unsigned char *e5, float *back) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float u = x[i];
  h[i] = __half_as_ushort(__float2half_rn(u));
  b[i] = __bfloat16_as_ushort(__float2bfloat16_rn(u));
  e4[i] = __nv_cvt_float_to_fp8(u, __NV_SATFINITE, __NV_E4M3);
  e5[i] = __nv_cvt_float_to_fp8(u, __NV_SATFINITE, __NV_E5M2);
  __half_raw from4 = __nv_cvt_fp8_to_halfraw(e4[i], __NV_E4M3);
  back[2 * i] = __half2float(__half(from4));
  __half_raw from5 = __nv_cvt_fp8_to_halfraw(e5[i], __NV_E5M2);
  back[2 * i + 1] = __half2float(__half(from5));
}
