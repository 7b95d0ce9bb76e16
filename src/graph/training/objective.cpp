#include "graph/training/objective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "core/onnx_dtype.h"
#include "graph/losses.h"

namespace hone::graph {
namespace {

// Masks come with an axis of one channel: [N, 1, H, W] are the classes [N, H, W] of a prediction [N, C, H, W].
Shape class_shape(const TensorType& prediction, const TensorType& target) {
  const Shape scores = prediction.shape();
  Shape labels = target.shape();
  if (labels.size() == scores.size() && labels.size() >= 2 && labels[1] == 1 && scores[1] > 1)
    labels.erase(labels.begin() + 1);
  return labels;
}

class ObjectiveEmitter {
 public:
  ObjectiveEmitter(GraphBuilder& builder, const Objective& objective) : b_(builder), o_(objective) {}

  Result<LossSum> loss(const LossTerm& term, ValueId prediction, ValueId target);
  ValueId loss_count(const LossTerm& term, const TensorType& prediction, ValueId target);
  std::vector<ValueId> metric_counts(ValueId prediction, ValueId target);

 private:
  Result<ValueId> sum_of(const LossTerm& term, ValueId prediction, ValueId target);
  Result<ValueId> cross_entropy(ValueId prediction, ValueId target);
  Result<ValueId> dice(ValueId prediction, ValueId target);
  ValueId overlaps(ValueId predicted, ValueId truth);

  ValueId op(const char* name, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return b_.add(name, std::move(inputs), std::move(attributes), std::string("loss.") + name);
  }
  ValueId number(double value) {
    return b_.constant("loss.number", Tensor::scalar_f32(static_cast<float>(value)));
  }
  ValueId ints(const Ints& values) {
    return b_.constant("loss.axes", Tensor::i64({static_cast<int64_t>(values.size())}, values));
  }
  ValueId cast(ValueId value, DType dtype) {
    if (b_.type(value).dtype == dtype) return value;
    return op("Cast", {value}, {{"to", dtype_to_onnx(dtype)}});
  }
  ValueId sum_all(ValueId value) { return op("ReduceSum", {value}, {{"keepdims", int64_t{0}}}); }
  ValueId sum_over(ValueId value, const Ints& axes, bool keep = false) {
    return op("ReduceSum", {value, ints(axes)}, {{"keepdims", int64_t{keep ? 1 : 0}}});
  }
  const Shape shape(ValueId value) const { return b_.type(value).shape(); }
  // Every axis but the listed ones.
  Ints axes_but(ValueId value, std::initializer_list<int64_t> kept) const {
    Ints axes;
    for (int64_t axis = 0; axis < b_.type(value).rank(); ++axis)
      if (std::find(kept.begin(), kept.end(), axis) == kept.end()) axes.push_back(axis);
    return axes;
  }
  bool has_classes(ValueId prediction, ValueId target) const {
    return class_axis(b_.type(prediction), b_.type(target)).ok();
  }
  // Class numbers as i64, without an axis for the classes.
  ValueId class_numbers(ValueId prediction, ValueId target) {
    const ValueId labels = cast(target, DType::kI64);
    const Shape wanted = class_shape(b_.type(prediction), b_.type(target));
    return shape(labels) == wanted ? labels : op("Reshape", {labels, ints(wanted)});
  }
  // Labels of one number each as f32, in the shape of the prediction.
  ValueId like_prediction(ValueId prediction, ValueId target) {
    const ValueId real = cast(target, DType::kF32);
    if (shape(real) == shape(prediction)) return real;
    return op("Reshape", {real, ints(shape(prediction))});
  }
  // Whether each label counts; kNoValue: all do.
  ValueId counted(ValueId labels) {
    if (!o_.ignore) return kNoValue;
    return op("Not", {op("Equal", {labels, b_.constant("loss.ignore", Tensor::scalar_i64(*o_.ignore))})});
  }
  // bool, in the shape of the prediction: whether the place on the axis is the label's class.
  ValueId is_class(ValueId labels, int64_t axis, int64_t classes, int64_t rank) {
    std::vector<int64_t> numbers(static_cast<std::size_t>(classes));
    std::iota(numbers.begin(), numbers.end(), 0);
    Shape along(static_cast<std::size_t>(rank), 1);
    along[static_cast<std::size_t>(axis)] = classes;
    const ValueId of_class = b_.constant("loss.classes", Tensor::i64(along, numbers));
    return op("Equal", {op("Unsqueeze", {labels, ints({axis})}), of_class});
  }

  GraphBuilder& b_;
  const Objective& o_;
};

// The losses want classes on axis 1: where they are on the last of several axes, each place is a sample.
Result<ValueId> ObjectiveEmitter::cross_entropy(ValueId prediction, ValueId target) {
  const int64_t axis = *class_axis(b_.type(prediction), b_.type(target));
  target = class_numbers(prediction, target);
  CrossEntropyOptions options;
  options.ignore_index = o_.ignore;
  options.label_smoothing = o_.smoothing;
  options.reduction = LossReduction::kSum;
  if (axis != 1) {
    const int64_t classes = shape(prediction).back();
    prediction = op("Reshape", {prediction, ints({-1, classes})});
    target = op("Reshape", {target, ints({-1})});
  }
  return cross_entropy_loss(b_, prediction, target, options);
}

// A mean over samples and classes, times the samples.
Result<ValueId> ObjectiveEmitter::dice(ValueId prediction, ValueId target) {
  const auto samples = static_cast<double>(shape(prediction).at(0));
  DiceOptions options;
  if (has_classes(prediction, target)) {
    target = class_numbers(prediction, target);
    options.probabilities = Probabilities::kSoftmax;
    options.skips_background = true;
  } else {
    target = like_prediction(prediction, target);
  }
  HONE_ASSIGN(const ValueId mean, dice_loss(b_, prediction, target, options));
  return op("Mul", {mean, number(samples)});
}

Result<ValueId> ObjectiveEmitter::sum_of(const LossTerm& term, ValueId prediction, ValueId target) {
  switch (term.kind) {
    case LossKind::kCrossEntropy:
      return cross_entropy(prediction, target);
    case LossKind::kDice:
      return dice(prediction, target);
    case LossKind::kBce:
      return binary_cross_entropy_loss(b_, prediction, like_prediction(prediction, target),
                                       {.positive_weight = kNoValue, .reduction = LossReduction::kSum});
    case LossKind::kMse:
      return squared_error_loss(b_, prediction, like_prediction(prediction, target), LossReduction::kSum);
    case LossKind::kMae:
      return absolute_error_loss(b_, prediction, like_prediction(prediction, target), LossReduction::kSum);
    case LossKind::kHuber:
      break;
  }
  return huber_loss(b_, prediction, like_prediction(prediction, target), o_.huber_delta, LossReduction::kSum);
}

Result<LossSum> ObjectiveEmitter::loss(const LossTerm& term, ValueId prediction, ValueId target) {
  LossSum made;
  made.count = loss_count(term, b_.type(prediction), target);
  HONE_ASSIGN(made.sum, sum_of(term, prediction, target));
  return made;
}

ValueId ObjectiveEmitter::loss_count(const LossTerm& term, const TensorType& prediction, ValueId target) {
  const Shape labels = shape(target);
  if (term.kind == LossKind::kDice) return number(static_cast<double>(labels.at(0)));
  if (term.kind == LossKind::kCrossEntropy && o_.ignore) {
    const ValueId counts = cast(counted(cast(target, DType::kI64)), DType::kF32);
    return op("Max", {sum_all(counts), number(1)});  // a batch without labels has no loss, not NaN
  }
  if (term.kind == LossKind::kCrossEntropy) return number(static_cast<double>(element_count(labels)));
  const Shape predicted = prediction.shape();
  const auto samples = static_cast<double>(labels.at(0));
  return number(samples * static_cast<double>(element_count(predicted)) /
                static_cast<double>(predicted.at(0)));
}

// Of 0s and 1s, [samples, …] or [samples, classes, …]: |A∩B| and |A| + |B| of each sample and class.
ValueId ObjectiveEmitter::overlaps(ValueId predicted, ValueId truth) {
  const int64_t rank = b_.type(predicted).rank();
  Ints over(static_cast<std::size_t>(std::max<int64_t>(rank - 2, 0)));
  std::iota(over.begin(), over.end(), 2);
  const auto summed = [&](ValueId value) { return over.empty() ? value : sum_over(value, over); };
  return op("Concat", {summed(op("Mul", {predicted, truth})), summed(op("Add", {predicted, truth}))},
            {{"axis", int64_t{1}}});
}

std::vector<ValueId> ObjectiveEmitter::metric_counts(ValueId prediction, ValueId target) {
  if (o_.metric != MetricKind::kAccuracy && o_.metric != MetricKind::kDice && o_.metric != MetricKind::kIou)
    return {};
  const bool classes = has_classes(prediction, target);
  if (o_.metric != MetricKind::kAccuracy && !classes) {
    const ValueId predicted = cast(op("Greater", {prediction, number(0)}), DType::kF32);
    return {overlaps(predicted, like_prediction(prediction, target))};
  }
  const int64_t axis = *class_axis(b_.type(prediction), b_.type(target));
  const ValueId labels = class_numbers(prediction, target);
  const ValueId named = op("ArgMax", {prediction}, {{"axis", axis}, {"keepdims", int64_t{0}}});
  if (o_.metric != MetricKind::kAccuracy) {
    const int64_t count = shape(prediction)[static_cast<std::size_t>(axis)];
    const int64_t rank = b_.type(prediction).rank();
    return {overlaps(cast(is_class(named, axis, count, rank), DType::kF32),
                     cast(is_class(labels, axis, count, rank), DType::kF32))};
  }
  ValueId right = op("Equal", {named, labels});
  const ValueId counts = counted(labels);
  if (counts.valid()) right = op("And", {right, counts});
  const auto of_sample = [&](ValueId flags) {
    ValueId sums = cast(flags, DType::kF32);
    const Ints over = axes_but(sums, {0});
    if (!over.empty()) sums = sum_over(sums, over);
    return op("Unsqueeze", {sums, ints({1})});
  };
  const ValueId all = counts.valid() ? counts : op("Equal", {labels, labels});
  return {op("Concat", {of_sample(right), of_sample(all)}, {{"axis", int64_t{1}}})};
}

std::string shapes_text(const TensorType& prediction, const TensorType& target) {
  return fmt::format("the model predicts {}, the labels are {}", prediction.text(), target.text());
}

bool same_count(const TensorType& prediction, const TensorType& target) {
  return element_count(prediction.shape()) == element_count(target.shape()) &&
         prediction.shape().at(0) == target.shape().at(0);
}

Status check_term(const LossTerm& term, const TensorType& prediction, const TensorType& target) {
  const auto name = loss_names()[static_cast<std::size_t>(term.kind)];
  const bool classes = class_axis(prediction, target).ok();
  if (term.kind == LossKind::kCrossEntropy) {
    if (!classes) return class_axis(prediction, target).error().within(fmt::format("loss {}", name));
    return {};
  }
  if (term.kind == LossKind::kDice && classes) return {};
  if (same_count(prediction, target)) return {};
  return invalid(fmt::format("loss {}: {}; it needs a label for each prediction", name,
                             shapes_text(prediction, target)));
}

}  // namespace

std::span<const std::string_view> loss_names() {
  static constexpr std::array<std::string_view, 6> kNames = {"cross-entropy", "bce", "dice",
                                                             "mse",           "mae", "huber"};
  return kNames;
}

std::span<const std::string_view> metric_names() {
  static constexpr std::array<std::string_view, 6> kNames = {"none", "accuracy",      "dice",
                                                             "iou",  "bits-per-byte", "perplexity"};
  return kNames;
}

bool larger_is_better(MetricKind metric) {
  return metric != MetricKind::kBitsPerByte && metric != MetricKind::kPerplexity &&
         metric != MetricKind::kNone;
}

Result<int64_t> class_axis(const TensorType& prediction, const TensorType& target) {
  const Shape scores = prediction.shape();
  const Shape labels = class_shape(prediction, target);
  if (!is_integer(target.dtype) && target.dtype != DType::kBool)
    return invalid(fmt::format("class numbers are integers, but {}", shapes_text(prediction, target)));
  const auto rank = static_cast<int64_t>(scores.size());
  std::vector<int64_t> axes;
  for (const int64_t axis : {int64_t{1}, rank - 1}) {
    if (axis < 1 || axis >= rank || (!axes.empty() && axes.back() == axis)) continue;
    Shape without = scores;
    without.erase(without.begin() + axis);
    if (without == labels && scores[static_cast<std::size_t>(axis)] > 1) axes.push_back(axis);
  }
  if (axes.empty())
    return invalid(fmt::format("{}; it needs one class number for each place, classes on axis 1 or the last",
                               shapes_text(prediction, target)));
  return axes.back();  // of [N, T, C] with T = C, the last: sequences
}

Status check_objective(const Objective& objective, const TensorType& prediction, const TensorType& target) {
  if (prediction.dtype != DType::kF32)
    return invalid(fmt::format("the model predicts {}; training is of f32", prediction.text()));
  if (prediction.shape().empty() || target.shape().empty() || prediction.shape()[0] != target.shape()[0])
    return invalid(fmt::format("{}; both begin with the batch", shapes_text(prediction, target)));
  for (const LossTerm& term : objective.terms) HONE_CHECK(check_term(term, prediction, target));
  const auto metric = metric_names()[static_cast<std::size_t>(objective.metric)];
  const bool cross_entropy =
      objective.terms.size() == 1 && objective.terms[0].kind == LossKind::kCrossEntropy;
  switch (objective.metric) {
    case MetricKind::kNone:
      return {};
    case MetricKind::kAccuracy:
      if (auto axis = class_axis(prediction, target); !axis.ok())
        return axis.error().within(fmt::format("metric {}", metric));
      return {};
    case MetricKind::kBitsPerByte:
      if (prediction.shape().size() < 3)
        return invalid(
            fmt::format("metric {}: is of bytes in a row; {}", metric, shapes_text(prediction, target)));
      [[fallthrough]];
    case MetricKind::kPerplexity:
      if (cross_entropy && objective.smoothing == 0) return {};
      return invalid(fmt::format("metric {}: is of cross-entropy alone, without smoothing", metric));
    case MetricKind::kDice:
    case MetricKind::kIou:
      if (prediction.shape().size() < 3)
        return invalid(fmt::format("metric {}: is of masks; {}", metric, shapes_text(prediction, target)));
      if (class_axis(prediction, target).ok() || same_count(prediction, target)) return {};
      return invalid(fmt::format("metric {}: {}", metric, shapes_text(prediction, target)));
  }
  return {};
}

Result<LossSum> emit_loss(GraphBuilder& builder, const Objective& objective, const LossTerm& term,
                          ValueId prediction, ValueId target) {
  return ObjectiveEmitter(builder, objective).loss(term, prediction, target);
}

ValueId emit_loss_count(GraphBuilder& builder, const Objective& objective, const LossTerm& term,
                        const TensorType& prediction, ValueId target) {
  return ObjectiveEmitter(builder, objective).loss_count(term, prediction, target);
}

std::vector<ValueId> emit_metric_counts(GraphBuilder& builder, const Objective& objective, ValueId prediction,
                                        ValueId target) {
  return ObjectiveEmitter(builder, objective).metric_counts(prediction, target);
}

double metric_of(MetricKind metric, const std::vector<double>& counts, double mean_loss) {
  switch (metric) {
    case MetricKind::kBitsPerByte:
      return mean_loss / std::log(2.0);
    case MetricKind::kPerplexity:
      return std::exp(mean_loss);
    case MetricKind::kAccuracy:
      return counts[0] / std::max(counts[1], 1.0);
    case MetricKind::kDice:
    case MetricKind::kIou:
      break;
    case MetricKind::kNone:
      return 0;
  }
  const std::size_t classes = counts.size() / 2;
  const std::size_t first = classes > 1 ? 1 : 0;  // the background does not count
  double sum = 0;
  for (std::size_t c = first; c < classes; ++c) {
    const double both = counts[c];
    const double sizes = counts[classes + c];
    const double divisor = metric == MetricKind::kDice ? sizes : sizes - both;
    sum += divisor == 0 ? 1 : (metric == MetricKind::kDice ? 2 : 1) * both / divisor;
  }
  return sum / static_cast<double>(classes - first);
}

}  // namespace hone::graph
