// What hone uses of CUDA's driver, declared by ourselves: building needs no toolkit (docs/decisions/0036). Functions
// have their names without "cu"; driver_abi_check.cpp compares all of it with NVIDIA's cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::cuda {

// CUresult. Named are those that hone reacts to; words for all of them come from the driver.
enum class DriverCode : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kUnsupportedPtxVersion = 222,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchFailed = 719,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kStreamCaptureUnsupported = 900,
  kUnknown = 999,
};

using DeviceHandle = int;           // CUdevice: a number
using DeviceAddress = uint64_t;     // CUdeviceptr
using ContextHandle = struct Ctx*;  // CUcontext; the others likewise
using StreamHandle = struct Stm*;
using EventHandle = struct Evt*;
using ModuleHandle = struct Mod*;
using FunctionHandle = struct Fun*;
using GraphHandle = struct Gra*;
using GraphExecHandle = struct Gex*;
using GraphNodeHandle = struct Nod*;
using HostFunction = void (*)(void*);

// CUdevice_attribute, CUfunction_attribute and flags, as far as they are asked for.
enum DeviceAttribute : int {
  kWarpSize = 10,
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kSharedBytesPerBlockOptin = 97,
};
enum FunctionAttribute : int { kLocalBytes = 3, kRegisters = 4, kMaxDynamicSharedBytes = 8 };
inline constexpr unsigned kStreamNonBlocking = 1, kEventWithTiming = 0, kEventWithoutTiming = 2;
inline constexpr int kCaptureThreadLocal = 1;
// CUgraphNodeType: those that profilers have a record of, or never one.
enum GraphNodeType : int {
  kKernelNode = 0,
  kCopyNode = 1,
  kSetNode = 2,
  kHostNode = 3,
  kEmptyNode = 5,
  kEventWaitNode = 6,
  kEventRecordNode = 7,
};

// CUlaunchAttribute, of the one kind that is used: a launch that may begin when all blocks of the kernel before have ended or
// said that it may.
struct LaunchAttribute {
  static constexpr int kProgrammaticStreamSerialization = 6;  // CUlaunchAttributeID

  alignas(8) int id = kProgrammaticStreamSerialization;
  alignas(8) int allowed = 1;
  unsigned char rest_of_value[60] = {};
};
// CUlaunchConfig
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

// Functions by their names without "cu"; `_v2` is left away.
struct DriverFunctions {
  DriverCode (*init)(unsigned flags) = nullptr;
  DriverCode (*driver_get_version)(int*) = nullptr;
  DriverCode (*get_error_name)(DriverCode, const char**) = nullptr;
  DriverCode (*get_error_string)(DriverCode, const char**) = nullptr;

  DriverCode (*device_get_count)(int*) = nullptr;
  DriverCode (*device_get)(DeviceHandle*, int) = nullptr;
  DriverCode (*device_get_name)(char*, int, DeviceHandle) = nullptr;
  DriverCode (*device_get_attribute)(int*, int, DeviceHandle) = nullptr;
  DriverCode (*device_get_pci_bus_id)(char*, int, DeviceHandle) = nullptr;
  DriverCode (*device_total_mem)(size_t*, DeviceHandle) = nullptr;
  DriverCode (*device_primary_ctx_retain)(ContextHandle*, DeviceHandle) = nullptr;
  DriverCode (*device_primary_ctx_release)(DeviceHandle) = nullptr;
  DriverCode (*ctx_get_current)(ContextHandle*) = nullptr;
  DriverCode (*ctx_set_current)(ContextHandle) = nullptr;

  DriverCode (*mem_get_info)(size_t*, size_t*) = nullptr;
  DriverCode (*mem_alloc)(DeviceAddress*, size_t) = nullptr;
  DriverCode (*mem_free)(DeviceAddress) = nullptr;
  DriverCode (*mem_host_alloc)(void**, size_t, unsigned) = nullptr;
  DriverCode (*mem_free_host)(void*) = nullptr;
  DriverCode (*memcpy_htod_async)(DeviceAddress, const void*, size_t, StreamHandle) = nullptr;
  DriverCode (*memcpy_dtoh_async)(void*, DeviceAddress, size_t, StreamHandle) = nullptr;
  DriverCode (*memcpy_dtod_async)(DeviceAddress, DeviceAddress, size_t, StreamHandle) = nullptr;
  DriverCode (*memset_d8_async)(DeviceAddress, unsigned char, size_t, StreamHandle) = nullptr;

  DriverCode (*stream_create)(StreamHandle*, unsigned) = nullptr;
  DriverCode (*stream_destroy)(StreamHandle) = nullptr;
  DriverCode (*stream_synchronize)(StreamHandle) = nullptr;
  DriverCode (*stream_wait_event)(StreamHandle, EventHandle, unsigned) = nullptr;
  DriverCode (*launch_host_func)(StreamHandle, HostFunction, void*) = nullptr;
  DriverCode (*event_create)(EventHandle*, unsigned) = nullptr;
  DriverCode (*event_destroy)(EventHandle) = nullptr;
  DriverCode (*event_record)(EventHandle, StreamHandle) = nullptr;
  DriverCode (*event_synchronize)(EventHandle) = nullptr;
  DriverCode (*event_elapsed_time)(float*, EventHandle, EventHandle) = nullptr;  // ms

  DriverCode (*module_load_data)(ModuleHandle*, const void*) = nullptr;
  DriverCode (*module_unload)(ModuleHandle) = nullptr;
  DriverCode (*module_get_function)(FunctionHandle*, ModuleHandle, const char*) = nullptr;
  DriverCode (*func_get_attribute)(int*, int, FunctionHandle) = nullptr;
  DriverCode (*func_set_attribute)(FunctionHandle, int, int) = nullptr;
  DriverCode (*launch_kernel_ex)(const LaunchConfig*, FunctionHandle, void**, void**) = nullptr;

  DriverCode (*stream_begin_capture)(StreamHandle, int) = nullptr;
  DriverCode (*stream_end_capture)(StreamHandle, GraphHandle*) = nullptr;
  DriverCode (*stream_get_capture_info)(StreamHandle, int* status, uint64_t* id, GraphHandle*,
                                        const GraphNodeHandle** next_depends_on, size_t* count) = nullptr;
  DriverCode (*graph_get_nodes)(GraphHandle, GraphNodeHandle*, size_t*) = nullptr;
  DriverCode (*graph_node_get_type)(GraphNodeHandle, int*) = nullptr;
  DriverCode (*graph_instantiate)(GraphExecHandle*, GraphHandle, unsigned long long) = nullptr;
  DriverCode (*graph_launch)(GraphExecHandle, StreamHandle) = nullptr;
  DriverCode (*graph_exec_destroy)(GraphExecHandle) = nullptr;
  DriverCode (*graph_destroy)(GraphHandle) = nullptr;
};

// The name that each has in the library.
template <typename Visit>
void for_each_function(DriverFunctions& f, Visit&& visit) {
  visit("cuInit", f.init);
  visit("cuDriverGetVersion", f.driver_get_version);
  visit("cuGetErrorName", f.get_error_name);
  visit("cuGetErrorString", f.get_error_string);
  visit("cuDeviceGetCount", f.device_get_count);
  visit("cuDeviceGet", f.device_get);
  visit("cuDeviceGetName", f.device_get_name);
  visit("cuDeviceGetAttribute", f.device_get_attribute);
  visit("cuDeviceGetPCIBusId", f.device_get_pci_bus_id);
  visit("cuDeviceTotalMem_v2", f.device_total_mem);
  visit("cuDevicePrimaryCtxRetain", f.device_primary_ctx_retain);
  visit("cuDevicePrimaryCtxRelease_v2", f.device_primary_ctx_release);
  visit("cuCtxGetCurrent", f.ctx_get_current);
  visit("cuCtxSetCurrent", f.ctx_set_current);
  visit("cuMemGetInfo_v2", f.mem_get_info);
  visit("cuMemAlloc_v2", f.mem_alloc);
  visit("cuMemFree_v2", f.mem_free);
  visit("cuMemHostAlloc", f.mem_host_alloc);
  visit("cuMemFreeHost", f.mem_free_host);
  visit("cuMemcpyHtoDAsync_v2", f.memcpy_htod_async);
  visit("cuMemcpyDtoHAsync_v2", f.memcpy_dtoh_async);
  visit("cuMemcpyDtoDAsync_v2", f.memcpy_dtod_async);
  visit("cuMemsetD8Async", f.memset_d8_async);
  visit("cuStreamCreate", f.stream_create);
  visit("cuStreamDestroy_v2", f.stream_destroy);
  visit("cuStreamSynchronize", f.stream_synchronize);
  visit("cuStreamWaitEvent", f.stream_wait_event);
  visit("cuLaunchHostFunc", f.launch_host_func);
  visit("cuEventCreate", f.event_create);
  visit("cuEventDestroy_v2", f.event_destroy);
  visit("cuEventRecord", f.event_record);
  visit("cuEventSynchronize", f.event_synchronize);
  visit("cuEventElapsedTime", f.event_elapsed_time);
  visit("cuModuleLoadData", f.module_load_data);
  visit("cuModuleUnload", f.module_unload);
  visit("cuModuleGetFunction", f.module_get_function);
  visit("cuFuncGetAttribute", f.func_get_attribute);
  visit("cuFuncSetAttribute", f.func_set_attribute);
  visit("cuLaunchKernelEx", f.launch_kernel_ex);
  visit("cuStreamBeginCapture_v2", f.stream_begin_capture);
  visit("cuStreamEndCapture", f.stream_end_capture);
  visit("cuStreamGetCaptureInfo_v2", f.stream_get_capture_info);  // _v3 tells of edges, from CUDA 12.3 on
  visit("cuGraphGetNodes", f.graph_get_nodes);
  visit("cuGraphNodeGetType", f.graph_node_get_type);
  visit("cuGraphInstantiateWithFlags", f.graph_instantiate);
  visit("cuGraphLaunch", f.graph_launch);
  visit("cuGraphExecDestroy", f.graph_exec_destroy);
  visit("cuGraphDestroy", f.graph_destroy);
}

}  // namespace hone::cuda
