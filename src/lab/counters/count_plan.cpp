#include "lab/counters/count_plan.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>

#include "cuda/driver.h"
#include "cuda/library.h"
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "core/file.h"
#include "core/npy/npy.h"
#include "lab/saved_plan.h"
#include "observe/control.h"
#include "observe/session/session.h"
#include "trace/import/import.h"
#include "trace/import/kernel_symbol.h"
#include "trace/link/names.h"

namespace hone::lab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlan = "counted.plan";
constexpr const char* kRecorded = "recorded";
constexpr const char* kLog = "bench.log";
constexpr double kEndPatience_s = 0.5;
// The run is ended once its kernels are counted: it must only not end by itself before.
constexpr const char* kBenchBudget_s = "600";
constexpr std::size_t kMostInputBytes = std::size_t{1} << 30;  // of one, to be written for the process

struct LogFile {
  explicit LogFile(const fs::path& path)
      : descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644)) {}
  ~LogFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  int descriptor;
};

std::string readable(const std::string& symbol) {
  std::string name = trace::demangled(symbol);
  return name.empty() ? symbol : name;
}

double median_ns(std::vector<int64_t> ns) {
  std::ranges::sort(ns);
  return ns.empty() ? 0 : static_cast<double>(ns[ns.size() / 2]);
}

// The inputs as files, so that data decide as they did in the lab. States are left out: they are large, and what is in them
// matters little.
std::vector<std::string> write_inputs(const graph::Graph& graph, std::span<const Tensor> inputs,
                                      const fs::path& folder) {
  std::set<graph::ValueId> states;
  for (const graph::StatePair& pair : graph.states()) states.insert(graph.state_input(pair));
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i) {
    const std::string& name = graph.value(graph.inputs()[i]).name;
    if (states.contains(graph.inputs()[i]) || inputs[i].bytes() > kMostInputBytes ||
        name.find('=') != name.npos)
      continue;
    const fs::path file = folder / fmt::format("input_{}.npy", i);
    if (!write_npy(file, inputs[i]).ok()) continue;  // of a type that such files have not: made up anew
    arguments.insert(arguments.end(), {"--input", fmt::format("{}={}", name, file.string())});
  }
  return arguments;
}

// What the process said last: where it failed, why.
std::string last_line(const fs::path& path) {
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return {};
  const std::size_t end = text->find_last_not_of("\r\n ");
  if (end == std::string::npos) return {};
  const std::size_t before = text->find_last_of("\r\n", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text->substr(begin, end + 1 - begin);
}

std::string how_it_ended(int status, const fs::path& log) {
  const std::string said = last_line(log);
  return fmt::format("the process that ran the plan ended with exit status {}{}{}", status,
                     said.empty() ? "" : ": ", said);
}

// The recorder looks for CUPTI beside what a program has loaded by then, which in ours is little: it is told of ours.
void tell_cupti(std::vector<std::pair<std::string, std::string>>& environment) {
  const auto is_said = [](const auto& variable) { return variable.first == observe::kCuptiVariable; };
  if (std::getenv(observe::kCuptiVariable) != nullptr || std::ranges::any_of(environment, is_said)) return;
  const auto driver = cuda::Driver::load();
  const auto found = cuda::find_library(cuda::cupti_name(), cuda::LibraryPlaces::of_this_process(),
                                        driver.ok() ? (*driver)->version() : 0);
  if (found.ok()) environment.emplace_back(observe::kCuptiVariable, found->path);
}

std::string why_nothing(const observe::Recorded& recorded, const std::optional<int>& ended,
                        const fs::path& log) {
  if (!recorded.notes_of_program.empty())
    return fmt::format("{}", fmt::join(recorded.notes_of_program, "; "));
  if (ended) return how_it_ended(*ended, log);
  if (!recorded.not_counted.empty()) return fmt::format("{}", fmt::join(recorded.not_counted, "; "));
  if (!recorded.notes.empty()) return fmt::format("{}", fmt::join(recorded.notes, "; "));
  if (!recorded.any_device) return "the process that ran the plan did not come to use the device in time";
  return "none of the plan's kernels was launched by the process that ran it, by its name";
}

}  // namespace

Result<SavedForCounting> save_for_counting(const runtime::Plan& plan, const runtime::Provider& provider,
                                           std::span<const Tensor> inputs, const std::string& name,
                                           const CountPlanOptions& options) {
  if (plan.marked_kernels().empty()) {
    const std::string why = plan.mark_times().why_events;
    return not_found("no records of its replays name its kernels" + (why.empty() ? "" : ": " + why));
  }
  SavedForCounting saved;
  const fs::path folder = options.folder / name;
  HONE_CHECK(make_folder(folder));
  saved.plan = folder / kPlan;
  HONE_CHECK(save_plan(plan, provider, name, {}, saved.plan));
  saved.arguments = write_inputs(plan.graph(), inputs, folder);
  for (const runtime::MarkedKernel& kernel : plan.marked_kernels()) {
    saved.symbols.insert(kernel.name);
    saved.operators.push_back(
        {kernel.op, readable(kernel.name), kernel.grid, kernel.block, median_ns(kernel.ns)});
  }
  return saved;
}

Result<PlanCounters> count_plan(const SavedForCounting& saved, double most_s, const CountPlanOptions& options,
                                const std::function<bool()>& keep_going) {
  const fs::path folder = saved.plan.parent_path(), log_path = folder / kLog;
  observe::SessionOptions run;
  run.folder = folder / kRecorded;
  HONE_CHECK(make_folder(run.folder));
  run.command = options.program;
  run.command.insert(run.command.end(), {"bench", saved.plan.string(), "--budget", kBenchBudget_s});
  run.command.insert(run.command.end(), saved.arguments.begin(), saved.arguments.end());
  run.recorder = options.recorder;
  run.environment = options.environment;
  tell_cupti(run.environment);
  run.environment.emplace_back("HONE_ONE_BY_ONE", "1");
  run.blocked_signals = options.blocked_signals;
  const LogFile log(log_path);
  run.standard_output = run.standard_error = log.descriptor;
  run.stacks = run.sampling = false;
  run.counters.kernels = options.kernels;
  run.counters.symbols = saved.symbols;
  run.counters.most_s = most_s;
  run.keep_going = keep_going;
  const fs::path recorded_folder = run.folder;
  HONE_ASSIGN(observe::Session session, observe::Session::start(std::move(run)));
  const observe::Recorded recorded = session.count();
  const std::optional<int> ended = session.exit_status();
  session.end_program(kEndPatience_s);
  (void)session.wait();

  PlanCounters counted;
  const std::array<fs::path, 1> paths = {recorded_folder};
  Result<trace::Trace> read = trace::import_trace(paths);
  if (!read.ok() || read->counters.empty()) {
    if (!keep_going()) return Error{ErrorCode::kCancelled, "ended before anything was counted"};
    return not_found(why_nothing(recorded, ended, log_path));
  }
  counted.recording = *std::move(read);
  counted.missing = recorded.notes_of_program;
  counted.missing.insert(counted.missing.end(), recorded.not_counted.begin(), recorded.not_counted.end());
  if (ended) counted.missing.push_back(how_it_ended(*ended, log_path));
  return counted;
}

void take_counters(const trace::Trace& recording, trace::Trace& into) {
  const auto text = [&](trace::StringId id) { return into.strings.intern(recording.strings.text(id)); };
  for (trace::KernelCounters row : recording.counters) {
    row.rank = 0;
    row.kernel = text(row.kernel);
    for (trace::CounterValue& each : row.values) each.metric = text(each.metric);
    trace::order_values(row);
    trace::link::recognise_kernel(into, row.kernel);
    into.counters.push_back(std::move(row));
  }
  for (trace::DeviceInfo device : recording.meta.devices) {
    device.rank = 0;
    into.meta.devices.push_back(std::move(device));
  }
}

}  // namespace hone::lab
