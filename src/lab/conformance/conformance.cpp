#include "lab/conformance/conformance.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "graph/op_table.h"
#include "graph/random_seeds.h"
#include "lab/experiment/target.h"
#include "model/conformance/cases.h"
#include "model/onnx/reader.h"
#include "passes/pipeline.h"
#include "runtime/execute.h"
#include "runtime/interpreter.h"

namespace hone::lab {
namespace {

bool close(double got, double wanted, double rtol, double atol) {
  if (std::isnan(wanted)) return std::isnan(got);
  if (std::isinf(wanted) || std::isinf(got)) return got == wanted;
  return std::abs(got - wanted) <= atol + rtol * std::abs(wanted);
}

constexpr uint64_t kConformanceSeed = 1;  // of random operators that have none

// Whether some node, of a graph that has its seeds, draws random numbers: its values cannot be compared with
// another generator's, only its types.
bool draws_random_numbers(const graph::Graph& seeded) {
  return std::any_of(seeded.nodes().begin(), seeded.nodes().end(), [](const graph::Node& node) {
    const graph::OpEntry* entry = graph::find_entry(node);
    return entry != nullptr && entry->op_class == graph::OpClass::kRandom && node.op != "Dropout";
  });
}

// Empty if equal within the tolerances, as numpy.testing.assert_allclose judges; otherwise what differs.
std::string difference(const Tensor& got, const Tensor& wanted, const model::ConformanceCase& test) {
  if (got.dtype() != wanted.dtype() || got.shape() != wanted.shape()) {
    return fmt::format("is {}{}, expected {}{}", dtype_name(got.dtype()), shape_text(got.shape()),
                       dtype_name(wanted.dtype()), shape_text(wanted.shape()));
  }
  if (got.dtype() == DType::kString) return got.strings() == wanted.strings() ? "" : "has other strings";
  const bool complex = is_complex(got.dtype());
  const int64_t count = got.size() * (complex ? 2 : 1);
  auto element = [&](const Tensor& tensor, int64_t i) -> double {
    if (tensor.dtype() == DType::kC64) return static_cast<const float*>(tensor.data())[i];
    if (tensor.dtype() == DType::kC128) return static_cast<const double*>(tensor.data())[i];
    return tensor.at(i);
  };
  for (int64_t i = 0; i < count; ++i) {
    const double a = element(got, i);
    const double b = element(wanted, i);
    if (!close(a, b, test.rtol, test.atol)) return fmt::format("element {} is {}, expected {}", i, a, b);
  }
  return {};
}

// The light models are whole networks: rounding adds up over many layers, so they are judged by relative L2
// norm.
std::string difference_in_norm(const Tensor& got, const Tensor& wanted) {
  if (got.shape() != wanted.shape()) return "has another shape";
  double error = 0;
  double norm = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    error += (got.at(i) - wanted.at(i)) * (got.at(i) - wanted.at(i));
    norm += wanted.at(i) * wanted.at(i);
  }
  const double relative = std::sqrt(error) / std::max(std::sqrt(norm), 1e-30);
  return relative <= 1e-3 ? "" : fmt::format("relative L2 error {:.2e}, limit 1e-3", relative);
}

Result<graph::Graph> optimised(graph::Graph graph, const runtime::Provider& provider) {
  const passes::PassContext context{runtime::interpret_node, nullptr, pass_target(provider)};
  HONE_ASSIGN(passes::PipelineResult result, passes::run_pipeline(std::move(graph), context));
  return std::move(result.graph);
}

ConformanceTest failure(const std::string& name, const Error& error) {
  const bool unsupported = error.code == ErrorCode::kUnsupported;
  return {name, unsupported ? ConformanceStatus::kUnsupported : ConformanceStatus::kFailed, error.message};
}

Result<std::string> run_data_set(const model::ConformanceCase& test, std::size_t index,
                                 const graph::Graph& graph, const graph::Graph& runnable, bool random,
                                 const runtime::Provider& provider, std::string& how) {
  HONE_ASSIGN(const model::ConformanceData data, model::load_conformance_data(test, index, graph));
  runtime::PlanOptions options;
  options.autotune = false;
  HONE_ASSIGN(const runtime::Execution execution, runtime::execute(runnable, provider, data.inputs, options));
  how = random ? execution.how + "; draws random numbers: types and shapes compared, not values"
               : execution.how;
  for (std::size_t i = 0; i < data.outputs.size(); ++i) {
    const std::string& name = graph.value(graph.outputs()[i]).name;
    const Tensor& got = execution.outputs[i];
    const Tensor& wanted = data.outputs[i];
    if (random) {
      if (got.dtype() != wanted.dtype() || got.shape() != wanted.shape())
        return fmt::format("output '{}' has another type", name);
      continue;
    }
    const std::string what = test.light ? difference_in_norm(got, wanted) : difference(got, wanted, test);
    if (!what.empty()) return fmt::format("output '{}' {} ({})", name, what, how);
  }
  return std::string();
}

ConformanceTest run_case(const model::ConformanceCase& test, const runtime::Provider& provider,
                         const ConformanceOptions& options) {
  auto graph = model::read_onnx(test.model, {.operators = options.operators});
  if (!graph.ok()) return failure(test.name, graph.error());
  auto seeded = graph::give_seeds(*graph, kConformanceSeed);
  if (!seeded.ok()) return failure(test.name, seeded.error());
  const bool random = draws_random_numbers(*seeded);
  graph::Graph runnable = *std::move(seeded);
  if (options.optimise) {
    auto better = optimised(runnable, provider);
    if (!better.ok()) return failure(test.name, better.error());
    runnable = std::move(*better);
  }
  std::string how;
  for (std::size_t i = 0; i < test.data_sets.size(); ++i) {
    auto wrong = run_data_set(test, i, *graph, runnable, random, provider, how);
    if (!wrong.ok()) return failure(test.name, wrong.error());
    if (!wrong->empty()) return {test.name, ConformanceStatus::kFailed, *wrong};
  }
  return {test.name, ConformanceStatus::kPassed, how};
}

std::string_view status_name(ConformanceStatus status) {
  switch (status) {
    case ConformanceStatus::kPassed:
      return "passed";
    case ConformanceStatus::kFailed:
      return "failed";
    case ConformanceStatus::kUnsupported:
      return "unsupported";
  }
  return "failed";
}

}  // namespace

Result<ConformanceReport> run_conformance(const std::filesystem::path& folder,
                                          const runtime::Provider& provider,
                                          const ConformanceOptions& options) {
  HONE_ASSIGN(std::vector<model::ConformanceCase> cases, model::find_conformance_cases(folder));
  std::erase_if(cases, [&](const auto& test) { return test.name.find(options.filter) == std::string::npos; });
  if (cases.empty())
    return not_found(fmt::format("{}: no test's name contains '{}'", folder.string(), options.filter));
  ConformanceReport report;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (options.progress &&
        !options.progress(static_cast<double>(i) / static_cast<double>(cases.size()), cases[i].name)) {
      return Error{ErrorCode::kCancelled, fmt::format("interrupted after {} of {} tests", i, cases.size())};
    }
    ConformanceTest test = run_case(cases[i], provider, options);
    ++(test.status == ConformanceStatus::kPassed   ? report.passed
       : test.status == ConformanceStatus::kFailed ? report.failed
                                                   : report.unsupported);
    report.tests.push_back(std::move(test));
  }
  return report;
}

std::string conformance_json(const ConformanceReport& report) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["passed"] = report.passed;
  json["failed"] = report.failed;
  json["unsupported"] = report.unsupported;
  json["tests"] = nlohmann::ordered_json::array();
  for (const ConformanceTest& test : report.tests) {
    json["tests"].push_back(
        {{"name", test.name}, {"status", status_name(test.status)}, {"detail", test.detail}});
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace hone::lab
