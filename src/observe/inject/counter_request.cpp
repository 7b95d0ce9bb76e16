#include "observe/inject/counter_request.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hone::observe::inject {
namespace {

void read_request_line(const char* line, CounterRequest& request) {
  constexpr const char kMetric[] = "metric ", kKernel[] = "kernel ";
  if (std::strcmp(line, "lines") == 0) request.lines = true;
  if (std::strncmp(line, kMetric, sizeof(kMetric) - 1) == 0) {
    request.metrics.emplace_back(line + sizeof(kMetric) - 1);
    return;
  }
  if (std::strncmp(line, kKernel, sizeof(kKernel) - 1) != 0) return;
  WantedKernel kernel;
  int symbol = 0;
  const int found = std::sscanf(
      line + sizeof(kKernel) - 1,
      "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %n",
      &kernel.instances, &kernel.device, &kernel.grid[0], &kernel.grid[1], &kernel.grid[2], &kernel.block[0],
      &kernel.block[1], &kernel.block[2], &symbol);
  if (found != 8 || symbol == 0) return;
  kernel.symbol = line + sizeof(kKernel) - 1 + symbol;
  if (!kernel.symbol.empty()) request.kernels.push_back(std::move(kernel));
}

}  // namespace

bool read_counter_request(const char* path, CounterRequest& request) {
  std::FILE* file = std::fopen(path, "re");
  if (!file) return false;
  char* line = nullptr;
  size_t capacity = 0;
  for (ssize_t length; (length = getline(&line, &capacity, file)) > 0;) {
    if (line[length - 1] == '\n') line[length - 1] = '\0';
    read_request_line(line, request);
  }
  std::free(line);
  std::fclose(file);
  return true;
}

}  // namespace hone::observe::inject
