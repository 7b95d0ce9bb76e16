#include "observe/system/devices.h"

#include <algorithm>

#include "observe/system/text_fields.h"

namespace hone::observe::system {
namespace {

template <typename Counters>
const Counters* of_same_name(const std::vector<Counters>& rows, const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Counters& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

// "major minor name reads merged sectors ms writes merged sectors ms in-flight busy-ms …"
// (Documentation/admin-guide/iostats).
std::vector<DiskCounters> parse_diskstats(std::string_view text) {
  std::vector<DiskCounters> disks;
  Fields lines(text);
  for (std::string_view line; lines.line(line);) {
    Fields fields(line);
    DiskCounters disk;
    disk.name = fields.skip(2).word();
    disk.reads = fields.number().value_or(0);
    disk.sectors_read = fields.skip(1).number().value_or(0);
    disk.operation_ms = fields.number().value_or(0);
    disk.writes = fields.number().value_or(0);
    disk.sectors_written = fields.skip(1).number().value_or(0);
    disk.operation_ms += fields.number().value_or(0);
    const auto busy = fields.skip(1).number();
    if (!busy) continue;
    disk.busy_ms = *busy;
    disks.push_back(std::move(disk));
  }
  return disks;
}

// "name: bytes packets errors drops fifo frame compressed multicast", received and then sent.
std::vector<NetworkCounters> parse_net_dev(std::string_view text) {
  std::vector<NetworkCounters> networks;
  Fields lines(text);
  for (std::string_view line; lines.line(line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    NetworkCounters row;
    row.name = Fields(line.substr(0, colon)).word();
    Fields fields(line.substr(colon + 1));
    const auto received = fields.number();
    row.errors = fields.skip(1).number().value_or(0);
    row.errors += fields.number().value_or(0);
    const auto sent = fields.skip(4).number();
    row.errors += fields.skip(1).number().value_or(0);
    row.errors += fields.number().value_or(0);
    if (!received || !sent) continue;
    row.received = *received;
    row.sent = *sent;
    networks.push_back(std::move(row));
  }
  return networks;
}

std::vector<trace::live::DiskUse> disk_use(const std::vector<DiskCounters>& before,
                                           const std::vector<DiskCounters>& now, double seconds) {
  constexpr double kSector = 512;
  std::vector<trace::live::DiskUse> rows;
  for (const DiskCounters& disk : now) {
    trace::live::DiskUse& row = rows.emplace_back();
    row.name = disk.name;
    const DiskCounters* last = of_same_name(before, disk.name);
    if (last == nullptr) continue;
    row.bytes.received = rate(last->sectors_read, disk.sectors_read, seconds, kSector);
    row.bytes.sent = rate(last->sectors_written, disk.sectors_written, seconds, kSector);
    if (const auto busy = rate(last->busy_ms, disk.busy_ms, seconds, 1e-3))
      row.busy_share = std::min(1.0, *busy);
    const int64_t done = disk.reads + disk.writes - last->reads - last->writes;
    if (done > 0 && disk.operation_ms >= last->operation_ms)
      row.operation_ms =
          static_cast<double>(disk.operation_ms - last->operation_ms) / static_cast<double>(done);
  }
  return rows;
}

std::vector<trace::live::NetworkUse> network_use(const std::vector<NetworkCounters>& before,
                                                 const std::vector<NetworkCounters>& now, double seconds) {
  std::vector<trace::live::NetworkUse> rows;
  for (const NetworkCounters& network : now) {
    trace::live::NetworkUse& row = rows.emplace_back();
    row.name = network.name;
    const NetworkCounters* last = of_same_name(before, network.name);
    if (last == nullptr) continue;
    row.bytes.received = rate(last->received, network.received, seconds);
    row.bytes.sent = rate(last->sent, network.sent, seconds);
    row.errors_per_s = rate(last->errors, network.errors, seconds);
  }
  return rows;
}

}  // namespace hone::observe::system
