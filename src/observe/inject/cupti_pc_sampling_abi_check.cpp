// Compares cupti_pc_sampling_abi.h with NVIDIA's headers, where those are installed: nothing of this is linked.
#include <cstddef>

#include <cupti.h>
#include <cupti_pcsampling.h>

#include "observe/inject/cupti_pc_sampling_abi.h"

namespace hone::observe::inject::cupti {

#define HONE_PC_FIELD(Ours, field, Vendor, vendor_field)                   \
  static_assert(offsetof(Ours, field) == offsetof(Vendor, vendor_field) && \
                sizeof(Ours::field) == sizeof(static_cast<Vendor*>(nullptr)->vendor_field))
#define HONE_PC_SIZE(Ours, Vendor) static_assert(sizeof(Ours) == Vendor##Size)

static_assert(kReasonNameBytes == CUPTI_STALL_REASON_STRING_SIZE);
static_assert(sizeof(PcStall) == sizeof(CUpti_PCSamplingStallReason));
HONE_PC_FIELD(PcStall, reason, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
HONE_PC_FIELD(PcStall, samples, CUpti_PCSamplingStallReason, samples);

static_assert(sizeof(PcRecord) == sizeof(CUpti_PCSamplingPCData));
HONE_PC_FIELD(PcRecord, cubin, CUpti_PCSamplingPCData, cubinCrc);
HONE_PC_FIELD(PcRecord, offset, CUpti_PCSamplingPCData, pcOffset);
HONE_PC_FIELD(PcRecord, function, CUpti_PCSamplingPCData, functionName);
HONE_PC_FIELD(PcRecord, stalls_count, CUpti_PCSamplingPCData, stallReasonCount);
HONE_PC_FIELD(PcRecord, stalls, CUpti_PCSamplingPCData, stallReason);
HONE_PC_FIELD(PcRecord, correlation, CUpti_PCSamplingPCData, correlationId);

static_assert(sizeof(PcBuffer) == sizeof(CUpti_PCSamplingData));
HONE_PC_FIELD(PcBuffer, capacity, CUpti_PCSamplingData, collectNumPcs);
HONE_PC_FIELD(PcBuffer, samples, CUpti_PCSamplingData, totalSamples);
HONE_PC_FIELD(PcBuffer, dropped, CUpti_PCSamplingData, droppedSamples);
HONE_PC_FIELD(PcBuffer, count, CUpti_PCSamplingData, totalNumPcs);
HONE_PC_FIELD(PcBuffer, remaining, CUpti_PCSamplingData, remainingNumPcs);
HONE_PC_FIELD(PcBuffer, records, CUpti_PCSamplingData, pPcData);
HONE_PC_FIELD(PcBuffer, hardware_buffer_was_full, CUpti_PCSamplingData, hardwareBufferFull);

static_assert(sizeof(PcSetting) == sizeof(CUpti_PCSamplingConfigurationInfo));
HONE_PC_FIELD(PcSetting, what, CUpti_PCSamplingConfigurationInfo, attributeType);
HONE_PC_FIELD(PcSetting, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
HONE_PC_FIELD(PcSetting, value, CUpti_PCSamplingConfigurationInfo, attributeData);

HONE_PC_SIZE(PcContext, CUpti_PCSamplingEnableParams);
HONE_PC_SIZE(PcContext, CUpti_PCSamplingDisableParams);
HONE_PC_SIZE(PcContext, CUpti_PCSamplingStartParams);
HONE_PC_SIZE(PcContext, CUpti_PCSamplingStopParams);
HONE_PC_FIELD(PcContext, context, CUpti_PCSamplingEnableParams, ctx);
HONE_PC_SIZE(PcSettings, CUpti_PCSamplingConfigurationInfoParams);
HONE_PC_FIELD(PcSettings, count, CUpti_PCSamplingConfigurationInfoParams, numAttributes);
HONE_PC_FIELD(PcSettings, settings, CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo);
HONE_PC_SIZE(PcData, CUpti_PCSamplingGetDataParams);
HONE_PC_FIELD(PcData, buffer, CUpti_PCSamplingGetDataParams, pcSamplingData);
HONE_PC_SIZE(PcStallCount, CUpti_PCSamplingGetNumStallReasonsParams);
HONE_PC_FIELD(PcStallCount, count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
HONE_PC_SIZE(PcStallReasons, CUpti_PCSamplingGetStallReasonsParams);
HONE_PC_FIELD(PcStallReasons, count, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
HONE_PC_FIELD(PcStallReasons, numbers, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
HONE_PC_FIELD(PcStallReasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
HONE_PC_SIZE(SourceLine, CUpti_GetSassToSourceCorrelationParams);
HONE_PC_FIELD(SourceLine, cubin, CUpti_GetSassToSourceCorrelationParams, cubin);
HONE_PC_FIELD(SourceLine, function, CUpti_GetSassToSourceCorrelationParams, functionName);
HONE_PC_FIELD(SourceLine, cubin_bytes, CUpti_GetSassToSourceCorrelationParams, cubinSize);
HONE_PC_FIELD(SourceLine, line, CUpti_GetSassToSourceCorrelationParams, lineNumber);
HONE_PC_FIELD(SourceLine, offset, CUpti_GetSassToSourceCorrelationParams, pcOffset);
HONE_PC_FIELD(SourceLine, file, CUpti_GetSassToSourceCorrelationParams, fileName);
HONE_PC_FIELD(SourceLine, folder, CUpti_GetSassToSourceCorrelationParams, dirName);
HONE_PC_SIZE(CubinCrc, CUpti_GetCubinCrcParams);
HONE_PC_FIELD(CubinCrc, cubin, CUpti_GetCubinCrcParams, cubin);
HONE_PC_FIELD(CubinCrc, crc, CUpti_GetCubinCrcParams, cubinCrc);
static_assert(offsetof(LoadedModule, bytes) == offsetof(CUpti_ModuleResourceData, cubinSize));
static_assert(offsetof(LoadedModule, cubin) == offsetof(CUpti_ModuleResourceData, pCubin));

template <typename Ours, typename Vendor>
constexpr bool same_pc_number(Ours ours, Vendor vendor) {
  return static_cast<long long>(ours) == static_cast<long long>(vendor);
}
static_assert(same_pc_number(PcAttribute::kPeriod,
                             CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD));
static_assert(same_pc_number(PcAttribute::kScratchBytes,
                             CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE));
static_assert(same_pc_number(PcAttribute::kHardwareBufferBytes,
                             CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE));
static_assert(same_pc_number(PcAttribute::kMode, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE));
static_assert(same_pc_number(PcAttribute::kStartStop,
                             CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL));
static_assert(same_pc_number(PcAttribute::kBuffer,
                             CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER));
static_assert(same_pc_number(kPcContinuous, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS));
static_assert(same_pc_number(kModuleLoaded, CUPTI_CBID_RESOURCE_MODULE_LOADED));

}  // namespace hone::observe::inject::cupti
