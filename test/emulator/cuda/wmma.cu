// A matmul in shared memory on the tensor core through nvcuda::wmma, one warp a 16x16 tile (16x16x8
// for tf32).
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <mma.h>

using namespace nvcuda;

// A is m x k by rows, B is k x n by rows (or by columns), staged through shared memory by the whole
// block.
template <typename Stored, typename Element, typename Sum, int K, typename LayoutB, bool ByColumns>
__device__ void tile(const Stored *a, const Stored *b, Sum *c, int n, int k) {
  constexpr int Warps = 4, Rows = 32, Columns = 32, Pad = 16 / sizeof(Stored);
  __shared__ __align__(32) Stored tileA[Rows][32 + Pad];
  __shared__ __align__(32) Stored tileB[32][Columns + Pad];
  int warp = threadIdx.x / 32, row = warp / 2 * 16, column = warp % 2 * 16;
  wmma::fragment<wmma::accumulator, 16, 16, K, Sum> sum;
  wmma::fill_fragment(sum, Sum(0));
  for (int start = 0; start < k; start += 32) {
    for (int i = threadIdx.x; i < 32 * 32; i += Warps * 32) {
      tileA[i / 32][i % 32] = a[(blockIdx.y * Rows + i / 32) * k + start + i % 32];
      if (ByColumns) // tileB[column][row]
        tileB[i / 32][i % 32] = b[(start + i % 32) * n + blockIdx.x * Columns + i / 32];
      else
        tileB[i / 32][i % 32] = b[(start + i / 32) * n + blockIdx.x * Columns + i % 32];
    }
    __syncthreads();
    for (int step = 0; step < 32; step += K) {
      wmma::fragment<wmma::matrix_a, 16, 16, K, Element, wmma::row_major> fragmentA;
      wmma::fragment<wmma::matrix_b, 16, 16, K, Element, LayoutB> fragmentB;
      wmma::load_matrix_sync(fragmentA, &tileA[row][step], 32 + Pad);
      wmma::load_matrix_sync(fragmentB, ByColumns ? &tileB[column][step] : &tileB[step][column],
                             Columns + Pad);
      if constexpr (K == 8) {
        for (auto &x : fragmentA.x)
          x = wmma::__float_to_tf32(x);
        for (auto &x : fragmentB.x)
          x = wmma::__float_to_tf32(x);
      }
      wmma::mma_sync(sum, fragmentA, fragmentB, sum);
    }
    __syncthreads();
  }
  wmma::store_matrix_sync(c + (blockIdx.y * Rows + row) * n + blockIdx.x * Columns + column, sum, n,
                          wmma::mem_row_major);
}

extern "C" __global__ void wmma_f16(const __half *a, const __half *b, float *c, int n, int k) {
  tile<__half, __half, float, 16, wmma::row_major, false>(a, b, c, n, k);
}
extern "C" __global__ void wmma_f16_half_sums(const __half *a, const __half *b, __half *c, int n,
                                              int k) {
  tile<__half, __half, __half, 16, wmma::col_major, true>(a, b, c, n, k);
}
extern "C" __global__ void wmma_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c,
                                     int n, int k) {
  tile<__nv_bfloat16, __nv_bfloat16, float, 16, wmma::row_major, false>(a, b, c, n, k);
}
extern "C" __global__ void wmma_tf32(const float *a, const float *b, float *c, int n, int k) {
  tile<float, wmma::precision::tf32, float, 8, wmma::row_major, false>(a, b, c, n, k);
}
extern "C" __global__ void wmma_s8(const signed char *a, const signed char *b, int *c, int n,
                                   int k) {
  tile<signed char, signed char, int, 16, wmma::row_major, false>(a, b, c, n, k);
}

// f64: m8n8k4, straight from global memory.
extern "C" __global__ void wmma_f64(const double *a, const double *b, double *c, int n, int k) {
  wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
  wmma::fill_fragment(sum, 0.0);
  for (int start = 0; start < k; start += 4) {
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fragmentA;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fragmentB;
    wmma::load_matrix_sync(fragmentA, a + blockIdx.y * 8 * k + start, k);
    wmma::load_matrix_sync(fragmentB, b + start * n + blockIdx.x * 8, n);
    wmma::mma_sync(sum, fragmentA, fragmentB, sum);
  }
  wmma::store_matrix_sync(c + blockIdx.y * 8 * n + blockIdx.x * 8, sum, n, wmma::mem_row_major);
}
