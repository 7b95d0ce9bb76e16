#include "graph/losses.h"

#include <numeric>

#include <fmt/core.h>

#include "graph/emitter.h"

namespace hone::graph {
namespace {

class LossEmitter : public NodeEmitter {
 public:
  LossEmitter(GraphBuilder& builder, const char* name) : NodeEmitter(builder, name, {name}), name_(name) {}

  // Scores in the type that losses are computed in.
  ValueId wide(ValueId scores, const char* what) {
    if (!is_float(type(scores).dtype))
      fail(invalid(fmt::format("{}: {} are {}, must be floating-point", name_, what, type(scores).text())));
    return cast(scores, type(scores).dtype == DType::kF64 ? DType::kF64 : DType::kF32);
  }
  ValueId classes(ValueId targets) {
    if (!is_integer(type(targets).dtype))
      fail(invalid(fmt::format("{}: classes are {}, must be integers", name_, type(targets).text())));
    return cast(targets, DType::kI64);
  }
  // How many classes scores [N, C, d…] have.
  int64_t class_count(ValueId scores) {
    const TensorType& own = type(scores);
    if (own.has_rank() && own.rank() >= 2 && (*own.dims)[1].known()) return (*own.dims)[1].extent();
    fail(invalid(fmt::format("{}: how many classes {} has is not known", name_, own.text())));
    return 1;
  }
  // Two values of one shape, as far as extents are known. PyTorch's losses broadcast with a warning, which is
  // nearly always a bug of the model.
  void expect_same_shape(ValueId a, ValueId b) {
    const TensorType& left = type(a);
    const TensorType& right = type(b);
    if (!left.has_rank() || !right.has_rank()) return;
    bool fits = left.rank() == right.rank();
    for (std::size_t i = 0; fits && i < left.dims->size(); ++i) {
      const Dim& m = (*left.dims)[i];
      const Dim& n = (*right.dims)[i];
      fits = !m.known() || !n.known() || m.extent() == n.extent();
    }
    if (!fits) fail(invalid(fmt::format("{}: {} and {} differ in shape", name_, left.text(), right.text())));
  }
  ValueId reduced(ValueId losses, LossReduction reduction) {
    if (reduction == LossReduction::kNone) return losses;
    const char* op = reduction == LossReduction::kMean ? "ReduceMean" : "ReduceSum";
    return add(op, {losses}, {{"keepdims", int64_t{0}}});
  }
  // [N, C, d…] as [N, d…].
  ValueId summed_over_classes(ValueId value) {
    return add("ReduceSum", {value, ints({1})}, {{"keepdims", int64_t{0}}});
  }
  // 0 and 1 of each class: [N, C, d…] of classes [N, d…].
  ValueId one_hot(ValueId targets, int64_t count, DType dtype) {
    Ints numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    Shape shape(static_cast<std::size_t>(rank_of(targets) + 1), 1);
    if (shape.size() < 2) {
      fail(invalid(fmt::format("{}: the rank of the classes {} is not known", name_, type(targets).text())));
      return kNoValue;
    }
    shape[1] = count;
    const ValueId each = tensor(Tensor::i64(shape, numbers));
    return cast(add("Equal", {add("Unsqueeze", {targets, ints({1})}), each}), dtype);
  }
  Result<ValueId> result(ValueId loss) const {
    if (!status_.ok()) return status_.error();
    return loss;
  }
  const char* name() const { return name_; }

 private:
  const char* name_;
};

std::string reduction_name(LossReduction reduction) {
  switch (reduction) {
    case LossReduction::kMean:
      return "mean";
    case LossReduction::kSum:
      return "sum";
    case LossReduction::kNone:
      break;
  }
  return "none";
}

// What the smoothing of labels adds: −log p of every class alike, of the samples that count.
ValueId smoothed(LossEmitter& e, ValueId likelihood, ValueId log_probabilities, ValueId targets,
                 ValueId weights, const CrossEntropyOptions& options) {
  const int64_t count = e.class_count(log_probabilities);
  const DType dtype = e.type(log_probabilities).dtype;
  ValueId weighted = log_probabilities;
  if (weights.valid()) {
    Ints shape(static_cast<std::size_t>(e.rank_of(log_probabilities)), 1);
    shape[1] = count;
    weighted = e.times(weighted, e.add("Reshape", {weights, e.ints(shape)}));
  }
  ValueId every = e.negative(e.summed_over_classes(weighted));
  ValueId counts = kNoValue;  // whether a sample does
  ValueId known = targets;
  if (options.ignore_index) {
    const ValueId ignored = e.add("Equal", {targets, e.integer(*options.ignore_index)});
    counts = e.cast(e.add("Not", {ignored}), dtype);
    known = e.choose(ignored, e.integer(0), targets);
    every = e.choose(ignored, e.scalar(0, every), every);
  }
  if (options.reduction != LossReduction::kNone) every = e.reduced(every, LossReduction::kSum);
  if (options.reduction == LossReduction::kMean) {
    ValueId total = counts;
    if (weights.valid()) {
      total = e.add("Gather", {weights, known});
      if (counts.valid()) total = e.times(total, counts);
    }
    total = total.valid() ? e.reduced(total, LossReduction::kSum) : e.cast(e.add("Size", {targets}), dtype);
    every = e.over(every, total);
  }
  const double part = options.label_smoothing;
  return e.plus(e.times(likelihood, 1 - part), e.times(every, part / static_cast<double>(count)));
}

ValueId difference(LossEmitter& e, ValueId predicted, ValueId targets) {
  e.expect_same_shape(predicted, targets);
  const ValueId y = e.wide(predicted, "predictions");
  return e.minus(y, e.cast(targets, e.type(y).dtype));
}

}  // namespace

Result<ValueId> cross_entropy_loss(GraphBuilder& builder, ValueId scores, ValueId targets,
                                   const CrossEntropyOptions& options) {
  LossEmitter e(builder, "cross_entropy");
  if (options.label_smoothing < 0 || options.label_smoothing > 1)
    return invalid(
        fmt::format("cross_entropy: label smoothing {} is not in [0, 1]", options.label_smoothing));
  const ValueId wide = e.wide(scores, "scores");
  const ValueId classes = e.classes(targets);
  std::vector<ValueId> inputs{wide, classes};
  ValueId weights = kNoValue;
  if (options.class_weights.valid()) {
    weights = e.cast(options.class_weights, e.type(wide).dtype);
    inputs.push_back(weights);
  }
  Attributes attributes{{"reduction", reduction_name(options.reduction)}};
  if (options.ignore_index) attributes.set("ignore_index", *options.ignore_index);
  const bool smooths = options.label_smoothing > 0;
  const auto made = e.add_many("SoftmaxCrossEntropyLoss", inputs, smooths ? 2 : 1, std::move(attributes));
  return e.result(smooths ? smoothed(e, made[0], made[1], classes, weights, options) : made[0]);
}

Result<ValueId> binary_cross_entropy_loss(GraphBuilder& builder, ValueId logits, ValueId targets,
                                          const BinaryCrossEntropyOptions& options) {
  LossEmitter e(builder, "binary_cross_entropy");
  e.expect_same_shape(logits, targets);
  const ValueId x = e.wide(logits, "logits");
  const ValueId t = e.cast(targets, e.type(x).dtype);
  if (!options.positive_weight.valid())  // log(1 + eˣ) − t · x
    return e.result(e.reduced(e.minus(e.add("Softplus", {x}), e.times(t, x)), options.reduction));
  const ValueId one = e.scalar(1, x);
  const ValueId more = e.minus(e.cast(options.positive_weight, e.type(x).dtype), one);
  const ValueId weight = e.plus(e.times(more, t), one);
  const ValueId steep = e.times(weight, e.add("Softplus", {e.negative(x)}));
  return e.result(e.reduced(e.plus(e.times(e.minus(one, t), x), steep), options.reduction));
}

Result<ValueId> dice_loss(GraphBuilder& builder, ValueId scores, ValueId targets,
                          const DiceOptions& options) {
  LossEmitter e(builder, "dice");
  ValueId p = e.wide(scores, "scores");
  if (e.rank_of(p) < 3)
    return invalid(fmt::format("dice: scores are {}, must be [batch, classes, pixels…]", e.type(p).text()));
  if (options.probabilities == Probabilities::kSigmoid) p = e.add("Sigmoid", {p});
  if (options.probabilities == Probabilities::kSoftmax) p = e.add("Softmax", {p}, {{"axis", int64_t{1}}});
  ValueId t = targets;
  if (e.rank_of(t) == e.rank_of(p) - 1) {
    const int64_t count = e.class_count(p);
    if (count < 2) return invalid("dice: targets that are classes need more than one class of scores");
    t = e.one_hot(e.classes(t), count, e.type(p).dtype);
  }
  t = e.cast(t, e.type(p).dtype);
  e.expect_same_shape(p, t);
  if (options.skips_background) {
    const auto without_first = [&](ValueId value) {
      return e.add("Slice", {value, e.ints({1}), e.ints({e.class_count(p)}), e.ints({1})});
    };
    if (e.class_count(p) < 2) return invalid("dice: there is no class beside the background");
    const ValueId rest = without_first(p);
    t = without_first(t);
    p = rest;
  }
  Ints over(static_cast<std::size_t>(e.rank_of(p)));
  std::iota(over.begin(), over.end(), 0);
  over.erase(over.begin() + (options.over_batch ? 1 : 0), over.begin() + 2);
  const auto sum = [&](ValueId value) { return e.summed(value, over); };
  const ValueId overlap = sum(e.times(p, t));
  const ValueId sizes =
      options.squared ? e.plus(sum(e.times(p, p)), sum(e.times(t, t))) : e.plus(sum(p), sum(t));
  const ValueId smooth = e.scalar(options.smooth, overlap);
  const ValueId coefficient = e.over(e.plus(e.times(overlap, 2), smooth), e.plus(sizes, smooth));
  return e.result(e.minus(e.scalar(1, coefficient), e.reduced(coefficient, LossReduction::kMean)));
}

Result<ValueId> squared_error_loss(GraphBuilder& builder, ValueId predicted, ValueId targets,
                                   LossReduction reduction) {
  LossEmitter e(builder, "squared_error");
  const ValueId d = difference(e, predicted, targets);
  return e.result(e.reduced(e.times(d, d), reduction));
}

Result<ValueId> absolute_error_loss(GraphBuilder& builder, ValueId predicted, ValueId targets,
                                    LossReduction reduction) {
  LossEmitter e(builder, "absolute_error");
  return e.result(e.reduced(e.add("Abs", {difference(e, predicted, targets)}), reduction));
}

// With c = min(|d|, δ) both branches are c · (|d| − c / 2).
Result<ValueId> huber_loss(GraphBuilder& builder, ValueId predicted, ValueId targets, double delta,
                           LossReduction reduction) {
  LossEmitter e(builder, "huber");
  if (!(delta > 0)) return invalid(fmt::format("huber: delta is {}, must be above 0", delta));
  const ValueId d = e.add("Abs", {difference(e, predicted, targets)});
  const ValueId c = e.add("Clip", {d, kNoValue, e.scalar(delta, d)});
  return e.result(e.reduced(e.times(c, e.minus(d, e.times(c, 0.5))), reduction));
}

Result<ValueId> distillation_loss(GraphBuilder& builder, ValueId student, ValueId teacher,
                                  const DistillationOptions& options) {
  LossEmitter e(builder, "distillation");
  const double temperature = options.temperature;
  if (!(temperature > 0))
    return invalid(fmt::format("distillation: the temperature is {}, must be above 0", temperature));
  e.expect_same_shape(student, teacher);
  const ValueId own = e.wide(student, "the student's scores");
  if (e.type(own).has_rank() && e.rank_of(own) < 2)
    return invalid(
        fmt::format("distillation: scores are {}, must be [batch, classes, …]", e.type(own).text()));
  const ValueId given = e.cast(e.wide(teacher, "the teacher's scores"), e.type(own).dtype);
  const Attributes classes{{"axis", int64_t{1}}};
  const auto cooled = [&](ValueId value) {
    return temperature == 1 ? value : e.times(value, 1 / temperature);
  };
  const ValueId log_p = e.add("LogSoftmax", {cooled(own)}, classes);
  const ValueId log_q = e.add("LogSoftmax", {cooled(given)}, classes);
  const ValueId q = e.add("Exp", {log_q});
  const ValueId zero = e.scalar(0, q);
  const ValueId terms = e.choose(e.add("Greater", {q, zero}), e.times(q, e.minus(log_q, log_p)), zero);
  const ValueId losses = e.times(e.summed_over_classes(terms), temperature * temperature);
  return e.result(e.reduced(losses, options.reduction));
}

}  // namespace hone::graph
