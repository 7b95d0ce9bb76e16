// FLOPs of operators against torch.utils.flop_counter on the same steps (tests/traces/flops, record.py).
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::trace {
namespace {

namespace fs = std::filesystem;

fs::path flops_file(const std::string& file) { return source_folder() / "tests/traces/flops" / file; }

// FLOPs of all executions, by kind: "aten.addmm", as PyTorch's counter names them.
std::map<std::string, double> flops_by_kind(const std::string& name) {
  const fs::path files[] = {flops_file(name + ".json.gz")};
  auto imported = import_trace(files);
  EXPECT_TRUE(imported.ok()) << name;
  if (!imported.ok()) return {};
  Trace trace = *std::move(imported);
  EXPECT_TRUE(link_trace(trace).ok()) << name;
  std::map<std::string, double> flops;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.category[row] != Category::kOperator || !trace.spans.op[row].valid()) continue;
    const Operator& op = trace.operators[trace.spans.op[row].index];
    if (op.kind.starts_with("aten::")) flops["aten." + op.kind.substr(6)] += op.flops;
  }
  return flops;
}

TEST(Flops, AreThoseOfPyTorchsCounter) {
  for (const std::string name : {"gpt", "encoder", "attention_by_hand", "unet", "resnet", "convolutions"}) {
    std::ifstream file(flops_file(name + ".flops.json"));
    const nlohmann::json table = nlohmann::json::parse(file);
    std::map<std::string, double> flops = flops_by_kind(name);
    ASSERT_FALSE(table["flops"].empty());
    for (const auto& [kind, counted] : table["flops"].items()) {
      double ours = flops[kind];
      // The counter leaves out the gradient of the bias.
      if (kind == "aten.convolution_backward") ours -= table["bias_gradient_additions"].get<double>();
      // The counter takes all n² pairs of causal attention for work; n(n+1)/2 are.
      if (table.contains("causal") && kind.find("attention") != std::string::npos) {
        const double n = table["causal"].get<double>();
        ours *= 2 * n / (n + 1);
      }
      EXPECT_EQ(ours, counted.get<double>()) << name << ": " << kind;
    }
  }
}

}  // namespace
}  // namespace hone::trace
