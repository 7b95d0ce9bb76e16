// Compares nvtx_abi.h with NVTX's header, where that is installed: nothing of this is linked.
#include <cstddef>

#include "observe/inject/nvtx_abi.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace hone::observe::inject::nvtx {

#define HONE_SAME_NVTX(field, vendor_field)                                                          \
  static_assert(offsetof(EventAttributes, field) == offsetof(nvtxEventAttributes_t, vendor_field) && \
                sizeof(EventAttributes::field) == sizeof(nvtxEventAttributes_t::vendor_field))
static_assert(sizeof(EventAttributes) == sizeof(nvtxEventAttributes_t));
HONE_SAME_NVTX(version, version);
HONE_SAME_NVTX(bytes, size);
HONE_SAME_NVTX(message_type, messageType);
HONE_SAME_NVTX(message, message);
static_assert(kAscii == NVTX_MESSAGE_TYPE_ASCII && kWide == NVTX_MESSAGE_TYPE_UNICODE &&
              kRegistered == NVTX_MESSAGE_TYPE_REGISTERED);
static_assert(sizeof(Callbacks) == sizeof(NvtxExportTableCallbacks) &&
              offsetof(Callbacks, module_table) ==
                  offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));

template <typename Vendor>
constexpr bool same(unsigned ours, Vendor vendor) {
  return ours == static_cast<unsigned>(vendor);
}
static_assert(same(kCallbacksTable, NVTX_ETID_CALLBACKS));
static_assert(same(kCore, NVTX_CB_MODULE_CORE) && same(kDomains, NVTX_CB_MODULE_CORE2));
static_assert(same(kMarkEx, NVTX_CBID_CORE_MarkEx) && same(kMarkA, NVTX_CBID_CORE_MarkA) &&
              same(kMarkW, NVTX_CBID_CORE_MarkW));
static_assert(same(kRangeStartEx, NVTX_CBID_CORE_RangeStartEx) &&
              same(kRangeStartA, NVTX_CBID_CORE_RangeStartA) &&
              same(kRangeStartW, NVTX_CBID_CORE_RangeStartW) && same(kRangeEnd, NVTX_CBID_CORE_RangeEnd));
static_assert(same(kRangePushEx, NVTX_CBID_CORE_RangePushEx) &&
              same(kRangePushA, NVTX_CBID_CORE_RangePushA) && same(kRangePushW, NVTX_CBID_CORE_RangePushW) &&
              same(kRangePop, NVTX_CBID_CORE_RangePop));
static_assert(same(kDomainMarkEx, NVTX_CBID_CORE2_DomainMarkEx) &&
              same(kDomainRangeStartEx, NVTX_CBID_CORE2_DomainRangeStartEx) &&
              same(kDomainRangeEnd, NVTX_CBID_CORE2_DomainRangeEnd));
static_assert(same(kDomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx) &&
              same(kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop));
static_assert(same(kDomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA) &&
              same(kDomainRegisterStringW, NVTX_CBID_CORE2_DomainRegisterStringW));
static_assert(same(kDomainCreateA, NVTX_CBID_CORE2_DomainCreateA) &&
              same(kDomainCreateW, NVTX_CBID_CORE2_DomainCreateW));

}  // namespace hone::observe::inject::nvtx
#endif
