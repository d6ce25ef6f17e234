// Functions that stay functions: structs by value, recursion, tables of functions, virtual calls,
// printf; and tables in constant and global memory that hold addresses.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

struct Body {
  double position[3];
  float mass;
  char tag;
  short id;
};

// A struct by value and a struct returned: both travel through .param space.
__device__ __noinline__ Body moved(Body body, double by) {
  for (double &p : body.position)
    p += by * body.mass;
  body.id = (short)(body.id + body.tag);
  return body;
}

extern "C" __global__ void structs(Body first, Body *bodies, double by) {
  Body body = first;
  body.position[1] = threadIdx.x;
  body.id = (short)threadIdx.x;
  bodies[threadIdx.x] = moved(body, by);
}

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ bool isOdd(unsigned n);
__device__ __noinline__ bool isEven(unsigned n) { return n == 0 || isOdd(n - 1); }
__device__ __noinline__ bool isOdd(unsigned n) { return n != 0 && isEven(n - 1); }

extern "C" __global__ void recursion(const int *x, int *y, int *even) {
  y[threadIdx.x] = fibonacci(x[threadIdx.x]);
  even[threadIdx.x] = isEven(x[threadIdx.x]);
}

using Operation = int (*)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ __noinline__ int divide(int a, int b) { return b ? a / b : 0; }
__device__ Operation operations[] = {add, subtract, multiply, divide};

// Lanes of one warp call different functions through a pointer.
extern "C" __global__ void function_pointers(const int *which, const int *a, const int *b, int *y) {
  int i = threadIdx.x;
  y[i] = operations[which[i]](a[i], b[i]);
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
  float radius;
  __device__ Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3.0f * radius * radius; }
};

extern "C" __global__ void virtual_calls(const float *x, float *y) {
  Square square(x[threadIdx.x]);
  Circle circle(x[threadIdx.x]);
  const Shape *shape = threadIdx.x % 3 ? (const Shape *)&square : &circle;
  y[threadIdx.x] = shape->area();
}

__constant__ int table[8] = {1, 1, 2, 6, 24, 120, 720, 5040};
__constant__ const char *words[2] = {"even", "odd"};
__device__ int globalCounter = 41;
__device__ int *pointerToCounter = &globalCounter;

extern "C" __global__ void constants(int *y) {
  const char *word = words[threadIdx.x % 2];
  int length = 0;
  while (word[length])
    ++length;
  y[threadIdx.x] = table[threadIdx.x % 8] * 10 + length;
  if (threadIdx.x == 0)
    *pointerToCounter = 42;
  __syncthreads();
  if (threadIdx.x == 1)
    y[32] = globalCounter;
}

extern "C" __device__ int printf(const char *, ...);

extern "C" __global__ void printing(int *y) {
  if (threadIdx.x == 3)
    y[blockIdx.x] = printf("block %d of %u: %s %5.2f %lld %c\n", blockIdx.x, gridDim.x, "half", 0.5,
                  1234567890123ll, 'x');
}
