// Compares cupti_pc_sampling_abi.h with NVIDIA's headers, where those are installed: nothing of this is linked.
#include <cupti.h>
#include <cupti_pcsampling.h>

#include "observe/inject/cupti/abi_check.h"
#include "observe/inject/cupti/cupti_pc_sampling_abi.h"

namespace hone::observe::inject::cupti {

#define HONE_PC_SIZE(Ours, Vendor) static_assert(sizeof(Ours) == Vendor##Size)

static_assert(kReasonNameBytes == CUPTI_STALL_REASON_STRING_SIZE);
static_assert(sizeof(PcStall) == sizeof(CUpti_PCSamplingStallReason));
HONE_SAME_FIELD(PcStall, reason, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
HONE_SAME_FIELD(PcStall, samples, CUpti_PCSamplingStallReason, samples);

static_assert(sizeof(PcRecord) == sizeof(CUpti_PCSamplingPCData));
HONE_SAME_FIELD(PcRecord, cubin, CUpti_PCSamplingPCData, cubinCrc);
HONE_SAME_FIELD(PcRecord, offset, CUpti_PCSamplingPCData, pcOffset);
HONE_SAME_FIELD(PcRecord, function, CUpti_PCSamplingPCData, functionName);
HONE_SAME_FIELD(PcRecord, stalls_count, CUpti_PCSamplingPCData, stallReasonCount);
HONE_SAME_FIELD(PcRecord, stalls, CUpti_PCSamplingPCData, stallReason);
HONE_SAME_FIELD(PcRecord, correlation, CUpti_PCSamplingPCData, correlationId);

static_assert(sizeof(PcBuffer) == sizeof(CUpti_PCSamplingData));
HONE_SAME_FIELD(PcBuffer, capacity, CUpti_PCSamplingData, collectNumPcs);
HONE_SAME_FIELD(PcBuffer, samples, CUpti_PCSamplingData, totalSamples);
HONE_SAME_FIELD(PcBuffer, dropped, CUpti_PCSamplingData, droppedSamples);
HONE_SAME_FIELD(PcBuffer, count, CUpti_PCSamplingData, totalNumPcs);
HONE_SAME_FIELD(PcBuffer, remaining, CUpti_PCSamplingData, remainingNumPcs);
HONE_SAME_FIELD(PcBuffer, records, CUpti_PCSamplingData, pPcData);
HONE_SAME_FIELD(PcBuffer, hardware_buffer_was_full, CUpti_PCSamplingData, hardwareBufferFull);

static_assert(sizeof(PcSetting) == sizeof(CUpti_PCSamplingConfigurationInfo));
HONE_SAME_FIELD(PcSetting, what, CUpti_PCSamplingConfigurationInfo, attributeType);
HONE_SAME_FIELD(PcSetting, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
HONE_SAME_FIELD(PcSetting, value, CUpti_PCSamplingConfigurationInfo, attributeData);

HONE_PC_SIZE(PcContext, CUpti_PCSamplingEnableParams);
HONE_PC_SIZE(PcContext, CUpti_PCSamplingDisableParams);
HONE_PC_SIZE(PcContext, CUpti_PCSamplingStartParams);
HONE_PC_SIZE(PcContext, CUpti_PCSamplingStopParams);
HONE_SAME_FIELD(PcContext, context, CUpti_PCSamplingEnableParams, ctx);
HONE_PC_SIZE(PcSettings, CUpti_PCSamplingConfigurationInfoParams);
HONE_SAME_FIELD(PcSettings, count, CUpti_PCSamplingConfigurationInfoParams, numAttributes);
HONE_SAME_FIELD(PcSettings, settings, CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo);
HONE_PC_SIZE(PcData, CUpti_PCSamplingGetDataParams);
HONE_SAME_FIELD(PcData, buffer, CUpti_PCSamplingGetDataParams, pcSamplingData);
HONE_PC_SIZE(PcStallCount, CUpti_PCSamplingGetNumStallReasonsParams);
HONE_SAME_FIELD(PcStallCount, count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
HONE_PC_SIZE(PcStallReasons, CUpti_PCSamplingGetStallReasonsParams);
HONE_SAME_FIELD(PcStallReasons, count, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
HONE_SAME_FIELD(PcStallReasons, numbers, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
HONE_SAME_FIELD(PcStallReasons, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
HONE_PC_SIZE(SourceLine, CUpti_GetSassToSourceCorrelationParams);
HONE_SAME_FIELD(SourceLine, cubin, CUpti_GetSassToSourceCorrelationParams, cubin);
HONE_SAME_FIELD(SourceLine, function, CUpti_GetSassToSourceCorrelationParams, functionName);
HONE_SAME_FIELD(SourceLine, cubin_bytes, CUpti_GetSassToSourceCorrelationParams, cubinSize);
HONE_SAME_FIELD(SourceLine, line, CUpti_GetSassToSourceCorrelationParams, lineNumber);
HONE_SAME_FIELD(SourceLine, offset, CUpti_GetSassToSourceCorrelationParams, pcOffset);
HONE_SAME_FIELD(SourceLine, file, CUpti_GetSassToSourceCorrelationParams, fileName);
HONE_SAME_FIELD(SourceLine, folder, CUpti_GetSassToSourceCorrelationParams, dirName);
HONE_PC_SIZE(CubinCrc, CUpti_GetCubinCrcParams);
HONE_SAME_FIELD(CubinCrc, cubin, CUpti_GetCubinCrcParams, cubin);
HONE_SAME_FIELD(CubinCrc, crc, CUpti_GetCubinCrcParams, cubinCrc);
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
