// How an NVTX 3 header inside a program hands its functions to a tool: what hone uses of the public injection
// interface, declared by ourselves. A program's copy of the header has a table of pointers for each module; a tool
// writes its functions there. nvtx_abi_check.cpp compares this with the header where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::observe::inject::nvtx {

inline constexpr uint32_t kCallbacksTable = 1;  // of the export tables

using Function = void (*)();
struct Callbacks {
  size_t bytes;
  // Fills in the table of a module and how many entries it has; 0: there is none.
  int (*module_table)(int module, Function*** table, unsigned* entries);
};
using ExportTable = const void* (*)(uint32_t table);

inline constexpr int kCore = 1, kDomains = 5;  // modules

enum CoreEntry : unsigned {
  kMarkEx = 1,
  kMarkA = 2,
  kMarkW = 3,
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeStartW = 6,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePushW = 10,
  kRangePop = 11,
};
enum DomainEntry : unsigned {
  kDomainMarkEx = 1,
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW = 11,
  kDomainCreateA = 12,
  kDomainCreateW = 13,
};

inline constexpr int32_t kAscii = 1, kWide = 2, kRegistered = 3;  // types of messages

struct EventAttributes {
  uint16_t version, bytes;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const void* message;
};

}  // namespace hone::observe::inject::nvtx
