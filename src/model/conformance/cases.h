// The tests in a folder laid out as in the onnx package (onnx/backend/test/data): a folder a kind (node,
// simple, pytorch-converted, pytorch-operator), in it a folder a test with model.onnx and test_data_set_N;
// and the light models, single files whose input is generated. Lists them and loads their data; running and
// judging them belongs to lab.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::model {

struct ConformanceCase {
  std::string name;  // "node/test_add"
  std::filesystem::path model;
  // The folders test_data_set_N; for a light model one entry, the model's folder.
  std::vector<std::filesystem::path> data_sets;
  bool light = false;
  double rtol = 1e-3;
  double atol = 1e-7;
};

struct ConformanceData {
  std::vector<Tensor> inputs;   // as graph.inputs(); an input without a file ends the list
  std::vector<Tensor> outputs;  // expected, as graph.outputs()
};

// Every test below `folder`, which may also be one kind's folder or one test's; sorted by name. An error
// where there is none.
Result<std::vector<ConformanceCase>> find_conformance_cases(const std::filesystem::path& folder);

// Inputs and expected outputs of data set `index`. `graph` is the model as read: a light model's input is
// generated from its type (element i of n is i / n).
Result<ConformanceData> load_conformance_data(const ConformanceCase& test, std::size_t index,
                                              const graph::Graph& graph);

}  // namespace hone::model
