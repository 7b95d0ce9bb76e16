#include "observe/inject/counters/counter_request.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "observe/inject/counters/request_lines.h"

namespace hone::observe::inject {
namespace {

// What follows `word` on the line; null: it is another line.
const char* after(const char* line, const char* word) {
  const size_t length = std::strlen(word);
  return std::strncmp(line, word, length) == 0 ? line + length : nullptr;
}

void read_kernel(const char* line, CounterRequest& request) {
  WantedKernel kernel;
  int symbol = 0;
  const int found = std::sscanf(
      line,
      "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %n",
      &kernel.instances, &kernel.device, &kernel.grid[0], &kernel.grid[1], &kernel.grid[2], &kernel.block[0],
      &kernel.block[1], &kernel.block[2], &symbol);
  if (found != 8 || symbol == 0) return;
  kernel.symbol = line + symbol;
  if (!kernel.symbol.empty()) request.kernels.push_back(std::move(kernel));
}

void read_request_line(const char* line, CounterRequest& request) {
  if (std::strcmp(line, "lines") == 0) {
    request.lines = true;
  } else if (const char* names = after(line, "metric ")) {
    request.metrics.emplace_back(names);
  } else if (const char* of_once = after(line, "once ")) {
    request.once.emplace_back(of_once);
  } else if (const char* milliseconds = after(line, "quiet ")) {
    request.quiet_ns = std::strtoll(milliseconds, nullptr, 10) * 1'000'000;
  } else if (const char* kernel = after(line, "kernel ")) {
    read_kernel(kernel, request);
  }
}

}  // namespace

bool read_counter_request(const char* path, CounterRequest& request) {
  return for_each_request_line(path, [&](const char* line) { read_request_line(line, request); });
}

}  // namespace hone::observe::inject
