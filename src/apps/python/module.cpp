// The native module `_native` of the Python package: arguments in, JSON text out. What it means in Python is said in
// python/hone; its stubs are python/hone/_native.pyi.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include "analyze/compare.h"
#include "apps/explanation.h"
#include "apps/python/interruptible.h"
#include "core/statistics.h"
#include "core/version.h"
#include "lab/gate/paired.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/text.h"
#include "report/write.h"

namespace nb = nanobind;

namespace hone::apps {
namespace {

constexpr std::chrono::seconds kWaitAtExit{10};

// JSON, the text that the command prints, the path of the page (empty: none was written).
using Told = std::tuple<std::string, std::string, std::string>;

GivenUpWork& given_up_work() {
  static GivenUpWork* const work = new GivenUpWork;  // never taken down: threads may outlive the module
  return *work;
}

const char* code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kCancelled:
      return "cancelled";
  }
  return "invalid_argument";  // the command line's own
}

// hone.Error, which the package has defined before it calls anything here.
[[noreturn]] void raise(const Error& error) {
  const nb::object type = nb::module_::import_("hone").attr("Error");
  const nb::object exception = type(report::clean_utf8(error.message), code_name(error.code));
  PyErr_SetObject(type.ptr(), exception.ptr());
  throw nb::python_error();
}

template <typename Work>
Told told_or_raised(Work work) {
  Result<Told> result = run_interruptibly<Told>(std::move(work), given_up_work());
  if (!result.ok()) raise(result.error());
  return *std::move(result);
}

Progress while_wanted(const KeepGoing& keep_going) {
  return [&keep_going](double, const std::string&) { return keep_going(); };
}

Told explain(ExplanationRequest request, const std::string& command) {
  return told_or_raised([request = std::move(request), command](const KeepGoing& keep_going) -> Result<Told> {
    HONE_CHECK(check_out_of(request));
    HONE_ASSIGN(const Explanation explanation, explain_recordings(request, while_wanted(keep_going)));
    std::string page;
    if (!request.out.empty() && keep_going()) {
      HONE_ASSIGN(page, write_explained_run(request, explanation, command));
    }
    return Told{report::explain_json(explanation.analysis),
                report::explain_terminal(explanation.analysis, {}), page};
  });
}

Told compare(const std::string& a, const std::string& b, const std::string& out) {
  return told_or_raised([=](const KeepGoing& keep_going) -> Result<Told> {
    if (!out.empty()) HONE_CHECK(check_out(out));
    ExplanationRequest one_of_two;
    one_of_two.paths = {a};
    HONE_ASSIGN(const Explanation first, explain_recordings(one_of_two, while_wanted(keep_going)));
    one_of_two.paths = {b};
    HONE_ASSIGN(const Explanation second, explain_recordings(one_of_two, while_wanted(keep_going)));
    const analyze::Comparison comparison = analyze::compare(first.analysis, second.analysis);
    std::string page;
    if (!out.empty() && keep_going()) {
      HONE_ASSIGN(page, report::write_comparison(out, comparison));
    }
    return Told{report::compare_json(comparison), report::compare_terminal(comparison, {}), page};
  });
}

// What the functions raise ends the comparison and goes through to the caller.
std::string paired(nb::callable a, nb::callable b, double level, double budget_s, int min_blocks,
                   int max_blocks, double min_effect, uint64_t seed) {
  lab::PairedOptions options;
  options.level = level;
  options.budget_ns = static_cast<int64_t>(budget_s * 1e9);
  options.min_blocks = min_blocks;
  options.max_blocks = max_blocks;
  options.min_effect = min_effect;
  options.seed = seed;
  const auto workload = [](const nb::callable& function) -> lab::Workload {
    return [&function] {
      function();
      return Status();
    };
  };
  const Result<lab::PairedResult> result = lab::run_paired(workload(a), workload(b), options);
  if (!result.ok()) raise(result.error());
  return nlohmann::json{
      {"ratio", {{"median", result->ratio.median}, {"low", result->ratio.low}, {"high", result->ratio.high}}},
      {"change", lab::speed_change_name(result->change)},
      {"level", result->level},
      {"blocks", result->block_ratios.size()},
      {"a_ms", result->a_ms},
      {"b_ms", result->b_ms},
      {"stopped", result->stopped},
      {"busy", result->contention.disturbed()}}
      .dump();
}

std::tuple<double, double, double> median_of(const std::vector<double>& values, double level) {
  const Interval interval = median_interval(values, level);
  return {interval.median, interval.low, interval.high};
}

}  // namespace
}  // namespace hone::apps

NB_MODULE(_native, module) {
  using namespace hone;
  module.def(
      "explain",
      [](std::vector<std::string> paths, int top, std::string roofs, std::string out,
         std::optional<int32_t> first, std::optional<int32_t> last, std::optional<double> from_ms,
         std::optional<double> to_ms, const std::string& command) {
        return apps::explain(
            {std::move(paths), std::move(out), std::move(roofs), top, {first, last, from_ms, to_ms}},
            command);
      },
      nb::arg("paths"), nb::arg("top"), nb::arg("roofs"), nb::arg("out"), nb::arg("first").none(),
      nb::arg("last").none(), nb::arg("from_ms").none(), nb::arg("to_ms").none(), nb::arg("command"));
  module.def("compare", &apps::compare, nb::arg("a"), nb::arg("b"), nb::arg("out"));
  module.def("paired", &apps::paired, nb::arg("a"), nb::arg("b"), nb::arg("level"), nb::arg("budget_s"),
             nb::arg("min_blocks"), nb::arg("max_blocks"), nb::arg("min_effect"), nb::arg("seed"));
  module.def("median_interval", &apps::median_of, nb::arg("values"), nb::arg("level"));
  module.attr("version") = std::string(kVersion);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    const nb::gil_scoped_release release;
    apps::given_up_work().wait(apps::kWaitAtExit);
  }));
}
