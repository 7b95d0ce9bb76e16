// Writes what the session sees of the program's processes (segments::kHostFile): frames and names once, then what uses
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "core/result.h"
#include "trace/segments/record.h"

namespace hone::observe {

// Not thread-safe. What cannot be written is lost.
class HostFileWriter {
 public:
  // In a folder that is there.
  static Result<HostFileWriter> create(const std::filesystem::path& folder);
  HostFileWriter(HostFileWriter&& other) noexcept;
  HostFileWriter& operator=(HostFileWriter&&) = delete;
  ~HostFileWriter();

  void process(int pid, int parent, std::string_view command);
  uint32_t frame(trace::segments::StackKind what, std::string_view function, std::string_view file,
                 int32_t line);
  // Frames by their numbers, innermost first.
  void sample(trace::segments::HostSample sample, std::span<const uint32_t> python,
              std::span<const uint32_t> native);
  void use(const trace::segments::HostUse& use);
  void note(std::string_view text);
  // Everything so far lies in the file.
  void flush();

 private:
  explicit HostFileWriter(int file) : file_(file) {}

  uint32_t name(std::string_view text);
  template <typename Record>
  void add(const Record& record, std::string_view following);

  int file_ = -1;
  std::string buffer_;
  std::map<std::string, uint32_t, std::less<>> names_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, int32_t>, uint32_t> frames_;
};

}  // namespace hone::observe
