#include "model/conformance/cases.h"

#include <algorithm>

#include <fmt/core.h>

#include "model/onnx/tensor_file.h"

namespace hone::model {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    entries.push_back(at->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

ConformanceCase folder_case(const fs::path& folder) {
  ConformanceCase test;
  test.name = (folder.parent_path().filename() / folder.filename()).string();
  test.model = folder / "model.onnx";
  for (const fs::path& entry : sorted_entries(folder))
    if (fs::is_directory(entry) && entry.filename().string().starts_with("test_data_set_"))
      test.data_sets.push_back(entry);
  // An inverse transform of f32 data expects rounding noise of ±2e-7 where the exact result is 0.
  if (test.name.find("test_dft_inverse") != std::string::npos) test.atol = 1e-6;
  return test;
}

fs::path light_output(const fs::path& model, std::size_t index) {
  return model.parent_path() / fmt::format("{}_output_{}.pb", model.stem().string(), index);
}

ConformanceCase light_case(const fs::path& model) {
  ConformanceCase test;
  test.name = (model.parent_path().filename() / model.stem()).string();
  test.model = model;
  test.data_sets = {model.parent_path()};
  test.light = true;
  // The package's own limit for this one (onnx/backend/test/data/real/test_densenet121/data.json).
  if (model.stem() == "light_densenet121") test.rtol = 2e-3;
  return test;
}

void collect(const fs::path& folder, int depth, std::vector<ConformanceCase>& found) {
  constexpr int kDeepest = 3;
  if (fs::exists(folder / "model.onnx")) {
    found.push_back(folder_case(folder));
    return;
  }
  for (const fs::path& entry : sorted_entries(folder)) {
    if (fs::is_directory(entry) && depth < kDeepest) collect(entry, depth + 1, found);
    if (entry.extension() == ".onnx" && fs::exists(light_output(entry, 0)))
      found.push_back(light_case(entry));
  }
}

// input_0.pb, input_1.pb, … as far as they go.
Result<std::vector<Tensor>> load_numbered(const fs::path& folder, std::string_view stem) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", stem, i);
    if (!fs::exists(path)) return tensors;
    HONE_ASSIGN(Tensor tensor, read_tensor_file(path));
    tensors.push_back(std::move(tensor));
  }
}

Result<Tensor> ramp(const graph::Value& input) {
  if (input.type.dtype != DType::kF32 || !input.type.has_rank())
    return unsupported(
        fmt::format("unsupported: generated input '{}' of type {}", input.name, input.type.text()));
  Shape shape;
  for (const graph::Dim& dim : *input.type.dims) shape.push_back(dim.known() ? dim.extent() : 1);
  Tensor tensor(DType::kF32, shape);
  const auto count = static_cast<double>(tensor.size());
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(static_cast<double>(i) / count);
  return tensor;
}

Result<ConformanceData> load_light(const ConformanceCase& test, const graph::Graph& graph) {
  ConformanceData data;
  for (const graph::ValueId input : graph.inputs()) {
    HONE_ASSIGN(Tensor tensor, ramp(graph.value(input)));
    data.inputs.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    HONE_ASSIGN(Tensor tensor, read_tensor_file(light_output(test.model, i)));
    data.outputs.push_back(std::move(tensor));
  }
  return data;
}

}  // namespace

Result<std::vector<ConformanceCase>> find_conformance_cases(const fs::path& folder) {
  if (!fs::is_directory(folder)) return not_found(folder.string() + ": there is no such folder");
  std::vector<ConformanceCase> found;
  collect(fs::absolute(folder).lexically_normal(), 0, found);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  if (found.empty())
    return not_found(
        folder.string() +
        ": no tests here; give a folder laid out like onnx/backend/test/data of the onnx package");
  return found;
}

Result<ConformanceData> load_conformance_data(const ConformanceCase& test, std::size_t index,
                                              const graph::Graph& graph) {
  if (index >= test.data_sets.size()) return invalid(fmt::format("{} has no data set {}", test.name, index));
  if (test.light) return load_light(test, graph);
  ConformanceData data;
  HONE_ASSIGN(data.inputs, load_numbered(test.data_sets[index], "input"));
  HONE_ASSIGN(data.outputs, load_numbered(test.data_sets[index], "output"));
  return data;
}

}  // namespace hone::model
