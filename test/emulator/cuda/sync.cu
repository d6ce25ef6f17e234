// Ways of waiting: named barriers and barriers that vote, flags with acquire and release,
// semaphores, sums in stream-K order, dependent launches, register reallocation.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>

extern "C" __global__ void voting_barriers(const int *x, int *y) {
  int value = x[blockIdx.x * blockDim.x + threadIdx.x];
  int *out = y + 3 * (blockIdx.x * blockDim.x + threadIdx.x);
  out[0] = __syncthreads_count(value > 0);
  out[1] = __syncthreads_and(value > -90);
  out[2] = __syncthreads_or(value > 95);
}

// Warps pair up on barriers of their own: two of them fill a buffer, two read it.
extern "C" __global__ void named_barriers(const int *x, int *y, int rounds) {
  __shared__ int buffer[2][64];
  int pair = threadIdx.x / 32 % 2, lane = threadIdx.x % 32;
  bool producer = threadIdx.x < 64;
  for (int round = 0; round < rounds; ++round) {
    int full = 1 + pair, empty = 3 + pair;
    if (producer) {
      if (round > 0)
        asm volatile("bar.sync %0, 64;" ::"r"(empty) : "memory");
      buffer[pair][lane] = x[round * 64 + pair * 32 + lane];
      asm volatile("bar.arrive %0, 64;" ::"r"(full) : "memory");
    } else {
      asm volatile("barrier.cta.sync %0, %1;" ::"r"(full), "r"(64) : "memory");
      y[round * 64 + pair * 32 + lane] = buffer[pair][31 - lane];
      if (round + 1 < rounds)
        asm volatile("barrier.cta.arrive %0, %1;" ::"r"(empty), "r"(64) : "memory");
    }
  }
}

// Block i waits for block i - 1's flag, then extends its sum.
extern "C" __global__ void chain_of_blocks(const int *x, int *sums, unsigned *flags) {
  if (threadIdx.x == 0) {
    int before = 0;
    if (blockIdx.x > 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(flags[blockIdx.x - 1]);
      while (flag.load(cuda::memory_order_acquire) == 0)
        ;
      before = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = before + x[blockIdx.x];
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> own(flags[blockIdx.x]);
    own.store(1, cuda::memory_order_release);
  }
}

// The same with relaxed accesses and fences, and with cuda::atomic's wait and notify.
extern "C" __global__ void chain_with_fences(const int *x, int *sums, unsigned *flags) {
  if (threadIdx.x == 0) {
    int before = 0;
    if (blockIdx.x > 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(flags[blockIdx.x - 1]);
      while (flag.load(cuda::memory_order_relaxed) == 0)
        __nanosleep(100);
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
      before = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = before + x[blockIdx.x];
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> own(flags[blockIdx.x]);
    own.store(1, cuda::memory_order_relaxed);
  }
}

extern "C" __global__ void atomic_wait(const int *x, int *sums, unsigned *flags) {
  if (threadIdx.x == 0) {
    int before = 0;
    if (blockIdx.x > 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(flags[blockIdx.x - 1]);
      flag.wait(0);
      before = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = before + x[blockIdx.x];
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> own(flags[blockIdx.x]);
    own.store(1);
    own.notify_all();
  }
}

// A counting semaphore and a latch in shared memory.
extern "C" __global__ void semaphore_and_latch(const int *x, int *y) {
  using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 2>;
  using Latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(Semaphore) char semaphoreStorage[sizeof(Semaphore)];
  __shared__ alignas(Latch) char latchStorage[sizeof(Latch)];
  __shared__ int inside, most, sum;
  Semaphore *semaphore = (Semaphore *)semaphoreStorage;
  Latch *latch = (Latch *)latchStorage;
  if (threadIdx.x == 0) {
    new (semaphore) Semaphore(2);
    new (latch) Latch(blockDim.x);
    inside = most = sum = 0;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    semaphore->acquire();
    int count = atomicAdd(&inside, 1) + 1;
    atomicMax(&most, count);
    atomicAdd(&sum, x[threadIdx.x / 32]);
    atomicSub(&inside, 1);
    semaphore->release();
  }
  latch->arrive_and_wait();
  if (threadIdx.x == 0) {
    y[2 * blockIdx.x] = sum;
    y[2 * blockIdx.x + 1] = most <= 2;
  }
}

// A split sum fixed up in order: the parts of one tile are added by the block that owns it, which
// spins on the others' flags, as stream-K schedules do.
extern "C" __global__ void stream_k_sums(const float *x, float *partial, unsigned *ready, float *y,
                                         int parts, int length) {
  __shared__ float own[128];
  int tile = blockIdx.x / parts, part = blockIdx.x % parts;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < length; i += blockDim.x)
    sum += x[(tile * parts + part) * length + i];
  own[threadIdx.x] = sum;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride)
      own[threadIdx.x] += own[threadIdx.x + stride];
    __syncthreads();
  }
  if (part > 0) {
    if (threadIdx.x == 0) {
      partial[blockIdx.x] = own[0];
      __threadfence();
      asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(ready + blockIdx.x), "r"(1)
                   : "memory");
    }
    return;
  }
  if (threadIdx.x == 0) {
    float total = own[0];
    for (int other = 1; other < parts; ++other) {
      unsigned flag = 0;
      while (!flag)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(flag)
                     : "l"(ready + blockIdx.x + other)
                     : "memory");
      total += partial[blockIdx.x + other];
    }
    y[tile] = total;
  }
}

// setmaxnreg, griddepcontrol and the clock, which change no result.
extern "C" __global__ void __launch_bounds__(384, 1) registers_and_clocks(const int *x, int *y) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (threadIdx.x < 128)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  long long start = clock64();
  unsigned long long time, later;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  __nanosleep(50);
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(later));
  y[threadIdx.x] = x[threadIdx.x] + (clock64() >= start) + (later >= time);
  asm volatile("griddepcontrol.launch_dependents;");
}
