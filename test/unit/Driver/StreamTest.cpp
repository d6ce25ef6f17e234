// Streams, events, dependent launches and residency through the driver.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Fixture.h"

using namespace girih::cuda;
using ::testing::HasSubstr;

namespace {

/// meet(buffer, mine, other): sets word `mine` and waits for word `other`. increase(buffer): adds
/// one to word 8. dependent(buffer): sets word 0, waits for the grids before it, adds one to
/// word 8. primary(buffer): lets dependents start, waits for word 0, adds one to word 8.
constexpr const char *kPtx = R"(
.version 8.0
.target sm_90a
.address_size 64

.visible .entry meet(.param .u64 buffer, .param .u32 mine, .param .u32 other)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [buffer];
  ld.param.u32 %r1, [mine];
  ld.param.u32 %r2, [other];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd2, %rd2, %rd1;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd3, %rd3, %rd1;
  mov.u32 %r3, 1;
  st.release.gpu.global.u32 [%rd2], %r3;
W:
  ld.acquire.gpu.global.u32 %r3, [%rd3];
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra W;
  ret;
}

.visible .entry increase(.param .u64 buffer)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [buffer];
  ld.global.u32 %r1, [%rd1+32];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1+32], %r1;
  ret;
}

.visible .entry primary(.param .u64 buffer)
{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [buffer];
  griddepcontrol.launch_dependents;
W:
  ld.acquire.gpu.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra W;
  ld.global.u32 %r1, [%rd1+32];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1+32], %r1;
  ret;
}

.visible .entry dependent(.param .u64 buffer)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [buffer];
  mov.u32 %r1, 1;
  st.release.gpu.global.u32 [%rd1], %r1;
  griddepcontrol.wait;
  ld.global.u32 %r1, [%rd1+32];
  add.u32 %r1, %r1, 1;
  st.global.u32 [%rd1+32], %r1;
  ret;
}

.visible .entry registers(.param .u64 buffer)
.maxnreg 128
{
  ret;
}
)";

struct StreamTest : DriverTest {
  CUmodule module = nullptr;
  CUdeviceptr buffer = 0;
  CUstream a = nullptr, b = nullptr;

  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(CALL(cuModuleLoadData)(&module, kPtx), CUDA_SUCCESS) << takeReports();
    buffer = upload(std::vector<uint32_t>(16));
    ASSERT_OK(CALL(cuStreamCreate)(&a, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(CALL(cuStreamCreate)(&b, CU_STREAM_NON_BLOCKING));
  }
  CUfunction kernel(const char *name) {
    CUfunction function = nullptr;
    EXPECT_OK(CALL(cuModuleGetFunction)(&function, module, name));
    return function;
  }
  CUresult launch(const char *name, CUstream stream) {
    void *parameters[] = {&buffer};
    return CALL(cuLaunchKernel)(kernel(name), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  CUresult meet(uint32_t mine, uint32_t other, CUstream stream) {
    void *parameters[] = {&buffer, &mine, &other};
    return CALL(cuLaunchKernel)(kernel("meet"), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  CUresult launchEx(const char *name, CUstream stream, CUlaunchAttributeID id, int value,
                    unsigned grid = 1, unsigned block = 1) {
    CUlaunchAttribute attribute{};
    attribute.id = id;
    attribute.value.cooperative = value; // both attributes are an int at the start
    CUlaunchConfig config{grid, 1, 1, block, 1, 1, 0, stream, &attribute, 1};
    void *parameters[] = {&buffer};
    return CALL(cuLaunchKernelEx)(&config, kernel(name), parameters, nullptr);
  }
  uint32_t counted() { return download<uint32_t>(buffer, 9)[8]; }
};

TEST_F(StreamTest, GraphsHoldLaunches) {
  CUgraph graph = nullptr, other = nullptr;
  CUgraphExec executable = nullptr;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(CALL(cuStreamEndCapture)(a, &graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuStreamBeginCapture_v2)(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ASSERT_OK(CALL(cuStreamBeginCapture_v2)(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(CALL(cuStreamIsCapturing)(a, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_OK(meet(0, 0, a));
  // Only launches can be captured, and nobody can wait for them.
  EXPECT_EQ(CALL(cuStreamQuery)(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(CALL(cuMemsetD8Async)(buffer, 0, 4, a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ASSERT_OK(CALL(cuStreamEndCapture)(a, &graph));
  ASSERT_OK(CALL(cuStreamIsCapturing)(a, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  ASSERT_OK(CALL(cuStreamSynchronize)(a));
  EXPECT_EQ(download<uint32_t>(buffer, 1)[0], 0u) << "nothing has run";

  ASSERT_OK(CALL(cuGraphInstantiateWithFlags)(&executable, graph, 0));
  ASSERT_OK(CALL(cuGraphLaunch)(executable, b));
  ASSERT_OK(CALL(cuStreamSynchronize)(b));
  EXPECT_NE(download<uint32_t>(buffer, 1)[0], 0u);

  CUgraphExecUpdateResultInfo info = {};
  ASSERT_OK(CALL(cuGraphExecUpdate_v2)(executable, graph, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  ASSERT_OK(CALL(cuStreamBeginCapture_v2)(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(CALL(cuStreamEndCapture)(a, &other)); // empty
  EXPECT_EQ(CALL(cuGraphExecUpdate_v2)(executable, other, &info),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);

  ASSERT_OK(CALL(cuGraphDestroy)(graph));
  EXPECT_EQ(CALL(cuGraphDestroy)(graph), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_OK(CALL(cuGraphDestroy)(other));
  ASSERT_OK(CALL(cuGraphExecDestroy)(executable));
  EXPECT_EQ(CALL(cuGraphLaunch)(executable, b), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamTest, KernelsOfTwoStreamsRunSideBySide) {
  for (const char *seed : {"0", "1", "2", "3"}) {
    ASSERT_OK(CALL(girihEmulatorSetOption)("seed", seed));
    ASSERT_OK(CALL(cuMemsetD32_v2)(buffer, 0, 16));
    ASSERT_OK(CALL(cuCtxSynchronize)());
    ASSERT_OK(meet(0, 1, a));
    ASSERT_OK(meet(1, 0, b));
    EXPECT_OK(CALL(cuStreamSynchronize)(a)) << takeReports();
    EXPECT_OK(CALL(cuStreamSynchronize)(b)) << takeReports();
  }
}

TEST_F(StreamTest, OneStreamKeepsItsOrder) {
  // The second would release the first.
  ASSERT_OK(meet(0, 1, a));
  ASSERT_OK(meet(1, 0, a));
  EXPECT_EQ(CALL(cuStreamSynchronize)(a), CUDA_ERROR_LAUNCH_FAILED);
  std::string text = takeReports();
  EXPECT_THAT(text, HasSubstr("polls global"));
  EXPECT_THAT(text, HasSubstr("waits for the end of one of these"));
}

TEST_F(StreamTest, EventsOrderStreams) {
  CUevent event = nullptr;
  ASSERT_OK(CALL(cuEventCreate)(&event, 0));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(launch("increase", a));
    ASSERT_OK(CALL(cuEventRecord)(event, a));
    ASSERT_OK(CALL(cuStreamWaitEvent)(b, event, 0));
    ASSERT_OK(launch("increase", b));
    ASSERT_OK(CALL(cuEventRecord)(event, b));
    ASSERT_OK(CALL(cuStreamWaitEvent)(a, event, 0));
  }
  EXPECT_OK(CALL(cuStreamSynchronize)(b)) << takeReports();
  EXPECT_EQ(counted(), 6u);
  EXPECT_OK(CALL(cuEventDestroy_v2)(event));
}

TEST_F(StreamTest, WithoutAnEventTheyRace) {
  ASSERT_OK(launch("increase", a));
  ASSERT_OK(launch("increase", b));
  EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(takeReports(), HasSubstr("global-race"));
}

TEST_F(StreamTest, TheDefaultStreamWaitsForOthersAndTheyForIt) {
  CUstream blocking = nullptr;
  ASSERT_OK(CALL(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT));
  for (CUstream own : {CUstream(nullptr), reinterpret_cast<CUstream>(streamLegacy)}) {
    ASSERT_OK(launch("increase", blocking));
    ASSERT_OK(launch("increase", own));
    ASSERT_OK(launch("increase", reinterpret_cast<CUstream>(streamPerThread)));
    ASSERT_OK(launch("increase", own));
    ASSERT_OK(CALL(cuStreamSynchronize)(own)) << takeReports();
  }
  EXPECT_EQ(counted(), 8u);
  ASSERT_OK(launch("increase", blocking));
  ASSERT_OK(launch("increase", reinterpret_cast<CUstream>(streamPerThread)));
  EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_ERROR_LAUNCH_FAILED)
      << "a blocking stream and a thread's own do not wait for each other";
  takeReports();
}

TEST_F(StreamTest, ADependentLaunchStartsEarly) {
  constexpr auto attribute = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  ASSERT_OK(launch("primary", a));
  ASSERT_OK(launchEx("dependent", a, attribute, 1));
  EXPECT_OK(CALL(cuStreamSynchronize)(a)) << takeReports();
  EXPECT_EQ(counted(), 2u);
  ASSERT_OK(CALL(cuMemsetD32_v2)(buffer, 0, 16));
  ASSERT_OK(CALL(cuCtxSynchronize)());
  ASSERT_OK(launch("primary", a));
  ASSERT_OK(launchEx("dependent", a, attribute, 0));
  EXPECT_EQ(CALL(cuStreamSynchronize)(a), CUDA_ERROR_LAUNCH_FAILED) << "the primary waits for it";
  takeReports();
}

TEST_F(StreamTest, ACooperativeLaunchMustFit) {
  int blocks = 0, clusters = 0;
  CUfunction function = kernel("registers");
  ASSERT_OK(CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, function, 128, 0));
  EXPECT_EQ(blocks, 4) << "65536 registers, 128 for each of 128 threads";
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {8, 1, 1};
  CUlaunchConfig config{8, 1, 1, 128, 1, 1, 0, nullptr, &attribute, 1};
  ASSERT_OK(CALL(cuOccupancyMaxActiveClusters)(&clusters, function, &config));
  EXPECT_EQ(clusters, 132 * 4 / 8);
  constexpr auto cooperative = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  EXPECT_OK(launchEx("registers", a, cooperative, 1, 132 * 4, 128));
  EXPECT_EQ(launchEx("registers", a, cooperative, 1, 132 * 4 + 1, 128),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_OK(launchEx("registers", a, cooperative, 0, 132 * 4 + 1, 128));
  EXPECT_OK(CALL(cuStreamSynchronize)(a)) << takeReports();
}

TEST_F(StreamTest, ASampleOfTheGridRuns) {
  EXPECT_EQ(CALL(girihEmulatorSetOption)("ctas", "8:2"), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CALL(girihEmulatorSetOption)("ctas", "last"));
  void *parameters[] = {&buffer};
  ASSERT_OK(
      CALL(cuLaunchKernel)(kernel("increase"), 100, 1, 1, 1, 1, 1, 0, a, parameters, nullptr));
  EXPECT_OK(CALL(cuStreamSynchronize)(a)) << "one CTA does not race with itself" << takeReports();
  EXPECT_EQ(counted(), 1u);
  ASSERT_OK(CALL(girihEmulatorSetOption)("ctas", ""));
}

} // namespace
