#include "kernels/cuda/element_choice.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

using Kind = ChoiceProgram::Kind;

// The body of a kernel of result `e`.
struct ChoiceText {
  std::string_view parameters, body;
};

constexpr std::string_view kFaultParameters = ", unsigned long long* fault, unsigned long long word";

constexpr ChoiceText kTriangleText = {"const Element* x, const hone_i64* diagonal, Element* y", R"cuda(
  const hone_i64 beyond = e % kInner - e / kInner % kExtent;
  hone_i64 least = diagonal ? *diagonal : 0;
  least = least < -kExtent ? -kExtent : least > kInner ? kInner : least;
  y[e] = (kUpper ? beyond >= least : beyond <= least) ? x[e] : Element();
)cuda"};

// What is no class is off everywhere.
constexpr ChoiceText kOneHotText = {"const Index* indices, const Element* values, Element* y", R"cuda(
  const IndexSum given = IndexForm::held(indices[e / (kExtent * kInner) * kInner + e % kInner]);
  const bool nan = given != given;  // which is 0 as an integer
  const bool known = nan || (given >= (IndexSum)0 ? given < (IndexSum)kExtent : given > (IndexSum)(-kExtent - 1));
  const hone_i64 index = known && !nan ? (hone_i64)given : 0, hot = index < 0 ? index + kExtent : index;
  const bool within = known && hot >= 0 && hot < kExtent;
  y[e] = values[within && hot == e / kInner % kExtent];
)cuda"};

constexpr ChoiceText kCacheText = {
    "const Element* x, const Element* entries, const hone_i64* starts, Element* y", R"cuda(
  const hone_i64 start = starts ? starts[e / kOfBatch] : 0;
  hone_i64 from = e / kInner % kExtent - start % kExtent;
  bool fits = true;
  if (kCircular) {
    from = (from % kExtent + kExtent) % kExtent;
  } else {
    fits = start >= 0 && start <= kExtent - kWritten;
    from = e / kInner % kExtent - (fits ? start : 0);
  }
  if (!fits && fault) atomicCAS(fault, 0ull, word);
  const bool is_new = fits && from >= 0 && from < kWritten;
  y[e] = is_new ? entries[(e / (kExtent * kInner) * kWritten + from) * kInner + e % kInner] : x[e];
)cuda"};

constexpr ChoiceText kReverseText = {"const Element* x, const hone_i64* lengths, Element* y", R"cuda(
  const hone_i64 length = lengths[e / kOfBatch % kBatch], t = e / kInner % kExtent;
  const bool fits = length >= 0 && length <= kExtent;
  if (!fits && fault) atomicCAS(fault, 0ull, word);
  y[e] = x[e + (fits && t < length ? length - 1 - 2 * t : 0) * kInner];
)cuda"};

const ChoiceText& text_of(Kind kind) {
  switch (kind) {
    case Kind::kTriangle:
      return kTriangleText;
    case Kind::kOneHot:
      return kOneHotText;
    case Kind::kCache:
      return kCacheText;
    case Kind::kReverse:
      break;
  }
  return kReverseText;
}

std::string_view memory_of_size(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned";
    case 8:
      return "unsigned long long";
    case 16:
      return "HoneVector<unsigned, 4>";
    default:
      return {};
  }
}

}  // namespace

Result<ChoiceKernel> generate_choice(const ChoiceProgram& program) {
  const std::string_view memory = memory_of_size(program.element_size);
  const auto index = number_form(program.indices);
  if (memory.empty() || !index)
    return unsupported(fmt::format("choosing elements of {} bytes", program.element_size));
  if (program.elements < 1 || program.extent < 1 || program.inner < 1 || program.of_batch < 1 ||
      program.batch < 1 || program.written < 1 || program.written > program.extent)
    return unsupported("choosing among nothing");
  ChoiceKernel kernel;
  kernel.blocks = (program.elements + kChoiceBlock - 1) / kChoiceBlock;
  const ChoiceText& own = text_of(program.kind);
  const bool faults = program.kind == Kind::kCache || program.kind == Kind::kReverse;
  const bool is_float_index = is_float(program.indices);
  std::string text = std::string(kBasePrelude);
  text += kWideForms;
  text += fmt::format(
      "typedef {} Element;\ntypedef {} Index;\ntypedef {} IndexForm;\ntypedef {} IndexSum;\n"
      "constexpr hone_i64 kExtent = {}, kInner = {}, kWritten = {}, kOfBatch = {}, kBatch = {};\n"
      "constexpr bool kUpper = {}, kCircular = {};\n",
      memory, index->memory, index->form, is_float_index ? index->wide : "hone_i64", program.extent,
      program.inner, program.written, program.of_batch, program.batch, program.upper, program.circular);
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}, 1) {1}({2}{3}) {{\n"
      "  const hone_i64 e = (hone_i64)blockIdx.x * {0} + threadIdx.x;\n  if (e >= {4}LL) return;{5}}}\n",
      kChoiceBlock, kChoiceEntry, own.parameters, faults ? kFaultParameters : "", program.elements, own.body);
  kernel.source = {.name = "element_choice.cu", .text = std::move(text), .options = {}};
  return kernel;
}

}  // namespace hone::kernels::gpu
