// Small CUDA kernels; cuda_kernels.ptx is what NVRTC 13.0 or newer makes of them for sm_90a
// (nvrtc options: --gpu-architecture=sm_90a -std=c++17). CudaTest.cpp runs the PTX.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

extern "C" __global__ void sum(const float *x, float *out, int n) {
  __shared__ float partial[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += x[i];
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(~0u, v, o);
  if ((threadIdx.x & 31) == 0)
    partial[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int o = 16; o; o >>= 1)
      v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x == 0)
      atomicAdd(out, v);
  }
}

extern "C" __global__ void scan(const int *x, int *y, int unused) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  y[blockIdx.x * 256 + t] = s[t];
}

extern "C" __global__ void histogram(const unsigned *x, unsigned *h, int n) {
  __shared__ unsigned s[64];
  if (threadIdx.x < 64)
    s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[x[i] & 63], 1u);
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}

// All blocks wait for each other through global memory; x is unused.
extern "C" __global__ void gridBarrier(const int *x, int *y, int n) {
  int *flag = y, *data = y + 1, *out = y + 1 + gridDim.x;
  if (threadIdx.x == 0) {
    data[blockIdx.x] = blockIdx.x * 3 + n;
    __threadfence();
    atomicAdd(flag, 1);
    while (*(volatile int *)flag < gridDim.x)
      ;
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0)
    out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
}

extern "C" __global__ void divergence(const int *x, int *y, int n) {
  int t = threadIdx.x, s = 0;
  for (int i = 0; i < t % n; i++) {
    if ((t * i) & 1)
      s += i * t;
    else if (t % 3 == 0)
      s -= i;
    else
      for (int j = 0; j < i; j++)
        s ^= j * t;
  }
  switch (t % 5) {
  case 0:
    s += 1;
    break;
  case 1:
    s *= 3;
  case 2:
    s -= 7;
    break;
  default:
    s = ~s;
  }
  y[t] = s;
}
