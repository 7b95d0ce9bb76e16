// Compares cupti_abi.h with NVIDIA's headers, where those are installed: nothing of this is linked.
#include <type_traits>

#include <cupti.h>

#include "observe/inject/cupti/abi_check.h"
#include "observe/inject/cupti/cupti_abi.h"

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

#define HONE_BEGINS(Ours, Vendor) static_assert(sizeof(Ours) <= sizeof(Vendor) + 7)

HONE_BEGINS(KernelActivity, VendorKernel);
HONE_SAME_FIELD(KernelActivity, kind, VendorKernel, kind);
HONE_SAME_FIELD(KernelActivity, registers, VendorKernel, registersPerThread);
HONE_SAME_FIELD(KernelActivity, start, VendorKernel, start);
HONE_SAME_FIELD(KernelActivity, end, VendorKernel, end);
HONE_SAME_FIELD(KernelActivity, device, VendorKernel, deviceId);
HONE_SAME_FIELD(KernelActivity, context, VendorKernel, contextId);
HONE_SAME_FIELD(KernelActivity, stream, VendorKernel, streamId);
HONE_SAME_FIELD(KernelActivity, grid[0], VendorKernel, gridX);
HONE_SAME_FIELD(KernelActivity, grid[2], VendorKernel, gridZ);
HONE_SAME_FIELD(KernelActivity, block[0], VendorKernel, blockX);
HONE_SAME_FIELD(KernelActivity, block[2], VendorKernel, blockZ);
HONE_SAME_FIELD(KernelActivity, static_shared, VendorKernel, staticSharedMemory);
HONE_SAME_FIELD(KernelActivity, dynamic_shared, VendorKernel, dynamicSharedMemory);
HONE_SAME_FIELD(KernelActivity, local_bytes_per_thread, VendorKernel, localMemoryPerThread);
HONE_SAME_FIELD(KernelActivity, correlation, VendorKernel, correlationId);
HONE_SAME_FIELD(KernelActivity, name, VendorKernel, name);
HONE_SAME_FIELD(KernelActivity, graph_node, VendorKernel, graphNodeId);
HONE_SAME_FIELD(KernelActivity, graph, VendorKernel, graphId);
HONE_SAME_FIELD(KernelActivity, cluster[0], VendorKernel, clusterX);
HONE_SAME_FIELD(KernelActivity, cluster[2], VendorKernel, clusterZ);

HONE_BEGINS(CopyActivity, VendorCopy);
HONE_SAME_FIELD(CopyActivity, copy_kind, VendorCopy, copyKind);
HONE_SAME_FIELD(CopyActivity, source_kind, VendorCopy, srcKind);
HONE_SAME_FIELD(CopyActivity, destination_kind, VendorCopy, dstKind);
HONE_SAME_FIELD(CopyActivity, bytes, VendorCopy, bytes);
HONE_SAME_FIELD(CopyActivity, start, VendorCopy, start);
HONE_SAME_FIELD(CopyActivity, end, VendorCopy, end);
HONE_SAME_FIELD(CopyActivity, device, VendorCopy, deviceId);
HONE_SAME_FIELD(CopyActivity, context, VendorCopy, contextId);
HONE_SAME_FIELD(CopyActivity, stream, VendorCopy, streamId);
HONE_SAME_FIELD(CopyActivity, correlation, VendorCopy, correlationId);
HONE_SAME_FIELD(CopyActivity, graph_node, VendorCopy, graphNodeId);
HONE_SAME_FIELD(CopyActivity, graph, VendorCopy, graphId);

HONE_BEGINS(PeerCopyActivity, CUpti_ActivityMemcpyPtoP4);
HONE_SAME_FIELD(PeerCopyActivity, copy_kind, CUpti_ActivityMemcpyPtoP4, copyKind);
HONE_SAME_FIELD(PeerCopyActivity, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
HONE_SAME_FIELD(PeerCopyActivity, start, CUpti_ActivityMemcpyPtoP4, start);
HONE_SAME_FIELD(PeerCopyActivity, end, CUpti_ActivityMemcpyPtoP4, end);
HONE_SAME_FIELD(PeerCopyActivity, context, CUpti_ActivityMemcpyPtoP4, contextId);
HONE_SAME_FIELD(PeerCopyActivity, stream, CUpti_ActivityMemcpyPtoP4, streamId);
HONE_SAME_FIELD(PeerCopyActivity, source_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
HONE_SAME_FIELD(PeerCopyActivity, destination_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
HONE_SAME_FIELD(PeerCopyActivity, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
HONE_SAME_FIELD(PeerCopyActivity, graph_node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
HONE_SAME_FIELD(PeerCopyActivity, graph, CUpti_ActivityMemcpyPtoP4, graphId);

HONE_BEGINS(SetActivity, CUpti_ActivityMemset4);
HONE_SAME_FIELD(SetActivity, bytes, CUpti_ActivityMemset4, bytes);
HONE_SAME_FIELD(SetActivity, start, CUpti_ActivityMemset4, start);
HONE_SAME_FIELD(SetActivity, end, CUpti_ActivityMemset4, end);
HONE_SAME_FIELD(SetActivity, device, CUpti_ActivityMemset4, deviceId);
HONE_SAME_FIELD(SetActivity, context, CUpti_ActivityMemset4, contextId);
HONE_SAME_FIELD(SetActivity, stream, CUpti_ActivityMemset4, streamId);
HONE_SAME_FIELD(SetActivity, correlation, CUpti_ActivityMemset4, correlationId);
HONE_SAME_FIELD(SetActivity, graph_node, CUpti_ActivityMemset4, graphNodeId);
HONE_SAME_FIELD(SetActivity, graph, CUpti_ActivityMemset4, graphId);

HONE_BEGINS(SynchronizationActivity, VendorSynchronization);
HONE_SAME_FIELD(SynchronizationActivity, type, VendorSynchronization, type);
HONE_SAME_FIELD(SynchronizationActivity, start, VendorSynchronization, start);
HONE_SAME_FIELD(SynchronizationActivity, end, VendorSynchronization, end);
HONE_SAME_FIELD(SynchronizationActivity, correlation, VendorSynchronization, correlationId);
HONE_SAME_FIELD(SynchronizationActivity, context, VendorSynchronization, contextId);
HONE_SAME_FIELD(SynchronizationActivity, stream, VendorSynchronization, streamId);
HONE_SAME_FIELD(SynchronizationActivity, event, VendorSynchronization, cudaEventId);

HONE_BEGINS(MemoryActivity, VendorMemory);
HONE_SAME_FIELD(MemoryActivity, operation, VendorMemory, memoryOperationType);
HONE_SAME_FIELD(MemoryActivity, memory_kind, VendorMemory, memoryKind);
HONE_SAME_FIELD(MemoryActivity, correlation, VendorMemory, correlationId);
HONE_SAME_FIELD(MemoryActivity, address, VendorMemory, address);
HONE_SAME_FIELD(MemoryActivity, bytes, VendorMemory, bytes);
HONE_SAME_FIELD(MemoryActivity, timestamp, VendorMemory, timestamp);
HONE_SAME_FIELD(MemoryActivity, device, VendorMemory, deviceId);
static_assert(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION == 1);
static_assert(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE == 2);

HONE_SAME_FIELD(CallData, site, CUpti_CallbackData, callbackSite);
HONE_SAME_FIELD(CallData, function, CUpti_CallbackData, functionName);
HONE_SAME_FIELD(CallData, symbol, CUpti_CallbackData, symbolName);
HONE_SAME_FIELD(CallData, parameters, CUpti_CallbackData, functionParams);
HONE_SAME_FIELD(CallData, returned, CUpti_CallbackData, functionReturnValue);
HONE_SAME_FIELD(CallData, context, CUpti_CallbackData, context);
HONE_SAME_FIELD(CallData, correlation, CUpti_CallbackData, correlationId);
HONE_SAME_FIELD(ResourceData, descriptor, CUpti_ResourceData, resourceDescriptor);
HONE_SAME_FIELD(GraphData, graph, CUpti_GraphData, graph);
HONE_SAME_FIELD(GraphData, node, CUpti_GraphData, node);
HONE_SAME_FIELD(GraphData, original_node, CUpti_GraphData, originalNode);
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
static_assert(sizeof(SubscriberParameters) == sizeof(CUpti_SubscriberParams));
HONE_SAME_FIELD(SubscriberParameters, bytes, CUpti_SubscriberParams, structSize);
HONE_SAME_FIELD(SubscriberParameters, other, CUpti_SubscriberParams, oldSubscriberName);
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
