// What the zoo's models are built with: a graph under construction, and the parameters that its modules own.
// Names follow PyTorch's module paths ("encoder.layer.0.output.dense.weight"), so that what the lab measures
// reads like the user's own model. Blocks of operators are in convolutional.h and transformer.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"
#include "graph/builder.h"

namespace hone::model::zoo {

using graph::ValueId;

// How the values of a parameter are distributed: normal(mean, deviation).
struct Initial {
  float mean = 0;
  float deviation = 1;
};

// Kaiming He's initialisation: keeps the second moment of activations through a layer of `fan_in` inputs.
// `gain` is 2 where the inputs went through a ReLU, which halves their second moment, and 1 elsewhere.
Initial he(int64_t fan_in, float gain = 2);
// What transformers start from (Radford et al. 2018, Devlin et al. 2018).
inline constexpr Initial kTransformer{0, 0.02f};
// Scales and shifts of normalisations: near identity, no two channels alike.
inline constexpr Initial kScale{1, 0.1f};
inline constexpr Initial kShift{0, 0.1f};

// A finished model.
struct Built {
  graph::Graph graph;
  int64_t parameters = 0;  // trained ones: running statistics and masks do not count
};

class Module;

// Owns the graph while it grows. Parameters get their values when the network is finished, in parallel; each
// is a function of the seed and its own name, so the order in which modules are built does not matter.
class Network {
 public:
  Network(std::string name, uint64_t seed);

  Module root();
  ValueId input(const std::string& name, DType dtype, graph::Dims dims);
  // Gives `value` the name under which callers find it. `dims` are what the exporter knows of its shape.
  void output(ValueId value, const std::string& name, graph::Dims dims);
  const graph::TensorType& type(ValueId value) const { return builder_.type(value); }
  Result<Built> finish() &&;

 private:
  friend class Module;
  struct Pending {
    Tensor tensor;  // shares its buffer with the constant in the graph
    uint64_t stream;
    Initial initial;
    bool positive;
  };
  ValueId random(const std::string& name, Shape shape, Initial initial, bool positive);
  void fill() const;

  graph::GraphBuilder builder_;
  uint64_t seed_;
  int64_t parameter_count_ = 0;
  std::vector<Pending> pending_;
};

// A place in the network: adds operators and parameters under its path. Cheap to copy; the network outlives
// it.
class Module {
 public:
  Module operator[](std::string_view child) const;
  Module operator[](int64_t child) const { return (*this)[std::to_string(child)]; }
  const graph::TensorType& type(ValueId value) const { return network_->type(value); }

  ValueId op(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) const;
  std::vector<ValueId> ops(const std::string& op, std::vector<ValueId> inputs, std::size_t outputs,
                           Attributes attributes = {}) const;
  ValueId parameter(std::string_view leaf, Shape shape, Initial initial) const;
  // State that is not trained: a running mean, or (`positive`: absolute values) a running variance.
  ValueId buffer(std::string_view leaf, Shape shape, Initial initial, bool positive = false) const;
  // Constants as exporters leave them: nameless, one each time.
  ValueId scalar(float value) const;
  ValueId index(int64_t value) const;  // of rank 0
  ValueId ints(const std::vector<int64_t>& values) const;
  ValueId constant(Tensor data) const;

  // One extent of `x`, read when the model runs: Shape, Gather, Unsqueeze. What exporters write wherever an
  // input has a dynamic axis.
  struct Extent {
    ValueId of;
    int64_t axis;
  };
  using Target = std::variant<int64_t, Extent>;
  // x under a shape of which some extents are read from values: Concat, Reshape.
  ValueId reshape(ValueId x, const std::vector<Target>& shape) const;
  // The shape itself, as a value.
  ValueId shape(const std::vector<Target>& extents) const;

 private:
  friend class Network;
  Module(Network* network, std::string path) : network_(network), path_(std::move(path)) {}
  std::string named(std::string_view leaf, char separator) const;

  Network* network_;
  std::string path_;
};

}  // namespace hone::model::zoo
