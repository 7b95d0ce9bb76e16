// Attention as ONNX writes it down, with the whole score matrix in memory; rotary embedding; linear
// attention.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// Query, key or value as [batch, heads, length, size], whatever the rank of the input was.
struct Heads {
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  Wide data;

  double* row(int64_t b, int64_t h, int64_t t) { return data.data() + ((b * heads + h) * length + t) * size; }
  const double* row(int64_t b, int64_t h, int64_t t) const {
    return data.data() + ((b * heads + h) * length + t) * size;
  }
  Shape shape() const { return {batch, heads, length, size}; }
};

// [batch, length, heads * size] to heads (`heads` from the attributes), or [batch, heads, length, size] as it
// is.
Result<Heads> split_heads(const Tensor& tensor, int64_t heads, std::string_view name) {
  const Shape& shape = tensor.shape();
  if (tensor.rank() == 4) return Heads{shape[0], shape[1], shape[2], shape[3], widen(tensor)};
  HONE_CHECK(expect_rank(tensor, 3, name));
  if (heads < 1 || shape[2] % heads != 0) {
    return invalid(
        fmt::format("{} of shape {} does not divide into {} heads", name, shape_text(shape), heads));
  }
  Heads out{shape[0], heads, shape[1], shape[2] / heads, Wide(static_cast<std::size_t>(tensor.size()))};
  const Wide flat = widen(tensor);
  const double* from = flat.data();
  for (int64_t b = 0; b < out.batch; ++b) {
    for (int64_t t = 0; t < out.length; ++t) {
      for (int64_t h = 0; h < heads; ++h, from += out.size)
        std::copy(from, from + out.size, out.row(b, h, t));
    }
  }
  return out;
}

// The inverse of split_heads.
Tensor join_heads(const Heads& heads, DType dtype, bool packed) {
  if (!packed) return rounded(dtype, heads.shape(), heads.data);
  Wide flat(heads.data.size());
  double* to = flat.data();
  for (int64_t b = 0; b < heads.batch; ++b) {
    for (int64_t t = 0; t < heads.length; ++t) {
      for (int64_t h = 0; h < heads.heads; ++h, to += heads.size) {
        std::copy(heads.row(b, h, t), heads.row(b, h, t) + heads.size, to);
      }
    }
  }
  return rounded(dtype, {heads.batch, heads.length, heads.heads * heads.size}, flat);
}

// `past` followed by `current` along the sequence.
Result<Heads> append(const Tensor& past, const Heads& current, std::string_view name) {
  HONE_CHECK(expect_rank(past, 4, name));
  HONE_CHECK(expect_shape(past, {current.batch, current.heads, past.shape()[2], current.size}, name));
  Heads before{current.batch, current.heads, past.shape()[2], current.size, widen(past)};
  Heads out{current.batch, current.heads, before.length + current.length, current.size, {}};
  out.data.resize(static_cast<std::size_t>(element_count(out.shape())));
  for (int64_t b = 0; b < out.batch; ++b) {
    for (int64_t h = 0; h < out.heads; ++h) {
      double* to = std::copy_n(before.row(b, h, 0), before.length * out.size, out.row(b, h, 0));
      std::copy_n(current.row(b, h, 0), current.length * out.size, to);
    }
  }
  return out;
}

// The mask input as something to add to the score of (batch, head, query, key).
struct Mask {
  Shape shape;  // [batch, heads, queries, keys], each 1 or whole; keys may be fewer: the rest is masked out
  Wide added;

  double at(int64_t b, int64_t h, int64_t q, int64_t k) const {
    if (added.empty()) return 0;
    if (shape[3] != 1 && k >= shape[3]) return kMinusInfinity;
    const auto pick = [this](std::size_t axis, int64_t i) { return shape[axis] == 1 ? 0 : i; };
    const int64_t flat =
        ((pick(0, b) * shape[1] + pick(1, h)) * shape[2] + pick(2, q)) * shape[3] + pick(3, k);
    return added[static_cast<std::size_t>(flat)];
  }
};

Result<Mask> read_mask(const Tensor& tensor, const Shape& scores) {
  Mask mask;
  if (!tensor.defined()) return mask;
  if (tensor.rank() > 4) return invalid("attn_mask has more than 4 axes");
  mask.shape = tensor.shape();
  while (mask.shape.size() < 4) mask.shape.insert(mask.shape.begin(), 1);
  for (std::size_t axis = 0; axis < 4; ++axis) {
    const bool shorter = axis == 3 && mask.shape[axis] < scores[axis];
    if (mask.shape[axis] != 1 && mask.shape[axis] != scores[axis] && !shorter) {
      return invalid(fmt::format("attn_mask of shape {} does not broadcast to scores of shape {}",
                                 shape_text(tensor.shape()), shape_text(scores)));
    }
  }
  mask.added = widen(tensor);
  if (tensor.dtype() == DType::kBool) {
    for (double& value : mask.added) value = value != 0 ? 0 : kMinusInfinity;
  }
  return mask;
}

// Softmax of a row in double; a row without any admitted key has no defined answer and becomes NaN.
void softmax_row(double* row, int64_t count) {
  const double largest = *std::max_element(row, row + count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += row[i] = std::exp(row[i] - largest);
  for (int64_t i = 0; i < count; ++i) row[i] /= sum;
}

// Which stage of the scores output 3 shows.
enum class ScoreStage : int64_t { kProduct = 0, kSoftcap = 1, kMask = 2, kSoftmax = 3 };

struct AttentionInputs {
  Heads q, k, v;
  Mask mask;
  std::optional<Wide> valid_keys;  // per batch: keys from here on are padding
  int64_t past = 0;
  double scale = 1;
  double softcap = 0;
  bool causal = false;

  bool admits(int64_t b, int64_t query, int64_t key) const {
    if (causal && key > past + query) return false;
    return !valid_keys || static_cast<double>(key) < (*valid_keys)[static_cast<std::size_t>(b)];
  }
};

// The scores of one query row against all keys, kept at `stage` in `shown` if that is wanted.
void score_row(const AttentionInputs& in, int64_t b, int64_t h, int64_t query, double* row, double* shown,
               ScoreStage stage) {
  const int64_t keys = in.k.length;
  const double* q = in.q.row(b, h, query);
  const auto show = [&](ScoreStage now) {
    if (shown != nullptr && stage == now) std::copy(row, row + keys, shown);
  };
  for (int64_t j = 0; j < keys; ++j) {
    const double* k = in.k.row(b, h * in.k.heads / in.q.heads, j);
    double sum = 0;
    for (int64_t d = 0; d < in.q.size; ++d) sum += q[d] * k[d];
    row[j] = sum * in.scale;
  }
  show(ScoreStage::kProduct);
  if (in.softcap > 0) {
    for (int64_t j = 0; j < keys; ++j) row[j] = std::tanh(row[j] / in.softcap) * in.softcap;
  }
  show(ScoreStage::kSoftcap);
  for (int64_t j = 0; j < keys; ++j) {
    row[j] = in.admits(b, query, j) ? row[j] + in.mask.at(b, h, query, j) : kMinusInfinity;
  }
  show(ScoreStage::kMask);
  softmax_row(row, keys);
  show(ScoreStage::kSoftmax);
}

Result<AttentionInputs> read_attention(const RefCall& call) {
  const Attributes& attributes = call.attributes;
  AttentionInputs in;
  HONE_ASSIGN(in.q, split_heads(call.inputs[0], attributes.integer("q_num_heads", 0), "Q"));
  HONE_ASSIGN(in.k, split_heads(call.inputs[1], attributes.integer("kv_num_heads", 0), "K"));
  HONE_ASSIGN(in.v, split_heads(call.inputs[2], attributes.integer("kv_num_heads", 0), "V"));
  if (call.has(4)) {
    in.past = call.inputs[4].rank() == 4 ? call.inputs[4].shape()[2] : 0;
    HONE_ASSIGN(in.k, append(call.inputs[4], in.k, "past_key"));
  }
  if (call.has(5)) {
    HONE_ASSIGN(in.v, append(call.inputs[5], in.v, "past_value"));
  }
  if (in.q.batch != in.k.batch || in.q.batch != in.v.batch || in.k.heads != in.v.heads ||
      in.q.size != in.k.size || in.k.length != in.v.length || in.k.heads == 0 ||
      in.q.heads % in.k.heads != 0) {
    return invalid(
        fmt::format("query {}, key {} and value {} (as batch, heads, length, size) do not fit together",
                    shape_text(in.q.shape()), shape_text(in.k.shape()), shape_text(in.v.shape())));
  }
  const Tensor none;
  const Shape scores{in.q.batch, in.q.heads, in.q.length, in.k.length};
  HONE_ASSIGN(in.mask, read_mask(call.has(3) ? call.inputs[3] : none, scores));
  if (call.has(6)) {
    HONE_CHECK(expect_shape(call.inputs[6], {in.q.batch}, "nonpad_kv_seqlen"));
    in.valid_keys = widen(call.inputs[6]);
  }
  in.scale = attributes.has("scale") ? static_cast<double>(attributes.real("scale", 1))
                                     : 1.0 / std::sqrt(static_cast<double>(in.q.size));
  in.softcap = attributes.real("softcap", 0);
  in.causal = attributes.integer("is_causal", 0) != 0;
  return in;
}

Result<std::vector<Tensor>> attention(const RefCall& call) {
  HONE_ASSIGN(const AttentionInputs in, read_attention(call));
  const auto stage = static_cast<ScoreStage>(call.attributes.integer("qk_matmul_output_mode", 0));
  const int64_t keys = in.k.length;
  Heads y{in.q.batch, in.q.heads, in.q.length, in.v.size, {}};
  y.data.assign(static_cast<std::size_t>(element_count(y.shape())), 0);
  Wide shown(call.output_count > 3 ? static_cast<std::size_t>(y.batch * y.heads * y.length * keys) : 0);
  Wide row(static_cast<std::size_t>(keys));
  for (int64_t b = 0; b < y.batch && keys > 0; ++b) {
    for (int64_t h = 0; h < y.heads; ++h) {
      for (int64_t i = 0; i < y.length; ++i) {
        double* kept = shown.empty() ? nullptr : shown.data() + ((b * y.heads + h) * y.length + i) * keys;
        score_row(in, b, h, i, row.data(), kept, stage);
        double* out = y.row(b, h, i);
        for (int64_t j = 0; j < keys; ++j) {
          const double weight = row[static_cast<std::size_t>(j)];
          const double* v = in.v.row(b, h * in.v.heads / y.heads, j);
          for (int64_t d = 0; d < y.size; ++d) out[d] += weight * v[d];
        }
      }
    }
  }
  const DType dtype = call.inputs[0].dtype();
  std::vector<Tensor> outputs{join_heads(y, dtype, call.inputs[0].rank() == 3)};
  if (call.output_count > 1) outputs.push_back(rounded(call.inputs[1].dtype(), in.k.shape(), in.k.data));
  if (call.output_count > 2) outputs.push_back(rounded(call.inputs[2].dtype(), in.v.shape(), in.v.data));
  if (call.output_count > 3) outputs.push_back(rounded(dtype, {y.batch, y.heads, y.length, keys}, shown));
  return outputs;
}

// The attention, and log Σ exp of each query's masked scores.
Result<std::vector<Tensor>> attention_with_sums(const RefCall& call) {
  HONE_ASSIGN(const AttentionInputs in, read_attention(call));
  HONE_ASSIGN(std::vector<Tensor> outputs,
              attention({.op = call.op, .attributes = call.attributes, .inputs = call.inputs}));
  Wide sums(static_cast<std::size_t>(in.q.batch * in.q.heads * in.q.length), kMinusInfinity);
  Wide row(static_cast<std::size_t>(in.k.length)), scores = row;
  std::size_t at = 0;
  for (int64_t b = 0; b < in.q.batch && !row.empty(); ++b)
    for (int64_t h = 0; h < in.q.heads; ++h)
      for (int64_t i = 0; i < in.q.length; ++i, ++at) {
        score_row(in, b, h, i, row.data(), scores.data(), ScoreStage::kMask);
        const double largest = *std::max_element(scores.begin(), scores.end());
        if (largest == kMinusInfinity) continue;
        double sum = 0;
        for (const double score : scores) sum += std::exp(score - largest);
        sums[at] = largest + std::log(sum);
      }
  outputs.push_back(rounded(DType::kF32, {in.q.batch, in.q.heads, in.q.length}, sums));
  return outputs;
}

// dV = Pᵀ·dY, dS = P∘(dY·Vᵀ - Σ P∘(dY·Vᵀ)), dQ = scale·dS·K, dK = scale·dSᵀ·Q. A query that sees no key has no part.
Result<std::vector<Tensor>> attention_gradient(const RefCall& call) {
  HONE_ASSIGN(const AttentionInputs in,
              read_attention({.op = call.op, .attributes = call.attributes, .inputs = call.inputs.first(4)}));
  HONE_ASSIGN(const Heads dy, split_heads(call.inputs[4], call.attributes.integer("q_num_heads", 0), "dY"));
  if (dy.shape() != Shape{in.q.batch, in.q.heads, in.q.length, in.v.size})
    return invalid("the output's gradient does not have the output's shape");
  const auto zeros = [](const Heads& like) {
    Heads made = like;
    std::fill(made.data.begin(), made.data.end(), 0.0);
    return made;
  };
  Heads dq = zeros(in.q), dk = zeros(in.k), dv = zeros(in.v);
  const int64_t keys = in.k.length;
  Wide weights(static_cast<std::size_t>(keys)), flows = weights, scores = weights;
  const auto dot = [](const double* a, const double* b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  };
  for (int64_t b = 0; b < in.q.batch && keys > 0; ++b)
    for (int64_t h = 0; h < in.q.heads; ++h)
      for (int64_t i = 0; i < in.q.length; ++i) {
        const int64_t shared = h * in.k.heads / in.q.heads;
        score_row(in, b, h, i, weights.data(), scores.data(), ScoreStage::kMask);
        if (std::all_of(scores.begin(), scores.end(), [](double s) { return s == kMinusInfinity; })) continue;
        double along = 0;
        for (std::size_t j = 0; j < flows.size(); ++j) {
          flows[j] = dot(dy.row(b, h, i), in.v.row(b, shared, static_cast<int64_t>(j)), in.v.size);
          along += weights[j] * flows[j];
        }
        for (std::size_t j = 0; j < flows.size(); ++j) {
          const auto key = static_cast<int64_t>(j);
          // Nothing reaches a score that is hidden, whatever the others are.
          const double through = in.admits(b, i, key) ? weights[j] * (flows[j] - along) * in.scale : 0;
          for (int64_t d = 0; d < in.q.size; ++d) {
            dq.row(b, h, i)[d] += through * in.k.row(b, shared, key)[d];
            dk.row(b, shared, key)[d] += through * in.q.row(b, h, i)[d];
          }
          for (int64_t d = 0; d < in.v.size; ++d)
            dv.row(b, shared, key)[d] += weights[j] * dy.row(b, h, i)[d];
        }
      }
  const auto joined = [&](const Heads& heads, std::size_t input) {
    return join_heads(heads, call.inputs[input].dtype(), call.inputs[input].rank() == 3);
  };
  return std::vector<Tensor>{joined(dq, 0), joined(dk, 1), joined(dv, 2)};
}

Result<std::vector<Tensor>> rotary_embedding(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  HONE_ASSIGN(Heads heads, split_heads(x, call.attributes.integer("num_heads", 0), "X"));
  int64_t rotated = call.attributes.integer("rotary_embedding_dim", 0);
  if (rotated == 0) rotated = heads.size;
  const int64_t half = rotated / 2;
  if (rotated < 0 || rotated > heads.size || rotated % 2 != 0) {
    return invalid(fmt::format("rotary_embedding_dim {} does not fit heads of size {}", rotated, heads.size));
  }
  const Tensor& cos_cache = call.inputs[1];
  const Tensor& sin_cache = call.inputs[2];
  const bool by_position = call.has(3);
  const Shape wanted = by_position ? Shape{cos_cache.rank() == 2 ? cos_cache.shape()[0] : 0, half}
                                   : Shape{heads.batch, heads.length, half};
  HONE_CHECK(expect_shape(cos_cache, wanted, "cos_cache"));
  HONE_CHECK(expect_shape(sin_cache, wanted, "sin_cache"));
  Ints positions;
  if (by_position) {
    HONE_CHECK(expect_shape(call.inputs[3], {heads.batch, heads.length}, "position_ids"));
    positions = call.inputs[3].to_ints();
    for (int64_t position : positions) {
      if (position < 0 || position >= wanted[0]) {
        return invalid(fmt::format("position {} is outside a cache of {} positions", position, wanted[0]));
      }
    }
  }
  const Wide cosines = widen(cos_cache);
  const Wide sines = widen(sin_cache);
  const bool interleaved = call.attributes.integer("interleaved", 0) != 0;
  for (int64_t b = 0; b < heads.batch; ++b) {
    for (int64_t t = 0; t < heads.length; ++t) {
      const int64_t token = b * heads.length + t;
      const int64_t at = (by_position ? positions[static_cast<std::size_t>(token)] : token) * half;
      for (int64_t h = 0; h < heads.heads; ++h) {
        double* row = heads.row(b, h, t);
        for (int64_t i = 0; i < half; ++i) {
          double& first = row[interleaved ? 2 * i : i];
          double& second = row[interleaved ? 2 * i + 1 : i + half];
          const double c = cosines[static_cast<std::size_t>(at + i)];
          const double s = sines[static_cast<std::size_t>(at + i)];
          const double real = c * first - s * second;
          second = s * first + c * second;
          first = real;
        }
      }
    }
  }
  return std::vector<Tensor>{join_heads(heads, x.dtype(), x.rank() == 3)};
}

// What LinearAttention reads besides query, key and value, checked against its rule.
struct LinearRule {
  bool gated = false;
  bool delta = false;
  Wide decay, beta;
  int64_t decay_width = 0, beta_width = 0;
};

Result<LinearRule> read_rule(const RefCall& call, const Heads& k) {
  LinearRule rule;
  const std::string name = call.attributes.text("update_rule", "gated_delta");
  rule.gated = name == "gated" || name == "gated_delta";
  rule.delta = name == "delta" || name == "gated_delta";
  if (!rule.gated && !rule.delta && name != "linear") {
    return invalid(fmt::format("update_rule '{}' is none of linear, gated, delta, gated_delta", name));
  }
  if (rule.gated != call.has(4) || rule.delta != call.has(5)) {
    return invalid(fmt::format("update_rule '{}' does not fit the given decay and beta inputs", name));
  }
  if (rule.gated) {
    const Tensor& decay = call.inputs[4];
    rule.decay_width = decay.rank() == 3 ? decay.shape()[2] : 0;
    if (rule.decay_width != k.heads) rule.decay_width = k.heads * k.size;
    HONE_CHECK(expect_shape(decay, {k.batch, k.length, rule.decay_width}, "decay"));
    rule.decay = widen(decay);
  }
  if (rule.delta) {
    const Tensor& beta = call.inputs[5];
    rule.beta_width = beta.rank() == 3 && beta.shape()[2] == 1 ? 1 : k.heads;
    HONE_CHECK(expect_shape(beta, {k.batch, k.length, rule.beta_width}, "beta"));
    rule.beta = widen(beta);
  }
  return rule;
}

// One token of one key/value head: decays the state [size of k][size of v], corrects the value, writes it.
void update_state(const LinearRule& rule, const Heads& k, const Heads& v, int64_t b, int64_t h, int64_t t,
                  double* state) {
  const int64_t token = b * k.length + t;
  const double* key = k.row(b, h, t);
  Wide value(v.row(b, h, t), v.row(b, h, t) + v.size);
  if (rule.gated) {
    const double* decay = rule.decay.data() + token * rule.decay_width;
    for (int64_t i = 0; i < k.size; ++i) {
      const double factor = std::exp(rule.decay_width == k.heads ? decay[h] : decay[h * k.size + i]);
      for (int64_t j = 0; j < v.size; ++j) state[i * v.size + j] *= factor;
    }
  }
  if (rule.delta) {
    const double beta =
        rule.beta[static_cast<std::size_t>(token * rule.beta_width + (rule.beta_width == 1 ? 0 : h))];
    for (int64_t j = 0; j < v.size; ++j) {
      double retrieved = 0;
      for (int64_t i = 0; i < k.size; ++i) retrieved += state[i * v.size + j] * key[i];
      double& corrected = value[static_cast<std::size_t>(j)];
      corrected = beta * (corrected - retrieved);
    }
  }
  for (int64_t i = 0; i < k.size; ++i) {
    for (int64_t j = 0; j < v.size; ++j) state[i * v.size + j] += key[i] * value[static_cast<std::size_t>(j)];
  }
}

Result<std::vector<Tensor>> linear_attention(const RefCall& call) {
  const int64_t kv_heads = call.attributes.integer("kv_num_heads", 0);
  HONE_ASSIGN(const Heads q, split_heads(call.inputs[0], call.attributes.integer("q_num_heads", 0), "query"));
  HONE_ASSIGN(const Heads k, split_heads(call.inputs[1], kv_heads, "key"));
  HONE_ASSIGN(const Heads v, split_heads(call.inputs[2], kv_heads, "value"));
  if (q.heads % k.heads != 0 || q.size != k.size || q.length != k.length || k.length != v.length ||
      q.batch != k.batch || k.batch != v.batch) {
    return invalid("query, key and value do not fit together");
  }
  HONE_ASSIGN(const LinearRule rule, read_rule(call, k));
  const Shape state_shape{k.batch, k.heads, k.size, v.size};
  if (call.has(3)) HONE_CHECK(expect_shape(call.inputs[3], state_shape, "past_state"));
  Wide state =
      call.has(3) ? widen(call.inputs[3]) : Wide(static_cast<std::size_t>(element_count(state_shape)), 0);
  const double given = call.attributes.real("scale", 0);
  const double scale = given != 0 ? given : 1.0 / std::sqrt(static_cast<double>(k.size));
  Heads y{q.batch, q.heads, q.length, v.size, {}};
  y.data.assign(static_cast<std::size_t>(element_count(y.shape())), 0);
  for (int64_t b = 0; b < k.batch; ++b) {
    for (int64_t t = 0; t < k.length; ++t) {
      for (int64_t h = 0; h < k.heads; ++h) {
        update_state(rule, k, v, b, h, t, state.data() + (b * k.heads + h) * k.size * v.size);
      }
      for (int64_t h = 0; h < q.heads; ++h) {
        const double* read = state.data() + (b * k.heads + h * k.heads / q.heads) * k.size * v.size;
        for (int64_t i = 0; i < k.size; ++i) {
          const double factor = scale * q.row(b, h, t)[i];
          for (int64_t j = 0; j < v.size; ++j) y.row(b, h, t)[j] += factor * read[i * v.size + j];
        }
      }
    }
  }
  const DType state_dtype = call.has(3) ? call.inputs[3].dtype() : call.inputs[0].dtype();
  std::vector<Tensor> outputs{join_heads(y, call.inputs[0].dtype(), true)};
  if (call.output_count > 1) outputs.push_back(rounded(state_dtype, state_shape, state));
  return outputs;
}

}  // namespace

void add_attention_kernels(RefTable& table) {
  table.add("Attention", attention);
  table.add("hone.AttentionWithSums", attention_with_sums);
  table.add("hone.AttentionGradient", attention_gradient);
  table.add("RotaryEmbedding", rotary_embedding);
  table.add("LinearAttention", linear_attention);
}

}  // namespace hone::kernels::ref
