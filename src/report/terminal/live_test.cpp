// The live picture as people see it: never wider or higher than the terminal, nothing unknown shown as 0, the
// colours of targets.
#include "report/live.h"

#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/terminal/live_parts.h"
#include "report/text.h"

namespace hone::report {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using trace::live::ClockReason;
using trace::live::GpuUse;
using trace::live::Known;
using trace::live::MachineUse;
using trace::live::ProcessUse;

constexpr double kGib = 1024.0 * 1024 * 1024;

GpuUse training_gpu(int index) {
  GpuUse gpu;
  gpu.index = index;
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.busy_share = 0.97;
  gpu.tensor_share = 0.25;
  gpu.dram_share = 0.35;
  gpu.sm_share = 0.93;
  gpu.fp64_share = 0;
  gpu.memory_used_bytes = 54.2 * kGib;
  gpu.memory_total_bytes = 79.6 * kGib;
  gpu.power_w = 612;
  gpu.power_limit_w = 700;
  gpu.temperature_c = 67;
  gpu.sm_clock_mhz = 1755;
  gpu.sm_clock_max_mhz = 1980;
  gpu.clock_reasons = {{ClockReason::kPowerCap}};
  gpu.held_by_power_share = 0.84;
  gpu.pcie = {0.3e9, 1.2e9};
  gpu.has_processes = true;
  return gpu;
}

ProcessUse process(int64_t pid, std::string command, Known cpus) {
  ProcessUse row;
  row.pid = pid;
  row.command = std::move(command);
  row.cpus = cpus;
  row.memory_bytes = 1.5 * kGib;
  row.state = 'R';
  return row;
}

MachineUse training(int gpus = 1) {
  MachineUse use;
  use.unix_ns = 1'795'393'800'000'000'000;
  use.interval_s = 1;
  use.host.name = "node-17";
  use.host.cpus = 16;
  use.host.busy_share = 0.21;
  use.host.user_share = 0.18;
  use.host.system_share = 0.03;
  for (int i = 0; i < 16; ++i) use.host.cpu_busy.emplace_back(i, i == 3 ? 1.0 : 0.0);
  use.host.runnable = 5;
  use.host.load = 3.25;
  use.host.cpu_pressure.some_share = 0.02;
  use.host.memory_total_bytes = 62.8 * kGib;
  use.host.memory_available_bytes = 50.5 * kGib;
  use.host.disks = {{"nvme0n1", {30e6, 1.2e6}, 0.12, 0.4}};
  use.host.networks = {{"eth0", {0.3e6, 1.2e6}, 1.25e9, 0}};
  for (int i = 0; i < gpus; ++i) use.gpus.push_back(training_gpu(i));
  use.driver = gpus > 0 ? "580.159.04" : "";
  use.processes = {process(100, "/usr/sbin/sshd", 0), process(4242, "python train.py --lr 3e-4", 1.02)};
  use.processes[1].gpus = {0};
  use.processes[1].gpu_memory_bytes = 50 * kGib;
  use.processes[1].gpu_share = 0.85;
  return use;
}

LiveView view_of(std::size_t width, std::size_t height = 0, bool colour = false) {
  LiveView view;
  view.style = {width, colour};
  view.height = height;
  return view;
}

std::string text_of(const MachineUse& use, const LiveView& view) {
  LiveHistory history;
  history.add(use);
  return live_text(use, history, view);
}

// Without what only colours.
std::string plain(std::string text) {
  for (std::size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b', at))
    text.erase(at, text.find('m', at) + 1 - at);
  return text;
}

TEST(LivePicture, FitsEveryTerminal) {
  LiveHistory history;
  MachineUse use = training(8);
  use.gpus[5].divided = true;
  use.processes[1].command = std::string(500, 'x');
  use.host.name = std::string(90, 'n');
  use.notes = {"GPU 0: not known: tensor cores, memory bandwidth, pipes: this GPU has no GPM counters"};
  history.add(use);
  for (const std::size_t width : {20, 60, 79, 80, 100, 120, 200, 300})
    for (const std::size_t height : {0, 5, 24, 50})
      for (const bool help : {false, true}) {
        LiveView view = view_of(width, height, true);
        view.help = help;
        const std::vector<std::string> lines = live_lines(use, history, view);
        EXPECT_LE(lines.size(), height > 0 ? height : 1000);
        for (const std::string& line : lines) EXPECT_LE(columns(plain(line)), width) << line;
      }
}

TEST(LivePicture, ShowsFiguresAgainstTheirTargets) {
  const std::string text = text_of(training(), view_of(100));
  EXPECT_THAT(text, HasSubstr("node-17"));
  EXPECT_THAT(text, HasSubstr("97 %  ≥ 95 %"));
  EXPECT_THAT(text, HasSubstr("25 %  ≥ 40 %"));
  EXPECT_THAT(text, HasSubstr("35 %  ≥ 60 %"));
  EXPECT_THAT(text, HasSubstr("54.2 of 79.6 GiB"));
  EXPECT_THAT(text, HasSubstr("612 of 700 W"));
  EXPECT_THAT(text, HasSubstr("1755 of 1980 MHz"));
  EXPECT_THAT(text, HasSubstr("67 °C"));
  EXPECT_THAT(text, HasSubstr("  SMs with work 93 %, FP64 0 %\n"));  // what is not known is left out
  EXPECT_THAT(text, HasSubstr("at the power limit; held back by power 84 % of the time"));
  EXPECT_THAT(text, HasSubstr("PCIe 1.20 GB/s in, 300 MB/s out"));
  EXPECT_THAT(text, HasSubstr("python train.py --lr 3e-4"));
}

TEST(LivePicture, ColoursAreThoseOfTheReport) {
  const std::string text = text_of(training(), view_of(100, 0, true));
  EXPECT_THAT(text, HasSubstr("\x1b[32m97 %"));  // reached
  EXPECT_THAT(text, HasSubstr("\x1b[33m25 %"));  // missed
  EXPECT_THAT(text_of(training(), view_of(100)), Not(HasSubstr("\x1b")));
  MachineUse idle = training();
  idle.gpus[0].busy_share = 0;
  idle.gpus[0].has_processes = false;
  EXPECT_THAT(text_of(idle, view_of(100)), Not(HasSubstr("≥")));  // misses nothing
}

TEST(LivePicture, WhatIsNotKnownIsADash) {
  MachineUse use;
  use.host.cpus = 2;
  use.gpus.emplace_back();
  use.processes.push_back(process(1, "init", std::nullopt));
  use.processes[0].memory_bytes.reset();
  const std::string text = text_of(use, view_of(100));
  EXPECT_THAT(text, Not(HasSubstr("0 %")));
  EXPECT_THAT(text, Not(HasSubstr("0 B")));
  EXPECT_THAT(text, HasSubstr("–"));
}

TEST(LivePicture, EightGpusAreALineEach) {
  const std::string text = text_of(training(8), view_of(120));
  EXPECT_THAT(text, HasSubstr("GPU 7"));
  EXPECT_THAT(text, HasSubstr("54.2 of 79.6 GiB"));
  std::istringstream lines(text);
  int gpus = 0;
  for (std::string line; std::getline(lines, line);)
    gpus += line.starts_with("GPU ") && line[4] != ' ' ? 1 : 0;
  EXPECT_EQ(gpus, 8);
  // More than the screen has room for are counted.
  EXPECT_THAT(text_of(training(64), view_of(80, 24)), HasSubstr("and 55 more"));
}

TEST(LivePicture, ControlCharactersOfCommandsDoNotReachTheTerminal) {
  MachineUse use = training();
  use.processes[0].command = "evil\x1b[2J\nname";
  EXPECT_THAT(text_of(use, view_of(100)), Not(HasSubstr("\x1b")));
}

TEST(LivePicture, SaysWhatCannotBeHad) {
  MachineUse use = training(0);
  use.notes = {"GPUs: the NVIDIA driver's library is not here"};
  EXPECT_THAT(text_of(use, view_of(80)), HasSubstr("note: GPUs: the NVIDIA driver's library is not here"));
  EXPECT_THAT(text_of(use, view_of(80)), Not(HasSubstr("GPU mem")));
}

TEST(ProcessOrders, PutFirstWhatIsAskedFor) {
  const auto order = [](ProcessOrder by) {
    std::vector<ProcessUse> rows = {process(3, "a", 2), process(1, "b", std::nullopt), process(2, "c", 1)};
    rows[0].memory_bytes = 5;
    rows[1].gpus = {0};
    rows[2].disk.sent = 7;
    order_processes(rows, by);
    std::string names;
    for (const ProcessUse& row : rows) names += row.command;
    return names;
  };
  EXPECT_EQ(order(ProcessOrder::kGpu), "bac");
  EXPECT_EQ(order(ProcessOrder::kCpu), "acb");
  EXPECT_EQ(order(ProcessOrder::kMemory), "cba");
  EXPECT_EQ(order(ProcessOrder::kDisk), "cab");
  EXPECT_EQ(order(ProcessOrder::kNumber), "bca");
}

TEST(Sparkline, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(terminal::sparkline({0.0, 0.5, std::nullopt, 1.0, 7.0}), "▁▅ ██");
}

TEST(LiveHistory, IsTheLastMinute) {
  LiveHistory history;
  const auto busy = [](const MachineUse& use) { return use.host.busy_share; };
  for (int second = 1; second <= 90; ++second) {
    MachineUse use;
    use.unix_ns = second * 1'000'000'000LL;
    use.interval_s = 1;
    use.host.busy_share = second <= 60 ? 0.0 : 1.0;
    history.add(use);
  }
  // The minute from 30 s to 90 s.
  EXPECT_THAT(history.series(4, busy), ElementsAre(0.0, 0.0, 1.0, 1.0));
  EXPECT_THAT(history.series(3, busy), ElementsAre(0.0, Optional(DoubleNear(0.5, 1e-9)), 1.0));
  EXPECT_EQ(history.series(60, busy)[29], 0.0);
  EXPECT_EQ(history.series(60, busy)[30], 1.0);
}

TEST(LiveHistory, LeavesOutTimesOfWhichNothingIsKnown) {
  LiveHistory history;
  MachineUse use;
  use.unix_ns = 100'000'000'000;
  use.interval_s = 30;
  use.host.busy_share = 0.5;
  history.add(use);
  const auto series = history.series(4, [](const MachineUse& row) { return row.host.busy_share; });
  EXPECT_THAT(series, ElementsAre(std::nullopt, std::nullopt, 0.5, 0.5));
}

TEST(LiveJson, HasEveryFigureAndNullForWhatIsNotKnown) {
  const auto json = nlohmann::json::parse(live_json(training(), false));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["gpus"][0]["busy_share"], 0.97);
  EXPECT_EQ(json["gpus"][0]["clock_reasons"][0], "power_cap");
  EXPECT_TRUE(json["gpus"][0]["nvlink_sent_bytes_per_s"].is_null());
  EXPECT_EQ(json["gpus"][0]["targets"][0]["name"], "gpu_busy_share");
  EXPECT_EQ(json["gpus"][0]["targets"][0]["reached"], true);
  EXPECT_EQ(json["host"]["cores"][3]["busy_share"], 1.0);
  EXPECT_TRUE(json["host"]["in_line"].is_null());
  EXPECT_EQ(json["processes"].size(), 2u);
  EXPECT_EQ(json["processes"][1]["command"], "python train.py --lr 3e-4");
}

TEST(LiveJson, FitsALineWhereItIsOneOfMany) {
  MachineUse use = training();
  use.processes[0].command = "no \xff utf-8\n";
  EXPECT_EQ(live_json(use, true).find('\n'), std::string::npos);
  EXPECT_EQ(live_json(use, false).back(), '\n');
  EXPECT_EQ(nlohmann::json::parse(live_json(use, true)), nlohmann::json::parse(live_json(use, false)));
}

}  // namespace
}  // namespace hone::report
