// Compositions in the fake cuDNN: which graphs of products, functions, reductions and views its engines take (attention and its
// gradient, by the rules that NVIDIA documents for them), and what they compute, one operation after the other as each is
// described: nothing here knows what attention is.
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "cuda/testing/fake_cudnn_graph.h"

namespace hone::cuda::fake_cudnn {
namespace {

using Numbers = std::vector<double>;  // of a tensor, in the order of its axes

constexpr int64_t kWholeRow = 8, kMostColumns = 256;

// Visits (place in the order of axes, index along each axis).
template <typename Visit>
void each_element(const std::vector<int64_t>& extents, Visit&& visit) {
  std::vector<int64_t> at(extents.size(), 0);
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  for (int64_t place = 0; place < count; ++place) {
    visit(static_cast<size_t>(place), at);
    for (size_t i = extents.size(); i > 0 && ++at[i - 1] == extents[i - 1];) at[--i] = 0;
  }
}

int64_t offset_of(const std::vector<int64_t>& at, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < at.size(); ++i) offset += at[i] * strides[i];
  return offset;
}

// The place of the element of `small` that stands for the one of `large` at `at`: each of its elements for as many in turn.
size_t shared_place(const std::vector<int64_t>& at, const std::vector<int64_t>& large,
                    const std::vector<int64_t>& small) {
  int64_t place = 0;
  for (size_t i = 0; i < at.size(); ++i) place = place * small[i] + at[i] * small[i] / large[i];
  return static_cast<size_t>(place);
}

// --- reading ---

std::optional<ComposedStep> read_step(const Object& operation) {
  using enum CudnnAttribute;
  const auto tensor = [&](Attribute name) { return TensorView(operation.object(name)); };
  const auto maybe = [&](Attribute name) {
    return operation.has(name) ? std::optional(tensor(name)) : std::nullopt;
  };
  const auto in_f32 = [](const Object& of, Attribute name) {
    return of.one<CudnnDataType>(name) == CudnnDataType::kF32;
  };
  switch (operation.kind) {
    case Kind::kProductOperation:
      if (!in_f32(operation.object(kProductDescriptor), kProductComputeType)) return std::nullopt;
      return ComposedStep{.kind = operation.kind,
                          .x = tensor(kProductA),
                          .b = tensor(kProductB),
                          .t = {},
                          .y = tensor(kProductC)};
    case Kind::kPointwiseOperation: {
      const Object& function = operation.object(kPointwiseDescriptor);
      return ComposedStep{.kind = operation.kind,
                          .mode = function.one<CudnnPointwise>(kPointwiseMode),
                          .axis = function.one<int64_t>(kPointwiseAxis, -1),
                          .x = tensor(kPointwiseX),
                          .b = maybe(kPointwiseB),
                          .t = maybe(kPointwiseT),
                          .y = tensor(kPointwiseY)};
    }
    case Kind::kReductionOperation: {
      const Object& reduction = operation.object(kReductionDescriptor);
      if (!in_f32(reduction, kReductionComputeType)) return std::nullopt;
      return ComposedStep{.kind = operation.kind,
                          .reduction = reduction.one<CudnnReduction>(kReductionOperator),
                          .x = tensor(kReductionX),
                          .b = {},
                          .t = {},
                          .y = tensor(kReductionY)};
    }
    case Kind::kReshapeOperation:
      return ComposedStep{
          .kind = operation.kind, .x = tensor(kReshapeX), .b = {}, .t = {}, .y = tensor(kReshapeY)};
    default:
      return std::nullopt;
  }
}

bool divides_each(const std::vector<int64_t>& small, const std::vector<int64_t>& large) {
  if (small.size() != large.size()) return false;
  for (size_t i = 0; i < small.size(); ++i)
    if (small[i] > large[i] || large[i] % small[i] != 0) return false;
  return true;
}

bool fits(const ComposedStep& step) {
  const auto& x = step.x.extents;
  const auto& y = step.y.extents;
  if (x.size() != 4 || y.size() != 4) return false;
  switch (step.kind) {
    case Kind::kProductOperation: {
      const auto& b = step.b->extents;
      return b.size() == 4 && x[0] == b[0] && y[0] == x[0] && y[1] == x[1] && x[1] % b[1] == 0 &&
             x[3] == b[2] && y[2] == x[2] && y[3] == b[3];
    }
    case Kind::kReductionOperation:
      return divides_each(y, x);
    case Kind::kReshapeOperation:
      return step.x.count() == step.y.count();
    default: {
      using enum CudnnPointwise;
      const bool two = step.mode == kAdd || step.mode == kSub || step.mode == kMul || step.mode == kDiv ||
                       step.mode == kGreaterOrEqual || step.mode == kSelect;
      const bool one =
          step.mode == kExp || step.mode == kLog || step.mode == kIdentity || step.mode == kIndex;
      if ((!two && !one) || two != step.b.has_value() || (step.mode == kSelect) != step.t.has_value())
        return false;
      if (step.mode == kIndex && (step.axis < 0 || step.axis > 3)) return false;
      return x == y && (!step.b || divides_each(step.b->extents, y)) && (!step.t || step.t->extents == y);
    }
  }
}

bool is_half(const TensorView& tensor) {
  return tensor.type == CudnnDataType::kF16 || tensor.type == CudnnDataType::kBF16;
}

// Heads of halves whose rows the library reads whole; masks may be of f32.
bool lies_well(const TensorView& tensor) {
  if (tensor.is_virtual || tensor.by_value || !is_half(tensor)) return true;
  const bool turned = tensor.strides[3] != 1;
  const size_t rows = turned ? 3 : 2;
  return tensor.strides[turned ? 2 : 3] == 1 && tensor.strides[0] % kWholeRow == 0 &&
         tensor.strides[1] % kWholeRow == 0 && tensor.strides[rows] % kWholeRow == 0;
}

}  // namespace

// Two products around a softmax, or five: no other graph has an engine.
std::optional<Program> read_composition(const std::vector<const Object*>& operations) {
  Program program{.convolved = {}, .steps = {}, .attention = {}, .composition = Composition{}, .memory = {}};
  std::map<int64_t, TensorView> known;  // what has been made, or is given
  std::set<int64_t> made;
  int64_t products = 0;
  for (const Object* const operation : operations) {
    auto step = read_step(*operation);
    if (!step || !fits(*step)) return std::nullopt;
    for (const TensorView* const read :
         {&step->x, step->b ? &*step->b : nullptr, step->t ? &*step->t : nullptr}) {
      if (read == nullptr) continue;
      if (read->is_virtual && !made.contains(read->uid)) return std::nullopt;  // nobody made it
      known.emplace(read->uid, *read);
    }
    if (!made.insert(step->y.uid).second) return std::nullopt;
    known.emplace(step->y.uid, step->y);
    if (step->kind == Kind::kProductOperation) {
      ++products;
      if (step->x.type == CudnnDataType::kF32 && !step->x.is_virtual) return std::nullopt;
    }
    program.composition->steps.push_back(std::move(*step));
  }
  if (products != 2 && products != 5) return std::nullopt;
  for (const auto& [uid, tensor] : known) {
    if (tensor.is_virtual) continue;
    if (!lies_well(tensor) || (tensor.by_value && tensor.type != CudnnDataType::kF32)) return std::nullopt;
    program.memory.push_back(tensor);
  }
  for (const ComposedStep& step : program.composition->steps) {
    if (step.kind != Kind::kProductOperation || step.x.is_virtual) continue;
    if (step.x.extents[3] % kWholeRow != 0 || step.x.extents[3] > kMostColumns) return std::nullopt;
  }
  return program;
}

// --- computing ---

namespace {

class Composed {
 public:
  explicit Composed(const ProgramRun& run) : run_(run) {}

  void compute() {
    for (const ComposedStep& step : run_.program.composition->steps) put(step.y, numbers_of(step));
  }

 private:
  Numbers numbers_of(const ComposedStep& step) {
    switch (step.kind) {
      case Kind::kProductOperation:
        return product(step);
      case Kind::kReductionOperation:
        return reduce(step);
      case Kind::kReshapeOperation:
        return view(step);
      default:
        return pointwise(step);
    }
  }

  Numbers get(const TensorView& tensor) const {
    if (tensor.by_value) return {static_cast<double>(run_.by_value.at(tensor.uid))};
    if (const auto known = between_.find(tensor.uid); known != between_.end()) return known->second;
    Numbers numbers(static_cast<size_t>(tensor.count()));
    each_element(tensor.extents, [&](size_t place, const std::vector<int64_t>& at) {
      numbers[place] = load(run_.at.at(tensor.uid), tensor.type, offset_of(at, tensor.strides));
    });
    return numbers;
  }

  // What lies between operations is rounded to its type, too.
  void put(const TensorView& tensor, Numbers numbers) {
    if (!tensor.is_virtual) {
      each_element(tensor.extents, [&](size_t place, const std::vector<int64_t>& at) {
        store(run_.at.at(tensor.uid), tensor.type, offset_of(at, tensor.strides),
              run_.wrong ? std::nan("") : numbers[place]);
      });
      return;
    }
    if (is_half(tensor) || tensor.type == CudnnDataType::kF32) {
      for (double& number : numbers) {
        float word = 0;
        store(&word, tensor.type, 0, number);
        number = load(&word, tensor.type, 0);
      }
    }
    between_[tensor.uid] = std::move(numbers);
  }

  Numbers product(const ComposedStep& step) const {
    const Numbers a = get(step.x), b = get(*step.b);
    const int64_t depth = step.x.extents[3], columns = step.y.extents[3];
    const int64_t shared = step.x.extents[1] / step.b->extents[1];
    Numbers result(static_cast<size_t>(step.y.count()));
    each_element(step.y.extents, [&](size_t place, const std::vector<int64_t>& at) {
      const int64_t row = ((at[0] * step.x.extents[1] + at[1]) * step.x.extents[2] + at[2]) * depth;
      const int64_t matrix = (at[0] * step.b->extents[1] + at[1] / shared) * depth * columns;
      double sum = 0;
      for (int64_t i = 0; i < depth; ++i)
        sum += a[static_cast<size_t>(row + i)] * b[static_cast<size_t>(matrix + i * columns + at[3])];
      result[place] = sum;
    });
    return result;
  }

  Numbers reduce(const ComposedStep& step) const {
    const Numbers x = get(step.x);
    const bool sum = step.reduction == CudnnReduction::kSum;
    Numbers result(static_cast<size_t>(step.y.count()), sum ? 0.0 : -INFINITY);
    each_element(step.x.extents, [&](size_t place, const std::vector<int64_t>& at) {
      double& into = result[shared_place(at, step.x.extents, step.y.extents)];
      into = sum ? into + x[place] : std::max(into, x[place]);
    });
    return result;
  }

  // The same places with other extents.
  Numbers view(const ComposedStep& step) const {
    const Numbers x = get(step.x);
    std::unordered_map<int64_t, double> at_offset;
    each_element(step.x.extents, [&](size_t place, const std::vector<int64_t>& at) {
      at_offset[offset_of(at, step.x.strides)] = x[place];
    });
    Numbers result(static_cast<size_t>(step.y.count()));
    each_element(step.y.extents, [&](size_t place, const std::vector<int64_t>& at) {
      result[place] = at_offset.at(offset_of(at, step.y.strides));
    });
    return result;
  }

  Numbers pointwise(const ComposedStep& step) const {
    const Numbers x = get(step.x), b = step.b ? get(*step.b) : Numbers(),
                  t = step.t ? get(*step.t) : Numbers();
    Numbers result(static_cast<size_t>(step.y.count()));
    each_element(step.y.extents, [&](size_t place, const std::vector<int64_t>& at) {
      const double second = b.empty() ? 0 : b[shared_place(at, step.y.extents, step.b->extents)];
      result[place] = function_of(step, x[place], second, t.empty() ? 0 : t[place], at);
    });
    return result;
  }

  static double function_of(const ComposedStep& step, double x, double b, double t,
                            const std::vector<int64_t>& at) {
    using enum CudnnPointwise;
    switch (step.mode) {
      case kAdd:
        return x + b;
      case kSub:
        return x - b;
      case kMul:
        return x * b;
      case kDiv:
        return x / b;
      case kExp:
        return std::exp(x);
      case kLog:
        return std::log(x);
      case kGreaterOrEqual:
        return x >= b ? 1 : 0;
      case kIndex:
        return static_cast<double>(at[static_cast<size_t>(step.axis)]);
      case kSelect:
        return t != 0 ? x : b;
      default:
        return x;
    }
  }

  const ProgramRun& run_;
  std::map<int64_t, Numbers> between_;
};

}  // namespace

void compute_composition(const ProgramRun& run) { Composed(run).compute(); }

}  // namespace hone::cuda::fake_cudnn
