// Compares cupti_profiler_abi.h with NVIDIA's headers, where those are installed and have the range profiler: nothing of
// this is linked.
#include <cupti.h>

#include "observe/inject/cupti/abi_check.h"
#include "observe/inject/cupti/cupti_profiler_abi.h"

#if __has_include(<cupti_range_profiler.h>)
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

namespace hone::observe::inject::cupti {

HONE_SAME_PARAMETERS(ProfilerInitialize, CUpti_Profiler_Initialize);
HONE_SAME_PARAMETERS(ChipName, CUpti_Device_GetChipName);
HONE_SAME_PARAMETER(ChipName, device, CUpti_Device_GetChipName, deviceIndex);
HONE_SAME_PARAMETER(ChipName, name, CUpti_Device_GetChipName, pChipName);

HONE_SAME_PARAMETERS(HostInitialize, CUpti_Profiler_Host_Initialize);
HONE_SAME_PARAMETER(HostInitialize, profiler, CUpti_Profiler_Host_Initialize, profilerType);
HONE_SAME_PARAMETER(HostInitialize, chip, CUpti_Profiler_Host_Initialize, pChipName);
HONE_SAME_PARAMETER(HostInitialize, availability, CUpti_Profiler_Host_Initialize, pCounterAvailabilityImage);
HONE_SAME_PARAMETER(HostInitialize, host, CUpti_Profiler_Host_Initialize, pHostObject);
HONE_SAME_PARAMETERS(HostDeinitialize, CUpti_Profiler_Host_Deinitialize);
HONE_SAME_PARAMETER(HostDeinitialize, host, CUpti_Profiler_Host_Deinitialize, pHostObject);
HONE_SAME_PARAMETERS(HostAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics);
HONE_SAME_PARAMETER(HostAddMetrics, metrics, CUpti_Profiler_Host_ConfigAddMetrics, ppMetricNames);
HONE_SAME_PARAMETER(HostAddMetrics, count, CUpti_Profiler_Host_ConfigAddMetrics, numMetrics);
HONE_SAME_PARAMETERS(HostConfigSize, CUpti_Profiler_Host_GetConfigImageSize);
HONE_SAME_PARAMETER(HostConfigSize, size, CUpti_Profiler_Host_GetConfigImageSize, configImageSize);
HONE_SAME_PARAMETERS(HostConfig, CUpti_Profiler_Host_GetConfigImage);
HONE_SAME_PARAMETER(HostConfig, size, CUpti_Profiler_Host_GetConfigImage, configImageSize);
HONE_SAME_PARAMETER(HostConfig, image, CUpti_Profiler_Host_GetConfigImage, pConfigImage);
HONE_SAME_PARAMETERS(HostPasses, CUpti_Profiler_Host_GetNumOfPasses);
HONE_SAME_PARAMETER(HostPasses, size, CUpti_Profiler_Host_GetNumOfPasses, configImageSize);
HONE_SAME_PARAMETER(HostPasses, image, CUpti_Profiler_Host_GetNumOfPasses, pConfigImage);
HONE_SAME_PARAMETER(HostPasses, passes, CUpti_Profiler_Host_GetNumOfPasses, numOfPasses);
HONE_SAME_PARAMETERS(HostEvaluate, CUpti_Profiler_Host_EvaluateToGpuValues);
HONE_SAME_PARAMETER(HostEvaluate, image, CUpti_Profiler_Host_EvaluateToGpuValues, pCounterDataImage);
HONE_SAME_PARAMETER(HostEvaluate, size, CUpti_Profiler_Host_EvaluateToGpuValues, counterDataImageSize);
HONE_SAME_PARAMETER(HostEvaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues, rangeIndex);
HONE_SAME_PARAMETER(HostEvaluate, metrics, CUpti_Profiler_Host_EvaluateToGpuValues, ppMetricNames);
HONE_SAME_PARAMETER(HostEvaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues, pMetricValues);

HONE_SAME_PARAMETERS(RangeEnable, CUpti_RangeProfiler_Enable);
HONE_SAME_PARAMETER(RangeEnable, context, CUpti_RangeProfiler_Enable, ctx);
HONE_SAME_PARAMETER(RangeEnable, profiler, CUpti_RangeProfiler_Enable, pRangeProfilerObject);
HONE_SAME_PARAMETERS(RangeProfiler, CUpti_RangeProfiler_Disable);
HONE_SAME_PARAMETER(RangeProfiler, profiler, CUpti_RangeProfiler_Disable, pRangeProfilerObject);
HONE_SAME_PARAMETERS(RangeProfiler, CUpti_RangeProfiler_Start);
HONE_SAME_PARAMETER(RangeProfiler, profiler, CUpti_RangeProfiler_Start, pRangeProfilerObject);
static_assert(kBytesOfRangeStop == CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
HONE_SAME_PARAMETER(RangeStop, profiler, CUpti_RangeProfiler_Stop, pRangeProfilerObject);
HONE_SAME_PARAMETER(RangeStop, all_submitted, CUpti_RangeProfiler_Stop, isAllPassSubmitted);
HONE_SAME_PARAMETERS(RangeDecode, CUpti_RangeProfiler_DecodeData);
HONE_SAME_PARAMETER(RangeDecode, dropped, CUpti_RangeProfiler_DecodeData, numOfRangeDropped);
HONE_SAME_PARAMETERS(RangeImageSize, CUpti_RangeProfiler_GetCounterDataSize);
HONE_SAME_PARAMETER(RangeImageSize, metrics, CUpti_RangeProfiler_GetCounterDataSize, pMetricNames);
HONE_SAME_PARAMETER(RangeImageSize, ranges, CUpti_RangeProfiler_GetCounterDataSize, maxNumOfRanges);
HONE_SAME_PARAMETER(RangeImageSize, nodes, CUpti_RangeProfiler_GetCounterDataSize, maxNumRangeTreeNodes);
HONE_SAME_PARAMETER(RangeImageSize, size, CUpti_RangeProfiler_GetCounterDataSize, counterDataSize);
HONE_SAME_PARAMETERS(RangeImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize);
HONE_SAME_PARAMETER(RangeImageInitialize, size, CUpti_RangeProfiler_CounterDataImage_Initialize,
                    counterDataSize);
HONE_SAME_PARAMETER(RangeImageInitialize, image, CUpti_RangeProfiler_CounterDataImage_Initialize,
                    pCounterData);
HONE_SAME_PARAMETERS(RangeImageInfo, CUpti_RangeProfiler_GetCounterDataInfo);
HONE_SAME_PARAMETER(RangeImageInfo, image, CUpti_RangeProfiler_GetCounterDataInfo, pCounterDataImage);
HONE_SAME_PARAMETER(RangeImageInfo, ranges, CUpti_RangeProfiler_GetCounterDataInfo, numTotalRanges);
static_assert(kBytesOfRangeConfig == CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
HONE_SAME_PARAMETER(RangeConfig, config, CUpti_RangeProfiler_SetConfig, pConfig);
HONE_SAME_PARAMETER(RangeConfig, size, CUpti_RangeProfiler_SetConfig, counterDataImageSize);
HONE_SAME_PARAMETER(RangeConfig, image, CUpti_RangeProfiler_SetConfig, pCounterDataImage);
HONE_SAME_PARAMETER(RangeConfig, range, CUpti_RangeProfiler_SetConfig, range);
HONE_SAME_PARAMETER(RangeConfig, replay, CUpti_RangeProfiler_SetConfig, replayMode);
HONE_SAME_PARAMETER(RangeConfig, ranges_per_pass, CUpti_RangeProfiler_SetConfig, maxRangesPerPass);
HONE_SAME_PARAMETER(RangeConfig, nesting_levels, CUpti_RangeProfiler_SetConfig, numNestingLevels);
HONE_SAME_PARAMETER(RangeConfig, pass, CUpti_RangeProfiler_SetConfig, passIndex);
HONE_SAME_PARAMETER(RangeConfig, level, CUpti_RangeProfiler_SetConfig, targetNestingLevel);

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
