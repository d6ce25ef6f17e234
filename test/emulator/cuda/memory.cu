// Loads, stores and atomics in their many widths, cache operators, scopes and types.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void cache_operators(const int *x, int4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int4 *vectors = (const int4 *)x;
  int4 sum = __ldg(vectors + i);
  auto add = [&](int4 v) {
    sum.x += v.x;
    sum.y += v.y;
    sum.z += v.z;
    sum.w += v.w;
  };
  add(__ldcg(vectors + i));
  add(__ldcs(vectors + i));
  add(__ldca(vectors + i));
  add(__ldlu(vectors + i));
  add(__ldcv(vectors + i));
  int2 half = __ldg((const int2 *)vectors + 2 * i);
  short byte = __ldg((const signed char *)x + 16 * i);
  sum.x += half.x;
  sum.y += half.y;
  sum.z += byte;
  sum.w += ((const unsigned short *)x)[8 * i + 1];
  switch (i % 4) {
  case 0:
    __stwb(y + i, sum);
    break;
  case 1:
    __stcg(y + i, sum);
    break;
  case 2:
    __stcs(y + i, sum);
    break;
  default:
    __stwt(y + i, sum);
  }
}

// Floating-point sums by atomics of every type; the values are small integers, so the order does
// not matter.
extern "C" __global__ void atomic_sums(const float *x, float *f, double *d, __half2 *h,
                                       __nv_bfloat162 *b, float4 *v, __half *one) {
  __shared__ float shared;
  if (threadIdx.x == 0)
    shared = 0.0f;
  __syncthreads();
  float value = x[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(&shared, value);
  atomicAdd(d, value);
  atomicAdd(h, __floats2half2_rn(value, 1.0f));
  atomicAdd(b, __floats2bfloat162_rn(value, 1.0f));
  atomicAdd(v, make_float4(value, 1.0f, 2.0f, -value));
  atomicAdd(one, __float2half(1.0f));
  __syncthreads();
  if (threadIdx.x == 0)
    atomicAdd_system(f, shared);
}

extern "C" __global__ void atomic_integers(const unsigned *x, unsigned *y, unsigned long long *z) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned value = x[i];
  atomicAdd(y + 0, value);
  atomicSub(y + 1, value);
  atomicAnd(y + 2, value | 0xff);
  atomicXor(y + 3, value);
  atomicInc(y + 4, 6);
  atomicDec(y + 5, 9);
  atomicMin_block(y + 6, value);
  atomicMax((int *)y + 7, (int)value);
  atomicAdd(z + 0, (unsigned long long)value << 8);
  atomicMax(z + 1, (unsigned long long)value * value);
  atomicMin((long long *)z + 2, -(long long)value);
  atomicOr(z + 3, 1ull << (value & 63));
  // A product by compare and swap.
  unsigned long long seen = z[4], expected;
  do {
    expected = seen;
    seen = atomicCAS(z + 4, expected, expected * (value | 1));
  } while (seen != expected);
}

// 16 bytes at once: compare and swap, exchange.
struct alignas(16) Pair {
  unsigned long long low, high;
};

extern "C" __global__ void atomic_pairs(Pair *pair, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Pair expected = {0, 0}, seen;
    for (;;) {
      Pair wanted = {expected.low + 1, expected.high + expected.low};
      asm volatile("{ .reg .b128 c, n, o; mov.b128 c, {%2, %3}; mov.b128 n, {%4, %5};\n"
                   " atom.relaxed.gpu.global.cas.b128 o, [%6], c, n; mov.b128 {%0, %1}, o; }"
                   : "=l"(seen.low), "=l"(seen.high)
                   : "l"(expected.low), "l"(expected.high), "l"(wanted.low), "l"(wanted.high),
                     "l"(pair)
                   : "memory");
      if (seen.low == expected.low && seen.high == expected.high)
        break;
      expected = seen;
    }
  }
}

// Objects of a heap in global memory, linked into lists with atomics.
struct Node {
  int value;
  Node *next;
};

extern "C" __global__ void linked_list(const int *x, Node *pool, Node **head, unsigned *used,
                                       int *sum, unsigned *arrived) {
  unsigned slot = atomicAdd(used, 1);
  Node *node = pool + slot;
  node->value = x[blockIdx.x * blockDim.x + threadIdx.x];
  cuda::atomic_ref<Node *, cuda::thread_scope_device> top(*head);
  Node *old = top.load(cuda::memory_order_relaxed);
  do
    node->next = old;
  while (!top.compare_exchange_weak(old, node, cuda::memory_order_acq_rel,
                                    cuda::memory_order_relaxed));
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> count(*arrived);
  if (count.fetch_add(1, cuda::memory_order_acq_rel) + 1 == gridDim.x * blockDim.x) {
    int total = 0;
    for (Node *at = top.load(cuda::memory_order_acquire); at; at = at->next)
      total += at->value;
    *sum = total;
  }
}

// Packed fields and unaligned data byte by byte; pointers into generic memory of both kinds.
__device__ __noinline__ int sumOf(const int *values, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += values[i];
  return sum;
}

extern "C" __global__ void generic_pointers(const int *x, int *y) {
  __shared__ int shared[32];
  int local[4];
  shared[threadIdx.x] = x[threadIdx.x] * 2;
  for (int i = 0; i < 4; ++i)
    local[i] = x[(threadIdx.x + i) % 32];
  __syncthreads();
  const int *where = threadIdx.x % 3 == 0 ? x : threadIdx.x % 3 == 1 ? shared : local;
  y[threadIdx.x] =
      sumOf(where, 4) * 10 + __isGlobal(where) + 2 * __isShared(where) + 4 * __isLocal(where);
}
