// How fast traces are imported, and in how much memory: bench_import FILE… [--threads N] [--repeat N].
// Prints one JSON line. The files are read once before, so that they come from the page cache. The peak of
// memory is of the whole process.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/clock.h"
#include "trace/import/import.h"

namespace {

void warm(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  std::vector<char> buffer(std::size_t{1} << 20);
  while (descriptor >= 0 && ::read(descriptor, buffer.data(), buffer.size()) > 0) {
  }
  if (descriptor >= 0) ::close(descriptor);
}

// In bytes, of this program alone (getrusage counts what the parent had before exec).
double peak_memory() {
  FILE* status = std::fopen("/proc/self/status", "r");
  char line[256];
  double kilobytes = 0;
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr)
    if (std::strncmp(line, "VmHWM:", 6) == 0) kilobytes = std::atof(line + 6);
  if (status != nullptr) std::fclose(status);
  return kilobytes * 1024;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> paths;
  hone::trace::ImportOptions options;
  int repeat = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      options.threads = std::atoi(argv[++i]);
    else if (argument == "--repeat" && i + 1 < argc)
      repeat = std::atoi(argv[++i]);
    else
      paths.emplace_back(argument);
  }
  for (const auto& path : paths) warm(path);
  std::vector<double> seconds;
  std::size_t spans = 0, warnings = 0, strings = 0;
  const double cpu_before = cpu_seconds();
  for (int i = 0; i < repeat; ++i) {
    const int64_t start = hone::now_ns();
    const auto trace = hone::trace::import_trace(paths, options);
    seconds.push_back(static_cast<double>(hone::now_ns() - start) * 1e-9);
    if (!trace.ok()) {
      std::fprintf(stderr, "%s\n", trace.error().message.c_str());
      return 1;
    }
    spans = trace->spans.size();
    warnings = trace->meta.warnings.size();
    strings = trace->strings.size();
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf(
      "{\"seconds\": %.4f, \"seconds_least\": %.4f, \"seconds_most\": %.4f, \"cpu_seconds\": %.4f, "
      "\"peak_bytes\": %.0f, \"spans\": %zu, \"strings\": %zu, \"warnings\": %zu}\n",
      seconds[seconds.size() / 2], seconds.front(), seconds.back(), (cpu_seconds() - cpu_before) / repeat,
      peak_memory(), spans, strings, warnings);
  return 0;
}
