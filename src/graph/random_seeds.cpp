#include "graph/random_seeds.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/core.h>

namespace hone::graph {
namespace {

// ONNX's random operators: hone's own of the same meaning, and where the seed stands among its inputs.
struct RandomForm {
  std::string_view onnx;
  std::string_view own;
  std::size_t seed_input = 0;
};

constexpr std::array<RandomForm, 7> kRandomForms = {{
    {"RandomNormal", "hone.RandomNormal", 0},
    {"RandomNormalLike", "hone.RandomNormal", 0},
    {"RandomUniform", "hone.RandomUniform", 0},
    {"RandomUniformLike", "hone.RandomUniform", 0},
    {"Bernoulli", "hone.Bernoulli", 1},
    {"Multinomial", "hone.Multinomial", 1},
    {"Dropout", "hone.Dropout", 1},
}};

// Null for operators that draw nothing, a Dropout that does not train among them. `values` is a graph or its
// builder.
template <typename Values>
const RandomForm* random_form(const Values& values, const Node& node) {
  const auto found = std::find_if(kRandomForms.begin(), kRandomForms.end(),
                                  [&](const RandomForm& form) { return form.onnx == node.op; });
  if (found == kRandomForms.end()) return nullptr;
  if (found->onnx != "Dropout") return &*found;
  if (!node.has_input(2)) return nullptr;
  const Value& training = values.value(node.inputs[2]);
  const bool known_not_to = training.is_constant() && training.constant->int_at(0) == 0;
  return known_not_to ? nullptr : &*found;
}

// The bit pattern of the number as a 64-bit float, as kernels/ref/random.cpp takes ONNX's attribute.
std::optional<int64_t> given_seed(const Node& node) {
  const Attribute* seed = node.attributes.find("seed");
  if (seed == nullptr) return std::nullopt;
  if (const auto* real = std::get_if<float>(seed)) return std::bit_cast<int64_t>(double{*real});
  if (const auto* whole = std::get_if<int64_t>(seed))
    return std::bit_cast<int64_t>(static_cast<double>(*whole));
  return std::nullopt;
}

// Makes the node hone's own, with this seed and offset.
void use_stream(GraphBuilder& builder, NodeId id, const RandomForm& form, ValueId seed, ValueId offset) {
  builder.append_input(id, seed);
  builder.append_input(id, offset);
  Node& node = builder.mutable_node(id);
  node.op = form.own;
  const auto at = static_cast<std::ptrdiff_t>(form.seed_input);
  std::rotate(node.inputs.begin() + at, node.inputs.end() - 2, node.inputs.end());
  node.attributes.erase("seed");
}

std::string random_label(const Node& node) { return fmt::format("node '{}' ({})", node.name, node.op); }

// A generator for other programs' seeds (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014): neighbouring numbers give seeds that have nothing to do with each other.
uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// The seed of node number `i` of those that have none: like one that a model gives, a number that ONNX's
// attribute holds, as a float or as an integer.
int64_t made_seed(uint64_t seed, uint64_t i) {
  constexpr uint64_t kExactInFloat = (1 << 24) - 1;
  return std::bit_cast<int64_t>(static_cast<double>(mixed(seed + i) & kExactInFloat));
}

// What an iteration of a Loop may draw without meeting the numbers of the next.
constexpr int64_t kNumbersOfAnIteration = int64_t{1} << 32;

class Seeder {
 public:
  explicit Seeder(uint64_t seed) : seed_(seed) {}

  // Where the graph stands: a body that is run again draws other numbers only if it counts its runs.
  enum class Place : uint8_t { kOnce, kLoop, kRepeated };

  Result<Graph> run(const Graph& graph, Place place) {
    GraphBuilder builder(graph);
    ValueId fresh;  // the offset of nodes without a seed
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      HONE_CHECK(seed_bodies(builder, NodeId{i}, place));
      const Node node = builder.node(NodeId{i});
      const RandomForm* form = random_form(builder, node);
      if (form == nullptr) continue;
      const auto given = given_seed(node);
      if (!given && place == Place::kRepeated)
        return unsupported(fmt::format("unsupported: {} without a seed in a body that repeats it", node.op))
            .within(random_label(node) + ", which would draw the same numbers each time; give it a seed");
      if (!given && !fresh.valid()) {
        HONE_ASSIGN(fresh, fresh_offset(builder, place));
      }
      const int64_t seed = given ? *given : made_seed(seed_, next_++);
      use_stream(builder, NodeId{i}, *form, builder.constant(node.name + ".seed", Tensor::scalar_i64(seed)),
                 given ? builder.constant(node.name + ".offset", Tensor::scalar_i64(0)) : fresh);
    }
    return std::move(builder).finish(true);
  }

 private:
  Status seed_bodies(GraphBuilder& builder, NodeId id, Place place) {
    const std::string op = builder.node(id).op;
    if (op == "hone.Fused") return {};
    Place inside = Place::kRepeated;
    if (op == "Loop" && place == Place::kOnce) inside = Place::kLoop;
    if (op == "If" && place == Place::kOnce) inside = Place::kOnce;
    for (auto& body : builder.mutable_node(id).bodies) {
      auto seeded = run(*body, inside);
      if (!seeded.ok()) return seeded.error().within(random_label(builder.node(id)));
      body = std::make_shared<const Graph>(*std::move(seeded));
    }
    return {};
  }

  static Result<ValueId> fresh_offset(GraphBuilder& builder, Place place) {
    if (place != Place::kLoop) return builder.constant("random.offset", Tensor::scalar_i64(0));
    const ValueId iteration = builder.inputs().at(0);
    const ValueId numbers = builder.constant("random.numbers", Tensor::scalar_i64(kNumbersOfAnIteration));
    Node node;
    node.op = "Mul";
    node.name = "random.offset";
    node.inputs = {iteration, numbers};
    const std::array<std::string, 1> name = {"random.offset"};
    HONE_ASSIGN(const std::vector<ValueId> made, builder.try_add(std::move(node), name));
    return made[0];
  }

  uint64_t seed_;
  uint64_t next_ = 0;
};

std::size_t random_nodes_in_bodies(const Node& node) {
  std::size_t count = 0;
  for (const auto& body : node.bodies) {
    for (const Node& inner : body->nodes())
      count += (random_form(*body, inner) != nullptr ? 1 : 0) + random_nodes_in_bodies(inner);
  }
  return count;
}

// The number as ONNX's attribute; nullopt where its type does not hold it.
std::optional<Attribute> onnx_seed(const RandomForm& form, double number) {
  if (form.onnx == "Dropout") {
    if (number != std::floor(number) || std::abs(number) > 0x1p53) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  const bool fits = std::abs(number) <= double{std::numeric_limits<float>::max()} &&
                    static_cast<double>(static_cast<float>(number)) == number;
  return fits ? std::optional<Attribute>(static_cast<float>(number)) : std::nullopt;
}

}  // namespace

std::size_t count_unseeded(const Graph& graph) {
  std::size_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (random_form(graph, node) != nullptr && !given_seed(node)) ++count;
    for (const auto& body : node.bodies) count += count_unseeded(*body);
  }
  return count;
}

bool to_onnx_random(const Graph& graph, Node& node, bool in_body) {
  const bool like = node.op != "hone.Dropout" && node.has_input(2) && node.op.starts_with("hone.Random");
  const auto form = std::find_if(kRandomForms.begin(), kRandomForms.end(), [&](const RandomForm& each) {
    return each.own == node.op && each.onnx.ends_with("Like") == like;
  });
  if (form == kRandomForms.end()) return false;
  const auto known = [&](std::size_t i) -> std::optional<int64_t> {
    const Value& value = graph.value(node.inputs[i]);
    return value.is_constant() ? std::optional(value.constant->int_at(0)) : std::nullopt;
  };
  const auto seed = known(form->seed_input);
  const auto offset = known(form->seed_input + 1);
  const bool each_iteration = in_body && !offset;
  if (!seed || (offset != 0 && !each_iteration)) return false;
  if (form->onnx == "Dropout" && !node.has_input(4)) return false;
  if (!each_iteration) {
    const auto attribute = onnx_seed(*form, std::bit_cast<double>(*seed));
    if (!attribute) return false;
    node.attributes.set("seed", *attribute);
  }
  const auto at = node.inputs.begin() + static_cast<std::ptrdiff_t>(form->seed_input);
  node.inputs.erase(at, at + 2);
  node.op = form->onnx;
  return true;
}

Result<Graph> give_seeds(const Graph& graph, uint64_t seed) {
  return Seeder(seed).run(graph, Seeder::Place::kOnce);
}

RandomStream::RandomStream(GraphBuilder& builder, const std::string& name)
    : builder_(builder),
      name_(name),
      seed_(builder.input(name + ".seed", tensor_type(DType::kI64, Dims{}))),
      offset_(builder.input(name + ".offset", tensor_type(DType::kI64, Dims{}))) {}

ValueId RandomStream::take(int64_t count) {
  const int64_t before = taken_;
  taken_ += count;
  if (before == 0) return offset_;
  return builder_.add("Add", {offset_, builder_.constant(name_ + ".before", Tensor::scalar_i64(before))}, {},
                      name_ + ".place");
}

void RandomStream::finish() {
  const ValueId count = builder_.constant(name_ + ".count", Tensor::scalar_i64(taken_));
  const ValueId next = builder_.add("Add", {offset_, count}, {}, name_ + ".next");
  builder_.rename(next, name_ + ".offset.next");
  builder_.next_value(offset_, next);
}

Result<Graph> with_random_stream(const Graph& graph) {
  GraphBuilder builder(graph);
  std::optional<RandomStream> stream;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (random_nodes_in_bodies(node) > 0)
      return unsupported("unsupported: random numbers in a sub-graph of a training step")
          .within(random_label(node));
    const RandomForm* form = random_form(graph, node);
    if (form == nullptr) continue;
    const TensorType& drawn = graph.type(node.has_output(0) ? node.outputs[0] : node.outputs[1]);
    if (!drawn.is_static())
      return unsupported(
                 fmt::format("how many numbers it draws is not known ({}); bind the extents", drawn.text()))
          .within(random_label(node));
    if (!stream) stream.emplace(builder, "random");
    use_stream(builder, NodeId{i}, *form, stream->seed(), stream->take(element_count(drawn.shape())));
  }
  if (stream) stream->finish();
  return std::move(builder).finish(true);
}

}  // namespace hone::graph
