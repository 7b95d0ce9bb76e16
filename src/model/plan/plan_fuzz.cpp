// libFuzzer: whatever the bytes are, reading them as a plan ends with a valid graph and choices that fit it, or an error.
// Each input is read as a file, and as its five sections with a byte 0x1e after each of the first four, which is what
// lies behind the checksums.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "graph/verify.h"
#include "model/plan/plan_file.h"

namespace {

void expect_plan_or_error(const hone::Result<hone::model::PlanFile>& plan) {
  if (!plan.ok()) {
    if (plan.error().message.empty()) std::abort();
    return;
  }
  if (const hone::Status valid = hone::graph::verify(plan->graph); !valid.ok()) {
    std::fprintf(stderr, "the reader made an invalid graph: %s\n", valid.error().message.c_str());
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto kept = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  expect_plan_or_error(hone::model::read_plan_bytes(std::as_bytes(std::span(*kept)), kept));
  std::array<std::string_view, 5> parts;
  std::string_view rest = *kept;
  for (std::string_view& part : parts) {
    const std::size_t end = &part == &parts.back() ? rest.size() : std::min(rest.find('\x1e'), rest.size());
    part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  expect_plan_or_error(hone::model::read_plan_sections(
      {parts[0], parts[1], parts[2], std::as_bytes(std::span(parts[3])), std::as_bytes(std::span(parts[4]))},
      kept));
  return 0;
}
