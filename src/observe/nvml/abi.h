// The part of NVML's binary interface that hone uses, declared by ourselves, so that building needs no header of
// the vendor's. Layouts and numbers as documented in NVML's API reference (docs.nvidia.com/deploy/nvml-api);
// functions carry the version that their structures belong to in their names.
#pragma once

#include <cstdint>

namespace hone::observe::nvml {

using Return = int;  // nvmlReturn_t
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kUnknown = 999;

using Device = struct DeviceHandle*;      // nvmlDevice_t
using GpmSample = struct GpmSampleData*;  // nvmlGpmSample_t

struct Utilization {  // percent of the last sample period
  unsigned gpu, memory;
};

struct Memory {  // nvmlMemory_t; bytes
  unsigned long long total, free, used;
};
struct MemoryV2 {  // nvmlMemory_v2_t: its `used` leaves out what the driver keeps for itself
  unsigned version;
  unsigned long long total, reserved, free, used;
};
inline constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2u << 24;

struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct ProcessInfo {  // nvmlProcessInfo_t, version 3 of the functions
  unsigned pid;
  unsigned long long used_memory;  // kNoValue: not known
  unsigned gpu_instance, compute_instance;
};
inline constexpr unsigned long long kNoValue = ~0ull;

struct ProcessSample {  // nvmlProcessUtilizationSample_t; percent
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;
};

union Value {  // nvmlValue_t
  double as_double;
  unsigned as_unsigned;
  unsigned long as_unsigned_long;
  unsigned long long as_unsigned_long_long;
  long long as_signed_long_long;
  int as_signed;
  unsigned short as_unsigned_short;
};
enum ValueType : unsigned {
  kDouble = 0,
  kUnsigned = 1,
  kUnsignedLong = 2,
  kUnsignedLongLong = 3,
  kSignedLongLong = 4,
  kSigned = 5,
  kUnsignedShort = 6,
};
struct FieldValue {  // nvmlFieldValue_t
  unsigned field, scope;
  long long time_us, latency_us;
  unsigned value_type;
  Return result;
  Value value;
};
// Time in ns that the clocks were held back since the driver was loaded.
inline constexpr unsigned kFieldHeldByPower = 74;      // NVML_FI_DEV_PERF_POLICY_POWER
inline constexpr unsigned kFieldHeldByHeat = 75;       // NVML_FI_DEV_PERF_POLICY_THERMAL
inline constexpr unsigned kFieldNvlinkSent = 138;      // NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, KiB
inline constexpr unsigned kFieldNvlinkReceived = 139;  // NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, KiB
inline constexpr unsigned kFieldPcieSent = 197;        // NVML_FI_DEV_PCIE_COUNT_TX_BYTES
inline constexpr unsigned kFieldPcieReceived = 198;    // NVML_FI_DEV_PCIE_COUNT_RX_BYTES
inline constexpr unsigned kAllLinks = ~0u;             // scope of NVLink's fields

inline constexpr int kClockSm = 1, kClockMemory = 2;    // nvmlClockType_t
inline constexpr int kSensorGpu = 0;                    // nvmlTemperatureSensors_t
inline constexpr int kThresholdSlowdown = 1;            // nvmlTemperatureThresholds_t
inline constexpr int kPcieSent = 0, kPcieReceived = 1;  // nvmlPcieUtilCounter_t
inline constexpr unsigned kMigEnabled = 1;              // NVML_DEVICE_MIG_ENABLE

// nvmlClocksEventReasons
inline constexpr unsigned long long kReasonIdle = 0x1, kReasonApplicationClocks = 0x2, kReasonPowerCap = 0x4,
                                    kReasonHardwareSlowdown = 0x8, kReasonSyncBoost = 0x10,
                                    kReasonSoftwareThermal = 0x20, kReasonHardwareThermal = 0x40,
                                    kReasonPowerBrake = 0x80, kReasonDisplayClocks = 0x100;

struct GpmSupport {  // nvmlGpmSupport_t
  unsigned version, is_supported;
};
struct GpmMetric {  // nvmlGpmMetric_t
  unsigned metric;
  Return result;
  double value;  // percent, or MiB a second
  const char *short_name, *long_name, *unit;
};
// nvmlGpmMetricsGet_t ends with an array whose length has grown with NVML's versions (98 at first, 477 in 13.6): there is
// room for more than any has, lest a library touches what lies behind.
struct GpmMetrics {
  unsigned version, count;
  GpmSample first, second;
  GpmMetric metrics[512];
};
inline constexpr unsigned kGpmVersion = 1;
// nvmlGpmMetricId_t
inline constexpr unsigned kGpmSm = 2, kGpmOccupancy = 3, kGpmInteger = 4, kGpmTensor = 5, kGpmDram = 10,
                          kGpmFp64 = 11, kGpmFp32 = 12, kGpmFp16 = 13, kGpmPcieSent = 20,
                          kGpmPcieReceived = 21, kGpmNvlinkReceived = 60, kGpmNvlinkSent = 61;

static_assert(sizeof(Memory) == 24 && sizeof(MemoryV2) == 40 && sizeof(PciInfo) == 68);
static_assert(sizeof(ProcessInfo) == 24 && sizeof(ProcessSample) == 32 && sizeof(FieldValue) == 40);
static_assert(sizeof(GpmMetric) == 40);

}  // namespace hone::observe::nvml
