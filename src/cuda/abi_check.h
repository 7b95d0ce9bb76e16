// How a function that we declare is compared with the vendor's: as many parameters, each of the vendor's size and kind,
// which is what a call depends on. Our handles and enumerations are types of our own.
#pragma once

#include <type_traits>

namespace hone::cuda {

template <typename Ours, typename Vendor>
constexpr bool same_parameter() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Vendor>) {
    return std::is_void_v<Ours> && std::is_void_v<Vendor>;
  } else {
    constexpr bool both_pointers = std::is_pointer_v<Ours> == std::is_pointer_v<Vendor>;
    return both_pointers && sizeof(Ours) == sizeof(Vendor);
  }
}

template <typename Ours, typename Vendor>
struct SameCall : std::false_type {};
template <typename OurReturn, typename... Ours, typename VendorReturn, typename... Vendor>
struct SameCall<OurReturn (*)(Ours...), VendorReturn(Vendor...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(Ours) != sizeof...(Vendor))
      return false;
    else
      return same_parameter<OurReturn, VendorReturn>() && (same_parameter<Ours, Vendor>() && ...);
  }();
};

}  // namespace hone::cuda

#define HONE_SAME_CALL(Functions, ours, vendor) \
  static_assert(hone::cuda::SameCall<decltype(Functions::ours), decltype(vendor)>::value)
