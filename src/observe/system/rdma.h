// InfiniBand and RoCE ports: what programs send between machines past the kernel's network (NCCL, MPI) is not in
// /proc/net/dev.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/system/devices.h"
#include "observe/system/text_fields.h"

namespace hone::observe::system {

// The ports of /sys/class/infiniband, named "mlx5_0:1"; those that have never carried anything included.
std::vector<NetworkCounters> read_rdma_ports(SmallFiles& files, const std::string& sys);
// "400 Gb/sec (4X NDR)" → bytes a second.
std::optional<double> parse_rdma_rate(std::string_view text);
// Of a port of that name.
std::optional<double> rdma_speed(SmallFiles& files, const std::string& sys, const std::string& name);

}  // namespace hone::observe::system
