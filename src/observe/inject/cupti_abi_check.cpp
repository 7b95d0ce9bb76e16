// Compares cupti_abi.h with NVIDIA's headers, where those are installed: nothing of this is linked.
#include <cstddef>
#include <type_traits>

#include <cupti.h>

#include "observe/inject/cupti_abi.h"

#if CUPTI_API_VERSION >= 22  // CUDA 12.4: older headers name older structures

namespace hone::observe::inject::cupti {

#if CUPTI_API_VERSION >= 130000
using VendorKernel = CUpti_ActivityKernel10;
#else
using VendorKernel = CUpti_ActivityKernel9;
#endif
#if CUPTI_API_VERSION >= 26
using VendorCopy = CUpti_ActivityMemcpy6;
using VendorSynchronization = CUpti_ActivitySynchronization2;
using VendorMemory = CUpti_ActivityMemory4;
#else
using VendorCopy = CUpti_ActivityMemcpy5;
using VendorSynchronization = CUpti_ActivitySynchronization;
using VendorMemory = CUpti_ActivityMemory3;
#endif

// A field of ours lies where the vendor's does, and is as large.
#define HONE_SAME(Ours, field, Vendor, vendor_field)                       \
  static_assert(offsetof(Ours, field) == offsetof(Vendor, vendor_field) && \
                sizeof(Ours::field) == sizeof(Vendor::vendor_field))
#define HONE_BEGINS(Ours, Vendor) static_assert(sizeof(Ours) <= sizeof(Vendor) + 7)

HONE_BEGINS(KernelActivity, VendorKernel);
HONE_SAME(KernelActivity, kind, VendorKernel, kind);
HONE_SAME(KernelActivity, registers, VendorKernel, registersPerThread);
HONE_SAME(KernelActivity, start, VendorKernel, start);
HONE_SAME(KernelActivity, end, VendorKernel, end);
HONE_SAME(KernelActivity, device, VendorKernel, deviceId);
HONE_SAME(KernelActivity, context, VendorKernel, contextId);
HONE_SAME(KernelActivity, stream, VendorKernel, streamId);
HONE_SAME(KernelActivity, grid[0], VendorKernel, gridX);
HONE_SAME(KernelActivity, grid[2], VendorKernel, gridZ);
HONE_SAME(KernelActivity, block[0], VendorKernel, blockX);
HONE_SAME(KernelActivity, block[2], VendorKernel, blockZ);
HONE_SAME(KernelActivity, static_shared, VendorKernel, staticSharedMemory);
HONE_SAME(KernelActivity, dynamic_shared, VendorKernel, dynamicSharedMemory);
HONE_SAME(KernelActivity, local_bytes_per_thread, VendorKernel, localMemoryPerThread);
HONE_SAME(KernelActivity, correlation, VendorKernel, correlationId);
HONE_SAME(KernelActivity, name, VendorKernel, name);
HONE_SAME(KernelActivity, graph_node, VendorKernel, graphNodeId);
HONE_SAME(KernelActivity, graph, VendorKernel, graphId);
HONE_SAME(KernelActivity, cluster[0], VendorKernel, clusterX);
HONE_SAME(KernelActivity, cluster[2], VendorKernel, clusterZ);

HONE_BEGINS(CopyActivity, VendorCopy);
HONE_SAME(CopyActivity, copy_kind, VendorCopy, copyKind);
HONE_SAME(CopyActivity, source_kind, VendorCopy, srcKind);
HONE_SAME(CopyActivity, destination_kind, VendorCopy, dstKind);
HONE_SAME(CopyActivity, bytes, VendorCopy, bytes);
HONE_SAME(CopyActivity, start, VendorCopy, start);
HONE_SAME(CopyActivity, end, VendorCopy, end);
HONE_SAME(CopyActivity, device, VendorCopy, deviceId);
HONE_SAME(CopyActivity, context, VendorCopy, contextId);
HONE_SAME(CopyActivity, stream, VendorCopy, streamId);
HONE_SAME(CopyActivity, correlation, VendorCopy, correlationId);
HONE_SAME(CopyActivity, graph_node, VendorCopy, graphNodeId);
HONE_SAME(CopyActivity, graph, VendorCopy, graphId);

HONE_BEGINS(PeerCopyActivity, CUpti_ActivityMemcpyPtoP4);
HONE_SAME(PeerCopyActivity, copy_kind, CUpti_ActivityMemcpyPtoP4, copyKind);
HONE_SAME(PeerCopyActivity, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
HONE_SAME(PeerCopyActivity, start, CUpti_ActivityMemcpyPtoP4, start);
HONE_SAME(PeerCopyActivity, end, CUpti_ActivityMemcpyPtoP4, end);
HONE_SAME(PeerCopyActivity, context, CUpti_ActivityMemcpyPtoP4, contextId);
HONE_SAME(PeerCopyActivity, stream, CUpti_ActivityMemcpyPtoP4, streamId);
HONE_SAME(PeerCopyActivity, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
HONE_SAME(PeerCopyActivity, destination_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
HONE_SAME(PeerCopyActivity, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
HONE_SAME(PeerCopyActivity, graph_node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
HONE_SAME(PeerCopyActivity, graph, CUpti_ActivityMemcpyPtoP4, graphId);

HONE_BEGINS(SetActivity, CUpti_ActivityMemset4);
HONE_SAME(SetActivity, bytes, CUpti_ActivityMemset4, bytes);
HONE_SAME(SetActivity, start, CUpti_ActivityMemset4, start);
HONE_SAME(SetActivity, end, CUpti_ActivityMemset4, end);
HONE_SAME(SetActivity, device, CUpti_ActivityMemset4, deviceId);
HONE_SAME(SetActivity, context, CUpti_ActivityMemset4, contextId);
HONE_SAME(SetActivity, stream, CUpti_ActivityMemset4, streamId);
HONE_SAME(SetActivity, correlation, CUpti_ActivityMemset4, correlationId);
HONE_SAME(SetActivity, graph_node, CUpti_ActivityMemset4, graphNodeId);
HONE_SAME(SetActivity, graph, CUpti_ActivityMemset4, graphId);

HONE_BEGINS(SynchronizationActivity, VendorSynchronization);
HONE_SAME(SynchronizationActivity, type, VendorSynchronization, type);
HONE_SAME(SynchronizationActivity, start, VendorSynchronization, start);
HONE_SAME(SynchronizationActivity, end, VendorSynchronization, end);
HONE_SAME(SynchronizationActivity, correlation, VendorSynchronization, correlationId);
HONE_SAME(SynchronizationActivity, context, VendorSynchronization, contextId);
HONE_SAME(SynchronizationActivity, stream, VendorSynchronization, streamId);
HONE_SAME(SynchronizationActivity, event, VendorSynchronization, cudaEventId);

HONE_BEGINS(MemoryActivity, VendorMemory);
HONE_SAME(MemoryActivity, operation, VendorMemory, memoryOperationType);
HONE_SAME(MemoryActivity, memory_kind, VendorMemory, memoryKind);
HONE_SAME(MemoryActivity, correlation, VendorMemory, correlationId);
HONE_SAME(MemoryActivity, address, VendorMemory, address);
HONE_SAME(MemoryActivity, bytes, VendorMemory, bytes);
HONE_SAME(MemoryActivity, timestamp, VendorMemory, timestamp);
HONE_SAME(MemoryActivity, device, VendorMemory, deviceId);
static_assert(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION == 1);
static_assert(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE == 2);

HONE_SAME(CallData, site, CUpti_CallbackData, callbackSite);
HONE_SAME(CallData, function, CUpti_CallbackData, functionName);
HONE_SAME(CallData, symbol, CUpti_CallbackData, symbolName);
HONE_SAME(CallData, parameters, CUpti_CallbackData, functionParams);
HONE_SAME(CallData, returned, CUpti_CallbackData, functionReturnValue);
HONE_SAME(CallData, context, CUpti_CallbackData, context);
HONE_SAME(CallData, correlation, CUpti_CallbackData, correlationId);
HONE_SAME(ResourceData, descriptor, CUpti_ResourceData, resourceDescriptor);
HONE_SAME(GraphData, graph, CUpti_GraphData, graph);
HONE_SAME(GraphData, node, CUpti_GraphData, node);
HONE_SAME(GraphData, original_node, CUpti_GraphData, originalNode);
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
static_assert(sizeof(SubscriberParameters) == sizeof(CUpti_SubscriberParams));
HONE_SAME(SubscriberParameters, bytes, CUpti_SubscriberParams, structSize);
HONE_SAME(SubscriberParameters, other, CUpti_SubscriberParams, oldSubscriberName);
#endif

template <typename Ours, typename Vendor>
constexpr bool same(Ours ours, Vendor vendor) {
  return static_cast<long long>(ours) == static_cast<long long>(vendor);
}
static_assert(same(Result::kSuccess, CUPTI_SUCCESS));
static_assert(same(Result::kOutOfMemory, CUPTI_ERROR_OUT_OF_MEMORY));
static_assert(same(Result::kNotPrivileged, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES));
static_assert(same(Result::kMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED));
static_assert(same(ActivityKind::kCopy, CUPTI_ACTIVITY_KIND_MEMCPY));
static_assert(same(ActivityKind::kSet, CUPTI_ACTIVITY_KIND_MEMSET));
static_assert(same(ActivityKind::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
static_assert(same(ActivityKind::kPeerCopy, CUPTI_ACTIVITY_KIND_MEMCPY2));
static_assert(same(ActivityKind::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
static_assert(same(ActivityKind::kMemory, CUPTI_ACTIVITY_KIND_MEMORY2));
static_assert(same(Domain::kDriver, CUPTI_CB_DOMAIN_DRIVER_API));
static_assert(same(Domain::kRuntime, CUPTI_CB_DOMAIN_RUNTIME_API));
static_assert(same(Domain::kResource, CUPTI_CB_DOMAIN_RESOURCE));
static_assert(same(Domain::kState, CUPTI_CB_DOMAIN_STATE));
static_assert(same(Site::kEnter, CUPTI_API_ENTER) && same(Site::kExit, CUPTI_API_EXIT));
static_assert(same(kGraphNodeCreated, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED));
static_assert(same(kGraphNodeCloned, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED));
static_assert(same(kGraphExecCreated, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED));
static_assert(same(kFatalError, CUPTI_CBID_STATE_FATAL_ERROR));
static_assert(same(kThreadIdOfSystem, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
static_assert(same(kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));

}  // namespace hone::observe::inject::cupti

#endif
