// A CUDA that computes nothing: libcuda.so.1 of the tests. It loads the injection library as NVIDIA's does, and tells
// the fake libcupti.so.13 of every call and of all work, which is done the moment it is launched.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/testing/fake_cuda_listener.h"

// Callback ids of the calls that there are; the fake libcupti knows their names.
enum FakeRuntimeCall : uint32_t {
  kFakeLaunchKernel = 211,
  kFakeMemcpyAsync = 41,
  kFakeMemsetAsync = 51,
  kFakeMemcpyPeerAsync = 159,
  kFakeMalloc = 20,
  kFakeDeviceSynchronize = 165,
  kFakeGraphLaunch = 311,
  kFakeGetDevice = 17,  // nothing that a recorder wants
};
enum FakeDriverCall : uint32_t {
  kFakeCuDriverGetVersion = 2,
  kFakeCuCtxSynchronize = 17,
  kFakeCuStreamBeginCapture = 539,
  kFakeCuStreamEndCapture = 497,
};
extern "C" {
int cuInit(unsigned flags);
int cuDriverGetVersion(int* version);
int cuDeviceGetCount(int* count);
int cuDeviceGet(int* device, int index);
int cuDeviceGetName(char* name, int bytes, int device);
int cuDeviceGetAttribute(int* value, int attribute, int device);
int cuDeviceTotalMem_v2(size_t* bytes, int device);
int cuDeviceGetUuid_v2(void* uuid, int device);
int cuCtxGetDevice(int* device);
int cuCtxSynchronize();
int cuMemGetInfo_v2(size_t* free, size_t* total);  // FAKE_CUDA=full: little is free
int cuStreamIsCapturing(void* stream, int* status);

void fake_busy_launches(int count);            // one after the other, each of which takes a while
void fake_runtime_launch(const char* kernel);  // which calls the driver inside, as the real one does
void fake_driver_launch(const char* kernel);
void fake_copy(uint64_t bytes);
void fake_peer_copy(uint64_t bytes);  // from device 0 to device 1
void fake_set(uint64_t bytes);
void fake_allocate(uint64_t bytes);
void fake_synchronize();
void fake_get_device();
void fake_capture_graph(const char* kernel);  // of two kernels, which are not launched
void fake_launch_graph();
void fake_load_module(const void* cubin, size_t bytes);
}
