// libFuzzer: whatever the bytes are, reading them as a plan ends with a valid graph and choices that fit it, or an error.
// Each input is read twice: as it is, and with its checksums made right, so that what lies behind them is reached.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "graph/verify.h"
#include "model/plan/plan_file.h"
#include "model/plan/sections.h"

namespace {

void read(std::vector<std::byte> bytes) {
  const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const auto plan = hone::model::read_plan_bytes(*kept, kept);
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
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(begin, begin + size);
  read(bytes);
  hone::model::seal_sections(bytes);
  read(std::move(bytes));
  return 0;
}
