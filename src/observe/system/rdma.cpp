#include "observe/system/rdma.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace hone::observe::system {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<int64_t> counter(SmallFiles& files, const fs::path& path) {
  const auto text = files.read(path.string());
  return text ? Fields(*text).number() : std::nullopt;
}

}  // namespace

std::vector<NetworkCounters> read_rdma_ports(SmallFiles& files, const std::string& sys) {
  constexpr int64_t kWord = 4;  // the counters are of four bytes (InfiniBand Architecture, 16.1.3.5)
  const fs::path devices = sys + "/class/infiniband";
  std::vector<NetworkCounters> ports;
  for (const std::string& device : names_in(devices))
    for (const std::string& port : names_in(devices / device / "ports")) {
      const fs::path counters = devices / device / "ports" / port / "counters";
      const auto received = counter(files, counters / "port_rcv_data");
      const auto sent = counter(files, counters / "port_xmit_data");
      if (!received || !sent) continue;
      NetworkCounters& row = ports.emplace_back();
      row.name = device + ":" + port;
      row.received = *received * kWord;
      row.sent = *sent * kWord;
      row.errors = counter(files, counters / "port_rcv_errors").value_or(0) +
                   counter(files, counters / "port_xmit_discards").value_or(0);
    }
  return ports;
}

std::optional<double> parse_rdma_rate(std::string_view text) {
  constexpr double kGigabit = 1e9 / 8;
  Fields fields(text);
  const std::string_view word = fields.word();
  double rate = 0;
  const auto [rest, failed] = std::from_chars(word.data(), word.data() + word.size(), rate);
  if (failed != std::errc() || fields.word() != "Gb/sec" || !(rate > 0)) return std::nullopt;
  return rate * kGigabit;
}

std::optional<double> rdma_speed(SmallFiles& files, const std::string& sys, const std::string& name) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto text = files.read(sys + "/class/infiniband/" + name.substr(0, colon) + "/ports/" +
                               name.substr(colon + 1) + "/rate");
  return text ? parse_rdma_rate(*text) : std::nullopt;
}

}  // namespace hone::observe::system
