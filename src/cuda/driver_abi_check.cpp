// Compares driver_abi.h with NVIDIA's cuda.h, where that is installed: compiled, never linked.
#include "cuda/abi_check.h"
#include "cuda/driver_abi.h"
#include <cuda.h>

// CUDA 13's header has this version for its own use alone; CUDA 12's contradicts a wrong declaration.
#ifdef cuStreamGetCaptureInfo
extern "C" CUresult cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                                              const CUgraphNode**, size_t*);
#endif

namespace hone::cuda {

HONE_SAME_CALL(DriverFunctions, init, ::cuInit);
HONE_SAME_CALL(DriverFunctions, driver_get_version, ::cuDriverGetVersion);
HONE_SAME_CALL(DriverFunctions, get_error_name, ::cuGetErrorName);
HONE_SAME_CALL(DriverFunctions, get_error_string, ::cuGetErrorString);
HONE_SAME_CALL(DriverFunctions, device_get_count, ::cuDeviceGetCount);
HONE_SAME_CALL(DriverFunctions, device_get, ::cuDeviceGet);
HONE_SAME_CALL(DriverFunctions, device_get_name, ::cuDeviceGetName);
HONE_SAME_CALL(DriverFunctions, device_get_attribute, ::cuDeviceGetAttribute);
HONE_SAME_CALL(DriverFunctions, device_get_pci_bus_id, ::cuDeviceGetPCIBusId);
HONE_SAME_CALL(DriverFunctions, device_total_mem, ::cuDeviceTotalMem_v2);
HONE_SAME_CALL(DriverFunctions, device_primary_ctx_retain, ::cuDevicePrimaryCtxRetain);
HONE_SAME_CALL(DriverFunctions, device_primary_ctx_release, ::cuDevicePrimaryCtxRelease_v2);
HONE_SAME_CALL(DriverFunctions, ctx_get_current, ::cuCtxGetCurrent);
HONE_SAME_CALL(DriverFunctions, ctx_set_current, ::cuCtxSetCurrent);
HONE_SAME_CALL(DriverFunctions, mem_get_info, ::cuMemGetInfo_v2);
HONE_SAME_CALL(DriverFunctions, mem_alloc, ::cuMemAlloc_v2);
HONE_SAME_CALL(DriverFunctions, mem_free, ::cuMemFree_v2);
HONE_SAME_CALL(DriverFunctions, mem_host_alloc, ::cuMemHostAlloc);
HONE_SAME_CALL(DriverFunctions, mem_free_host, ::cuMemFreeHost);
HONE_SAME_CALL(DriverFunctions, memcpy_htod_async, ::cuMemcpyHtoDAsync_v2);
HONE_SAME_CALL(DriverFunctions, memcpy_dtoh_async, ::cuMemcpyDtoHAsync_v2);
HONE_SAME_CALL(DriverFunctions, memcpy_dtod_async, ::cuMemcpyDtoDAsync_v2);
HONE_SAME_CALL(DriverFunctions, memset_d8_async, ::cuMemsetD8Async);
HONE_SAME_CALL(DriverFunctions, stream_create, ::cuStreamCreate);
HONE_SAME_CALL(DriverFunctions, stream_destroy, ::cuStreamDestroy_v2);
HONE_SAME_CALL(DriverFunctions, stream_synchronize, ::cuStreamSynchronize);
HONE_SAME_CALL(DriverFunctions, stream_wait_event, ::cuStreamWaitEvent);
HONE_SAME_CALL(DriverFunctions, launch_host_func, ::cuLaunchHostFunc);
HONE_SAME_CALL(DriverFunctions, event_create, ::cuEventCreate);
HONE_SAME_CALL(DriverFunctions, event_destroy, ::cuEventDestroy_v2);
HONE_SAME_CALL(DriverFunctions, event_record, ::cuEventRecord);
HONE_SAME_CALL(DriverFunctions, event_synchronize, ::cuEventSynchronize);
HONE_SAME_CALL(DriverFunctions, event_elapsed_time, ::cuEventElapsedTime);
HONE_SAME_CALL(DriverFunctions, module_load_data, ::cuModuleLoadData);
HONE_SAME_CALL(DriverFunctions, module_unload, ::cuModuleUnload);
HONE_SAME_CALL(DriverFunctions, module_get_function, ::cuModuleGetFunction);
HONE_SAME_CALL(DriverFunctions, func_get_attribute, ::cuFuncGetAttribute);
HONE_SAME_CALL(DriverFunctions, func_set_attribute, ::cuFuncSetAttribute);
HONE_SAME_CALL(DriverFunctions, launch_kernel_ex, ::cuLaunchKernelEx);
HONE_SAME_CALL(DriverFunctions, stream_begin_capture, ::cuStreamBeginCapture);
HONE_SAME_CALL(DriverFunctions, stream_end_capture, ::cuStreamEndCapture);
HONE_SAME_CALL(DriverFunctions, stream_get_capture_info, ::cuStreamGetCaptureInfo_v2);
HONE_SAME_CALL(DriverFunctions, graph_get_nodes, ::cuGraphGetNodes);
HONE_SAME_CALL(DriverFunctions, graph_node_get_type, ::cuGraphNodeGetType);
HONE_SAME_CALL(DriverFunctions, graph_instantiate, ::cuGraphInstantiate);
HONE_SAME_CALL(DriverFunctions, graph_launch, ::cuGraphLaunch);
HONE_SAME_CALL(DriverFunctions, graph_exec_destroy, ::cuGraphExecDestroy);
HONE_SAME_CALL(DriverFunctions, graph_destroy, ::cuGraphDestroy);

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, allowed) == offsetof(CUlaunchAttribute, value));

template <auto kOurs, auto kVendor>
constexpr bool same_number = static_cast<long long>(kOurs) == static_cast<long long>(kVendor);

static_assert(same_number<DriverCode::kSuccess, CUDA_SUCCESS>);
static_assert(same_number<DriverCode::kInvalidValue, CUDA_ERROR_INVALID_VALUE>);
static_assert(same_number<DriverCode::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY>);
static_assert(same_number<DriverCode::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED>);
static_assert(same_number<DriverCode::kStubLibrary, CUDA_ERROR_STUB_LIBRARY>);
static_assert(same_number<DriverCode::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE>);
static_assert(same_number<DriverCode::kNoDevice, CUDA_ERROR_NO_DEVICE>);
static_assert(same_number<DriverCode::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE>);
static_assert(same_number<DriverCode::kInvalidImage, CUDA_ERROR_INVALID_IMAGE>);
static_assert(same_number<DriverCode::kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU>);
static_assert(same_number<DriverCode::kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE>);
static_assert(same_number<DriverCode::kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION>);
static_assert(same_number<DriverCode::kNotFound, CUDA_ERROR_NOT_FOUND>);
static_assert(same_number<DriverCode::kNotReady, CUDA_ERROR_NOT_READY>);
static_assert(same_number<DriverCode::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS>);
static_assert(same_number<DriverCode::kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES>);
static_assert(same_number<DriverCode::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED>);
static_assert(same_number<DriverCode::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY>);
static_assert(same_number<DriverCode::kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH>);
static_assert(same_number<DriverCode::kStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED>);
static_assert(same_number<DriverCode::kUnknown, CUDA_ERROR_UNKNOWN>);
static_assert(same_number<LaunchAttribute::kProgrammaticStreamSerialization,
                          CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION>);
static_assert(same_number<kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE>);
static_assert(same_number<kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE>);
static_assert(same_number<kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT>);
static_assert(same_number<kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR>);
static_assert(same_number<kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR>);
static_assert(same_number<kSharedBytesPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN>);
static_assert(same_number<kLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES>);
static_assert(same_number<kRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS>);
static_assert(same_number<kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES>);
static_assert(same_number<kStreamNonBlocking, CU_STREAM_NON_BLOCKING>);
static_assert(same_number<kEventWithTiming, CU_EVENT_DEFAULT>);
static_assert(same_number<kEventWithoutTiming, CU_EVENT_DISABLE_TIMING>);
static_assert(same_number<kKernelNode, CU_GRAPH_NODE_TYPE_KERNEL>);
static_assert(same_number<kCopyNode, CU_GRAPH_NODE_TYPE_MEMCPY>);
static_assert(same_number<kSetNode, CU_GRAPH_NODE_TYPE_MEMSET>);
static_assert(same_number<kHostNode, CU_GRAPH_NODE_TYPE_HOST>);
static_assert(same_number<kEmptyNode, CU_GRAPH_NODE_TYPE_EMPTY>);
static_assert(same_number<kEventWaitNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT>);
static_assert(same_number<kEventRecordNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD>);
static_assert(same_number<kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL>);

}  // namespace hone::cuda
