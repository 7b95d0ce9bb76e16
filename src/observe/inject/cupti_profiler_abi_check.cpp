// Compares cupti_profiler_abi.h with NVIDIA's headers, where those are installed and have the range profiler: nothing of
// this is linked.
#include <cstddef>

#include <cupti.h>

#include "observe/inject/cupti_profiler_abi.h"

#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

namespace hone::observe::inject::cupti {

#define HONE_PROFILER_FIELD(Ours, field, Vendor, vendor_field)                      \
  static_assert(offsetof(Ours, field) == offsetof(Vendor##_Params, vendor_field) && \
                sizeof(Ours::field) == sizeof(static_cast<Vendor##_Params*>(nullptr)->vendor_field))
#define HONE_PROFILER_SIZE(Ours, Vendor) static_assert(sizeof(Ours) == Vendor##_Params_STRUCT_SIZE)

HONE_PROFILER_SIZE(ProfilerInitialize, CUpti_Profiler_Initialize);
HONE_PROFILER_SIZE(ChipName, CUpti_Device_GetChipName);
HONE_PROFILER_FIELD(ChipName, device, CUpti_Device_GetChipName, deviceIndex);
HONE_PROFILER_FIELD(ChipName, name, CUpti_Device_GetChipName, pChipName);

HONE_PROFILER_SIZE(HostInitialize, CUpti_Profiler_Host_Initialize);
HONE_PROFILER_FIELD(HostInitialize, profiler, CUpti_Profiler_Host_Initialize, profilerType);
HONE_PROFILER_FIELD(HostInitialize, chip, CUpti_Profiler_Host_Initialize, pChipName);
HONE_PROFILER_FIELD(HostInitialize, availability, CUpti_Profiler_Host_Initialize, pCounterAvailabilityImage);
HONE_PROFILER_FIELD(HostInitialize, host, CUpti_Profiler_Host_Initialize, pHostObject);
HONE_PROFILER_SIZE(HostDeinitialize, CUpti_Profiler_Host_Deinitialize);
HONE_PROFILER_FIELD(HostDeinitialize, host, CUpti_Profiler_Host_Deinitialize, pHostObject);
HONE_PROFILER_SIZE(HostAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics);
HONE_PROFILER_FIELD(HostAddMetrics, metrics, CUpti_Profiler_Host_ConfigAddMetrics, ppMetricNames);
HONE_PROFILER_FIELD(HostAddMetrics, count, CUpti_Profiler_Host_ConfigAddMetrics, numMetrics);
HONE_PROFILER_SIZE(HostConfigSize, CUpti_Profiler_Host_GetConfigImageSize);
HONE_PROFILER_FIELD(HostConfigSize, size, CUpti_Profiler_Host_GetConfigImageSize, configImageSize);
HONE_PROFILER_SIZE(HostConfig, CUpti_Profiler_Host_GetConfigImage);
HONE_PROFILER_FIELD(HostConfig, size, CUpti_Profiler_Host_GetConfigImage, configImageSize);
HONE_PROFILER_FIELD(HostConfig, image, CUpti_Profiler_Host_GetConfigImage, pConfigImage);
HONE_PROFILER_SIZE(HostPasses, CUpti_Profiler_Host_GetNumOfPasses);
HONE_PROFILER_FIELD(HostPasses, size, CUpti_Profiler_Host_GetNumOfPasses, configImageSize);
HONE_PROFILER_FIELD(HostPasses, image, CUpti_Profiler_Host_GetNumOfPasses, pConfigImage);
HONE_PROFILER_FIELD(HostPasses, passes, CUpti_Profiler_Host_GetNumOfPasses, numOfPasses);
HONE_PROFILER_SIZE(HostEvaluate, CUpti_Profiler_Host_EvaluateToGpuValues);
HONE_PROFILER_FIELD(HostEvaluate, image, CUpti_Profiler_Host_EvaluateToGpuValues, pCounterDataImage);
HONE_PROFILER_FIELD(HostEvaluate, size, CUpti_Profiler_Host_EvaluateToGpuValues, counterDataImageSize);
HONE_PROFILER_FIELD(HostEvaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues, rangeIndex);
HONE_PROFILER_FIELD(HostEvaluate, metrics, CUpti_Profiler_Host_EvaluateToGpuValues, ppMetricNames);
HONE_PROFILER_FIELD(HostEvaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues, pMetricValues);

HONE_PROFILER_SIZE(RangeEnable, CUpti_RangeProfiler_Enable);
HONE_PROFILER_FIELD(RangeEnable, context, CUpti_RangeProfiler_Enable, ctx);
HONE_PROFILER_FIELD(RangeEnable, profiler, CUpti_RangeProfiler_Enable, pRangeProfilerObject);
HONE_PROFILER_SIZE(RangeProfiler, CUpti_RangeProfiler_Disable);
HONE_PROFILER_FIELD(RangeProfiler, profiler, CUpti_RangeProfiler_Disable, pRangeProfilerObject);
HONE_PROFILER_SIZE(RangeProfiler, CUpti_RangeProfiler_Start);
HONE_PROFILER_FIELD(RangeProfiler, profiler, CUpti_RangeProfiler_Start, pRangeProfilerObject);
static_assert(kBytesOfRangeStop == CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
HONE_PROFILER_FIELD(RangeStop, profiler, CUpti_RangeProfiler_Stop, pRangeProfilerObject);
HONE_PROFILER_FIELD(RangeStop, all_submitted, CUpti_RangeProfiler_Stop, isAllPassSubmitted);
HONE_PROFILER_SIZE(RangeDecode, CUpti_RangeProfiler_DecodeData);
HONE_PROFILER_FIELD(RangeDecode, dropped, CUpti_RangeProfiler_DecodeData, numOfRangeDropped);
HONE_PROFILER_SIZE(RangeImageSize, CUpti_RangeProfiler_GetCounterDataSize);
HONE_PROFILER_FIELD(RangeImageSize, metrics, CUpti_RangeProfiler_GetCounterDataSize, pMetricNames);
HONE_PROFILER_FIELD(RangeImageSize, ranges, CUpti_RangeProfiler_GetCounterDataSize, maxNumOfRanges);
HONE_PROFILER_FIELD(RangeImageSize, nodes, CUpti_RangeProfiler_GetCounterDataSize, maxNumRangeTreeNodes);
HONE_PROFILER_FIELD(RangeImageSize, size, CUpti_RangeProfiler_GetCounterDataSize, counterDataSize);
HONE_PROFILER_SIZE(RangeImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize);
HONE_PROFILER_FIELD(RangeImageInitialize, size, CUpti_RangeProfiler_CounterDataImage_Initialize,
                    counterDataSize);
HONE_PROFILER_FIELD(RangeImageInitialize, image, CUpti_RangeProfiler_CounterDataImage_Initialize,
                    pCounterData);
HONE_PROFILER_SIZE(RangeImageInfo, CUpti_RangeProfiler_GetCounterDataInfo);
HONE_PROFILER_FIELD(RangeImageInfo, image, CUpti_RangeProfiler_GetCounterDataInfo, pCounterDataImage);
HONE_PROFILER_FIELD(RangeImageInfo, ranges, CUpti_RangeProfiler_GetCounterDataInfo, numTotalRanges);
static_assert(kBytesOfRangeConfig == CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
HONE_PROFILER_FIELD(RangeConfig, config, CUpti_RangeProfiler_SetConfig, pConfig);
HONE_PROFILER_FIELD(RangeConfig, size, CUpti_RangeProfiler_SetConfig, counterDataImageSize);
HONE_PROFILER_FIELD(RangeConfig, image, CUpti_RangeProfiler_SetConfig, pCounterDataImage);
HONE_PROFILER_FIELD(RangeConfig, range, CUpti_RangeProfiler_SetConfig, range);
HONE_PROFILER_FIELD(RangeConfig, replay, CUpti_RangeProfiler_SetConfig, replayMode);
HONE_PROFILER_FIELD(RangeConfig, ranges_per_pass, CUpti_RangeProfiler_SetConfig, maxRangesPerPass);
HONE_PROFILER_FIELD(RangeConfig, nesting_levels, CUpti_RangeProfiler_SetConfig, numNestingLevels);
HONE_PROFILER_FIELD(RangeConfig, pass, CUpti_RangeProfiler_SetConfig, passIndex);
HONE_PROFILER_FIELD(RangeConfig, level, CUpti_RangeProfiler_SetConfig, targetNestingLevel);

template <typename Ours, typename Vendor>
constexpr bool same_number(Ours ours, Vendor vendor) {
  return static_cast<long long>(ours) == static_cast<long long>(vendor);
}
static_assert(same_number(kRangeProfiler, CUPTI_PROFILER_TYPE_RANGE_PROFILER));
static_assert(same_number(kAutoRange, CUPTI_AutoRange));
static_assert(same_number(kKernelReplay, CUPTI_KernelReplay));
static_assert(same_number(kLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
static_assert(same_number(kLaunchKernelOfThread, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz));
static_assert(same_number(kLaunchCooperative, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel));
static_assert(same_number(kLaunchCooperativeOfThread,
                          CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz));
static_assert(same_number(kLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx));
static_assert(same_number(kLaunchKernelExOfThread, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz));
static_assert(same_number(kBeginCaptureCalls[0], CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture));
static_assert(same_number(kBeginCaptureCalls[1], CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz));
static_assert(same_number(kBeginCaptureCalls[2], CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2));
static_assert(same_number(kBeginCaptureCalls[3], CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz));
static_assert(same_number(kBeginCaptureCalls[4], CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph));
static_assert(same_number(kBeginCaptureCalls[5], CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz));
static_assert(same_number(kEndCaptureCalls[0], CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture));
static_assert(same_number(kEndCaptureCalls[1], CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchParameters, block) == offsetof(cuLaunchKernel_params, blockDimX));
static_assert(offsetof(LaunchParameters, stream) == offsetof(cuLaunchKernel_params, hStream));
static_assert(offsetof(LaunchParameters, stream) == offsetof(cuLaunchCooperativeKernel_params, hStream));
static_assert(offsetof(LaunchExParameters, function) == offsetof(cuLaunchKernelEx_params, f));

}  // namespace hone::observe::inject::cupti

#endif
