#include "observe/system/host_sampler.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "observe/system/rdma.h"

namespace hone::observe::system {
namespace {

// Other devices' traffic, seen again: files and memory as disks, and what is stacked on disks.
constexpr std::array<std::string_view, 6> kNoDisks = {"loop", "ram", "zram", "dm-", "md", "sr"};

std::string reason(int error) { return std::generic_category().message(error); }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

HostSampler::HostSampler(SystemFolders folders) : folders_(std::move(folders)), processes_(folders_.proc) {}

void HostSampler::read(double seconds, trace::live::MachineUse& use) {
  const Counters now = read_counters(use.notes);
  trace::live::HostUse& host = use.host;
  host.name = host_name();
  fill_cpu_use(last_.cpu, now.cpu, seconds, host);
  fill_memory_use(last_.memory, now.memory, seconds, host);
  host.cpu_pressure = pressure_between(last_.cpu_pressure, now.cpu_pressure, seconds);
  host.cpu_pressure.full_share.reset();  // of the whole machine it means nothing
  host.memory_pressure = pressure_between(last_.memory_pressure, now.memory_pressure, seconds);
  host.io_pressure = pressure_between(last_.io_pressure, now.io_pressure, seconds);
  host.disks = disk_use(last_.disks, now.disks, seconds);
  host.networks = network_use(last_.networks, now.networks, seconds);
  for (trace::live::NetworkUse& network : host.networks) network.bytes_per_s_limit = speed_of(network.name);
  host.group = group_use(last_.group, now.group);
  last_ = now;

  use.processes = processes_.read(seconds);
  if (!processes_.could_read())
    use.notes.push_back(fmt::format("processes: none can be seen in {}", folders_.proc));
  if (processes_.without_io() > 0)
    use.notes.push_back(
        fmt::format("disk traffic of {} of {} processes: the kernel does not show it to this user",
                    processes_.without_io(), use.processes.size()));
}

HostSampler::Counters HostSampler::read_counters(std::vector<std::string>& notes) {
  Counters now;
  if (const auto text = files_.read(folders_.proc + "/stat"))
    parse_stat(*text, now.cpu);
  else
    notes.push_back(fmt::format("CPUs: {}/stat: {}", folders_.proc, reason(files_.error())));
  if (const auto text = files_.read(folders_.proc + "/schedstat")) parse_schedstat(*text, now.cpu);
  if (const auto text = files_.read(folders_.proc + "/loadavg")) parse_loadavg(*text, now.cpu);
  if (const auto text = files_.read(folders_.proc + "/meminfo"))
    parse_meminfo(*text, now.memory);
  else
    notes.push_back(fmt::format("memory: {}/meminfo: {}", folders_.proc, reason(files_.error())));
  if (const auto text = files_.read(folders_.proc + "/vmstat")) parse_vmstat(*text, now.memory);
  now.cpu_pressure = read_pressure("cpu");
  now.memory_pressure = read_pressure("memory");
  now.io_pressure = read_pressure("io");
  if (!now.cpu_pressure.some_us && !now.cpu.in_line_ns)
    notes.push_back(fmt::format(
        "time in line for CPUs: this kernel offers neither {0}/pressure nor {0}/schedstat", folders_.proc));
  now.disks = read_disks(notes);
  now.networks = read_networks(notes);
  now.group = read_group(files_, folders_.proc, folders_.sys);
  return now;
}

PressureCounters HostSampler::read_pressure(const char* of) {
  const auto text = files_.read(fmt::format("{}/pressure/{}", folders_.proc, of));
  return text ? parse_pressure(*text) : PressureCounters{};
}

std::vector<DiskCounters> HostSampler::read_disks(std::vector<std::string>& notes) {
  const auto text = files_.read(folders_.proc + "/diskstats");
  if (!text) {
    notes.push_back(fmt::format("disks: {}/diskstats: {}", folders_.proc, reason(files_.error())));
    return {};
  }
  std::vector<DiskCounters> disks = parse_diskstats(*text);
  std::erase_if(disks, [&](const DiskCounters& disk) { return !is_whole_disk(disk.name); });
  return disks;
}

bool HostSampler::is_whole_disk(const std::string& name) {
  const auto known = whole_disks_.find(name);
  if (known != whole_disks_.end()) return known->second;
  bool whole = std::none_of(kNoDisks.begin(), kNoDisks.end(),
                            [&](std::string_view start) { return name.starts_with(start); });
  if (whole && ::access((folders_.sys + "/class/block").c_str(), F_OK) == 0)
    whole = ::access((folders_.sys + "/class/block/" + name + "/partition").c_str(), F_OK) != 0;
  return whole_disks_[name] = whole;
}

std::vector<NetworkCounters> HostSampler::read_networks(std::vector<std::string>& notes) {
  const auto text = files_.read(folders_.proc + "/net/dev");
  if (!text) {
    notes.push_back(fmt::format("networks: {}/net/dev: {}", folders_.proc, reason(files_.error())));
    return {};
  }
  std::vector<NetworkCounters> networks = parse_net_dev(*text);
  for (NetworkCounters& port : read_rdma_ports(files_, folders_.sys)) networks.push_back(std::move(port));
  // The loopback is no network, and what has never carried anything is not in use.
  std::erase_if(networks, [](const NetworkCounters& row) {
    return row.name == "lo" || (row.received == 0 && row.sent == 0);
  });
  return networks;
}

std::optional<double> HostSampler::speed_of(const std::string& network) {
  constexpr double kMegabit = 1e6 / 8;
  const auto text = files_.read(fmt::format("{}/class/net/{}/speed", folders_.sys, network));
  const auto speed = text ? Fields(*text).number() : std::nullopt;
  if (!speed || *speed <= 0) return rdma_speed(files_, folders_.sys, network);
  return static_cast<double>(*speed) * kMegabit;
}

}  // namespace hone::observe::system
