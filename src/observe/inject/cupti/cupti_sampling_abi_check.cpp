// Compares cupti_sampling_abi.h with NVIDIA's header, where that is installed: nothing of this is linked.
#include <cupti.h>

#include "observe/inject/cupti/abi_check.h"
#include "observe/inject/cupti/cupti_sampling_abi.h"

#if __has_include(<cupti_pmsampling.h>)
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>

namespace hone::observe::inject::cupti {

HONE_SAME_PARAMETERS(SamplingEnable, CUpti_PmSampling_Enable);
HONE_SAME_PARAMETER(SamplingEnable, device, CUpti_PmSampling_Enable, deviceIndex);
HONE_SAME_PARAMETER(SamplingEnable, sampling, CUpti_PmSampling_Enable, pPmSamplingObject);
HONE_SAME_PARAMETERS(Sampling, CUpti_PmSampling_Disable);
HONE_SAME_PARAMETER(Sampling, sampling, CUpti_PmSampling_Disable, pPmSamplingObject);
HONE_SAME_PARAMETERS(Sampling, CUpti_PmSampling_Start);
HONE_SAME_PARAMETER(Sampling, sampling, CUpti_PmSampling_Start, pPmSamplingObject);
HONE_SAME_PARAMETERS(Sampling, CUpti_PmSampling_Stop);
HONE_SAME_PARAMETER(Sampling, sampling, CUpti_PmSampling_Stop, pPmSamplingObject);

HONE_SAME_PARAMETERS(SamplingConfig, CUpti_PmSampling_SetConfig);
HONE_SAME_PARAMETER(SamplingConfig, sampling, CUpti_PmSampling_SetConfig, pPmSamplingObject);
HONE_SAME_PARAMETER(SamplingConfig, config_size, CUpti_PmSampling_SetConfig, configSize);
HONE_SAME_PARAMETER(SamplingConfig, config, CUpti_PmSampling_SetConfig, pConfig);
HONE_SAME_PARAMETER(SamplingConfig, buffer_bytes, CUpti_PmSampling_SetConfig, hardwareBufferSize);
HONE_SAME_PARAMETER(SamplingConfig, interval, CUpti_PmSampling_SetConfig, samplingInterval);
HONE_SAME_PARAMETER(SamplingConfig, trigger, CUpti_PmSampling_SetConfig, triggerMode);
HONE_SAME_PARAMETER(SamplingConfig, when_full, CUpti_PmSampling_SetConfig, hwBufferAppendMode);

HONE_SAME_PARAMETERS(SamplingAvailability, CUpti_PmSampling_GetCounterAvailability);
HONE_SAME_PARAMETER(SamplingAvailability, device, CUpti_PmSampling_GetCounterAvailability, deviceIndex);
HONE_SAME_PARAMETER(SamplingAvailability, size, CUpti_PmSampling_GetCounterAvailability,
                    counterAvailabilityImageSize);
HONE_SAME_PARAMETER(SamplingAvailability, image, CUpti_PmSampling_GetCounterAvailability,
                    pCounterAvailabilityImage);

HONE_SAME_PARAMETERS(SamplingImageSize, CUpti_PmSampling_GetCounterDataSize);
HONE_SAME_PARAMETER(SamplingImageSize, metrics, CUpti_PmSampling_GetCounterDataSize, pMetricNames);
HONE_SAME_PARAMETER(SamplingImageSize, count, CUpti_PmSampling_GetCounterDataSize, numMetrics);
HONE_SAME_PARAMETER(SamplingImageSize, samples, CUpti_PmSampling_GetCounterDataSize, maxSamples);
HONE_SAME_PARAMETER(SamplingImageSize, size, CUpti_PmSampling_GetCounterDataSize, counterDataSize);
HONE_SAME_PARAMETERS(SamplingImageInitialize, CUpti_PmSampling_CounterDataImage_Initialize);
HONE_SAME_PARAMETER(SamplingImageInitialize, size, CUpti_PmSampling_CounterDataImage_Initialize,
                    counterDataSize);
HONE_SAME_PARAMETER(SamplingImageInitialize, image, CUpti_PmSampling_CounterDataImage_Initialize,
                    pCounterData);

static_assert(kBytesOfSamplingDecode == CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);
HONE_SAME_PARAMETER(SamplingDecode, image, CUpti_PmSampling_DecodeData, pCounterDataImage);
HONE_SAME_PARAMETER(SamplingDecode, size, CUpti_PmSampling_DecodeData, counterDataImageSize);
HONE_SAME_PARAMETER(SamplingDecode, stopped_by, CUpti_PmSampling_DecodeData, decodeStopReason);
HONE_SAME_PARAMETER(SamplingDecode, overflow, CUpti_PmSampling_DecodeData, overflow);
HONE_SAME_PARAMETERS(SamplingImageInfo, CUpti_PmSampling_GetCounterDataInfo);
HONE_SAME_PARAMETER(SamplingImageInfo, image, CUpti_PmSampling_GetCounterDataInfo, pCounterDataImage);
HONE_SAME_PARAMETER(SamplingImageInfo, completed, CUpti_PmSampling_GetCounterDataInfo, numCompletedSamples);
HONE_SAME_PARAMETERS(SampleInfo, CUpti_PmSampling_CounterData_GetSampleInfo);
HONE_SAME_PARAMETER(SampleInfo, image, CUpti_PmSampling_CounterData_GetSampleInfo, pCounterDataImage);
HONE_SAME_PARAMETER(SampleInfo, sample, CUpti_PmSampling_CounterData_GetSampleInfo, sampleIndex);
HONE_SAME_PARAMETER(SampleInfo, start, CUpti_PmSampling_CounterData_GetSampleInfo, startTimestamp);
HONE_SAME_PARAMETER(SampleInfo, end, CUpti_PmSampling_CounterData_GetSampleInfo, endTimestamp);

static_assert(kSamplingProfiler == CUPTI_PROFILER_TYPE_PM_SAMPLING);
static_assert(kClockTrigger == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
static_assert(kTimeTrigger == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
static_assert(kKeepOldest == CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
static_assert(kImageIsFull == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);

}  // namespace hone::observe::inject::cupti

#endif
