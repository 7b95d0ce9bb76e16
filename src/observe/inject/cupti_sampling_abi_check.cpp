// Compares cupti_sampling_abi.h with NVIDIA's header, where that is installed: nothing of this is linked.
#include <cstddef>

#include <cupti.h>

#include "observe/inject/cupti_sampling_abi.h"

#if __has_include(<cupti_pmsampling.h>)
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>

namespace hone::observe::inject::cupti {

#define HONE_SAMPLING_FIELD(Ours, field, Vendor, vendor_field)                      \
  static_assert(offsetof(Ours, field) == offsetof(Vendor##_Params, vendor_field) && \
                sizeof(Ours::field) == sizeof(static_cast<Vendor##_Params*>(nullptr)->vendor_field))
#define HONE_SAMPLING_SIZE(Ours, Vendor) static_assert(sizeof(Ours) == Vendor##_Params_STRUCT_SIZE)

HONE_SAMPLING_SIZE(SamplingEnable, CUpti_PmSampling_Enable);
HONE_SAMPLING_FIELD(SamplingEnable, device, CUpti_PmSampling_Enable, deviceIndex);
HONE_SAMPLING_FIELD(SamplingEnable, sampling, CUpti_PmSampling_Enable, pPmSamplingObject);
HONE_SAMPLING_SIZE(Sampling, CUpti_PmSampling_Disable);
HONE_SAMPLING_FIELD(Sampling, sampling, CUpti_PmSampling_Disable, pPmSamplingObject);
HONE_SAMPLING_SIZE(Sampling, CUpti_PmSampling_Start);
HONE_SAMPLING_FIELD(Sampling, sampling, CUpti_PmSampling_Start, pPmSamplingObject);
HONE_SAMPLING_SIZE(Sampling, CUpti_PmSampling_Stop);
HONE_SAMPLING_FIELD(Sampling, sampling, CUpti_PmSampling_Stop, pPmSamplingObject);

HONE_SAMPLING_SIZE(SamplingConfig, CUpti_PmSampling_SetConfig);
HONE_SAMPLING_FIELD(SamplingConfig, sampling, CUpti_PmSampling_SetConfig, pPmSamplingObject);
HONE_SAMPLING_FIELD(SamplingConfig, config_size, CUpti_PmSampling_SetConfig, configSize);
HONE_SAMPLING_FIELD(SamplingConfig, config, CUpti_PmSampling_SetConfig, pConfig);
HONE_SAMPLING_FIELD(SamplingConfig, buffer_bytes, CUpti_PmSampling_SetConfig, hardwareBufferSize);
HONE_SAMPLING_FIELD(SamplingConfig, interval, CUpti_PmSampling_SetConfig, samplingInterval);
HONE_SAMPLING_FIELD(SamplingConfig, trigger, CUpti_PmSampling_SetConfig, triggerMode);
HONE_SAMPLING_FIELD(SamplingConfig, when_full, CUpti_PmSampling_SetConfig, hwBufferAppendMode);

HONE_SAMPLING_SIZE(SamplingAvailability, CUpti_PmSampling_GetCounterAvailability);
HONE_SAMPLING_FIELD(SamplingAvailability, device, CUpti_PmSampling_GetCounterAvailability, deviceIndex);
HONE_SAMPLING_FIELD(SamplingAvailability, size, CUpti_PmSampling_GetCounterAvailability,
                    counterAvailabilityImageSize);
HONE_SAMPLING_FIELD(SamplingAvailability, image, CUpti_PmSampling_GetCounterAvailability,
                    pCounterAvailabilityImage);

HONE_SAMPLING_SIZE(SamplingImageSize, CUpti_PmSampling_GetCounterDataSize);
HONE_SAMPLING_FIELD(SamplingImageSize, metrics, CUpti_PmSampling_GetCounterDataSize, pMetricNames);
HONE_SAMPLING_FIELD(SamplingImageSize, count, CUpti_PmSampling_GetCounterDataSize, numMetrics);
HONE_SAMPLING_FIELD(SamplingImageSize, samples, CUpti_PmSampling_GetCounterDataSize, maxSamples);
HONE_SAMPLING_FIELD(SamplingImageSize, size, CUpti_PmSampling_GetCounterDataSize, counterDataSize);
HONE_SAMPLING_SIZE(SamplingImageInitialize, CUpti_PmSampling_CounterDataImage_Initialize);
HONE_SAMPLING_FIELD(SamplingImageInitialize, size, CUpti_PmSampling_CounterDataImage_Initialize,
                    counterDataSize);
HONE_SAMPLING_FIELD(SamplingImageInitialize, image, CUpti_PmSampling_CounterDataImage_Initialize,
                    pCounterData);

static_assert(kBytesOfSamplingDecode == CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE);
HONE_SAMPLING_FIELD(SamplingDecode, image, CUpti_PmSampling_DecodeData, pCounterDataImage);
HONE_SAMPLING_FIELD(SamplingDecode, size, CUpti_PmSampling_DecodeData, counterDataImageSize);
HONE_SAMPLING_FIELD(SamplingDecode, stopped_by, CUpti_PmSampling_DecodeData, decodeStopReason);
HONE_SAMPLING_FIELD(SamplingDecode, overflow, CUpti_PmSampling_DecodeData, overflow);
HONE_SAMPLING_SIZE(SamplingImageInfo, CUpti_PmSampling_GetCounterDataInfo);
HONE_SAMPLING_FIELD(SamplingImageInfo, image, CUpti_PmSampling_GetCounterDataInfo, pCounterDataImage);
HONE_SAMPLING_FIELD(SamplingImageInfo, completed, CUpti_PmSampling_GetCounterDataInfo, numCompletedSamples);
HONE_SAMPLING_SIZE(SampleInfo, CUpti_PmSampling_CounterData_GetSampleInfo);
HONE_SAMPLING_FIELD(SampleInfo, image, CUpti_PmSampling_CounterData_GetSampleInfo, pCounterDataImage);
HONE_SAMPLING_FIELD(SampleInfo, sample, CUpti_PmSampling_CounterData_GetSampleInfo, sampleIndex);
HONE_SAMPLING_FIELD(SampleInfo, start, CUpti_PmSampling_CounterData_GetSampleInfo, startTimestamp);
HONE_SAMPLING_FIELD(SampleInfo, end, CUpti_PmSampling_CounterData_GetSampleInfo, endTimestamp);

static_assert(kSamplingProfiler == CUPTI_PROFILER_TYPE_PM_SAMPLING);
static_assert(kClockTrigger == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
static_assert(kTimeTrigger == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
static_assert(kKeepOldest == CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
static_assert(kImageIsFull == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);

}  // namespace hone::observe::inject::cupti

#endif
