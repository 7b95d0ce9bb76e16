// What a plugin says of itself, judged: everything that later code relies on is checked here, once.
#include <algorithm>
#include <set>

#include "hone/plugin.h"
#include <fmt/core.h>

#include "core/hash.h"
#include "plugin/infer.h"
#include "plugin/plugin.h"

namespace hone::plugin {
namespace {

constexpr int32_t kMostSides = 1024;  // inputs or outputs that an operator may ask for

bool is_plain_name(const char* text) {
  const std::string_view name = text != nullptr ? text : "";
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

// As is_plain_name(), and without the dot that stands between domain and name.
bool is_operator_name(const char* text) {
  return is_plain_name(text) && std::string_view(text).find('.') == std::string_view::npos;
}

bool is_kernel_name(const char* text) {
  const std::string_view name = text != nullptr ? text : "";
  return !name.empty() && name.size() <= 100 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::optional<graph::AttributeKind> attribute_kind(int32_t kind) {
  using graph::AttributeKind;
  switch (kind) {
    case HONE_ATTRIBUTE_INT:
      return AttributeKind::kInt;
    case HONE_ATTRIBUTE_FLOAT:
      return AttributeKind::kFloat;
    case HONE_ATTRIBUTE_STRING:
      return AttributeKind::kString;
    case HONE_ATTRIBUTE_INTS:
      return AttributeKind::kInts;
    case HONE_ATTRIBUTE_FLOATS:
      return AttributeKind::kFloats;
    case HONE_ATTRIBUTE_STRINGS:
      return AttributeKind::kStrings;
    case HONE_ATTRIBUTE_TENSOR:
      return AttributeKind::kTensor;
    default:
      return std::nullopt;
  }
}

Result<std::vector<graph::AttributeSpec>> attributes_of(const hone_operator& given) {
  if (given.attribute_count > 0 && given.attributes == nullptr) return invalid("attributes is NULL");
  std::vector<graph::AttributeSpec> specs;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < given.attribute_count; ++i) {
    const hone_attribute_spec& spec = given.attributes[i];
    if (!is_kernel_name(spec.name)) return invalid(fmt::format("attribute {} has no name", i));
    const auto kind = attribute_kind(spec.kind);
    if (!kind)
      return invalid(
          fmt::format("attribute '{}' is of kind {}, which is no HONE_ATTRIBUTE_…", spec.name, spec.kind));
    if (!names.insert(spec.name).second)
      return invalid(fmt::format("attribute '{}' is listed twice", spec.name));
    specs.push_back({.name = spec.name, .kind = *kind, .required = spec.required != 0});
  }
  return specs;
}

Status check_arity_of(const hone_operator& given) {
  const bool inputs =
      given.min_inputs >= 0 && given.min_inputs <= kMostSides &&
      (given.max_inputs == -1 || (given.max_inputs >= given.min_inputs && given.max_inputs <= kMostSides));
  if (!inputs)
    return invalid(fmt::format("takes {} to {} inputs, which is no range of 0 to {} (or to -1: any number)",
                               given.min_inputs, given.max_inputs, kMostSides));
  const bool outputs = given.min_outputs >= 1 && given.min_outputs <= kMostSides &&
                       (given.max_outputs == -1 ||
                        (given.max_outputs >= given.min_outputs && given.max_outputs <= kMostSides));
  if (!outputs)
    return invalid(fmt::format("gives {} to {} outputs, which is no range of 1 to {} (or to -1: any number)",
                               given.min_outputs, given.max_outputs, kMostSides));
  return {};
}

Status check_kernel(const hone_cpu_kernel& kernel) {
  return kernel.run != nullptr ? Status() : invalid("run is NULL");
}

Status check_kernel(const hone_cuda_kernel& kernel) {
  if (kernel.source == nullptr) return invalid("source is NULL");
  if (kernel.plan == nullptr) return invalid("plan is NULL");
  if (kernel.option_count > 0 && kernel.options == nullptr) return invalid("options is NULL");
  for (std::size_t i = 0; i < kernel.option_count; ++i)
    if (kernel.options[i] == nullptr) return invalid(fmt::format("option {} is NULL", i));
  return {};
}

template <typename Kernel>
Status check_kernels(const char* what, const Kernel* const* kernels, std::size_t count) {
  if (count > 0 && kernels == nullptr) return invalid(fmt::format("{}_kernels is NULL", what));
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) {
    if (kernels[i] == nullptr) return invalid(fmt::format("{} kernel {} is NULL", what, i));
    if (!is_kernel_name(kernels[i]->name))
      return invalid(fmt::format("{} kernel {} has no name of printable ASCII", what, i));
    if (!names.insert(kernels[i]->name).second)
      return invalid(fmt::format("two {} kernels are named '{}'", what, kernels[i]->name));
    if (Status status = check_kernel(*kernels[i]); !status.ok())
      return status.error().within(fmt::format("{} kernel '{}'", what, kernels[i]->name));
  }
  return {};
}

Status check_place_of_operator(const hone_operator& given) {
  const std::string_view domain = given.domain != nullptr ? given.domain : "";
  const bool onnx = domain.empty() || domain == "ai.onnx";
  if (graph::op_table().find(onnx ? given.name : fmt::format("{}.{}", domain, given.name)) != nullptr)
    return invalid("is an operator that hone has already; give it a domain of its own");
  if (onnx) return invalid("is in the default domain, which is ONNX's; give it a domain of its own");
  if (!is_plain_name(given.domain)) return invalid("has a domain of other characters than A-Z a-z 0-9 _ . -");
  if (domain == "hone") return invalid("is in domain 'hone', which is hone's own; give it another");
  if (given.since_version < 1)
    return invalid(fmt::format("has since_version {}; versions begin with 1", given.since_version));
  return {};
}

Status check_operator(const hone_operator& given) {
  HONE_CHECK(check_place_of_operator(given));
  HONE_CHECK(check_arity_of(given));
  if ((given.flags & ~uint32_t{HONE_PURE}) != 0)
    return invalid(
        fmt::format("has flags {:#x}, of which this hone knows {:#x}", given.flags, int{HONE_PURE}));
  if (given.infer == nullptr) return invalid("infer is NULL");
  HONE_CHECK(check_kernels("cpu", given.cpu_kernels, given.cpu_kernel_count));
  HONE_CHECK(check_kernels("cuda", given.cuda_kernels, given.cuda_kernel_count));
  if (given.reference != nullptr)
    if (Status status = check_kernel(*given.reference); !status.ok())
      return status.error().within("reference");
  if (given.reference == nullptr && given.cpu_kernel_count == 0)
    return invalid("has neither a reference nor a cpu kernel: nothing says what its numbers should be");
  return {};
}

struct OfPlugin {
  const hone_plugin& given;
  std::string file, identity;
};

Result<std::shared_ptr<const graph::CustomOperator>> operator_of(const OfPlugin& plugin,
                                                                 const hone_operator& given) {
  HONE_CHECK(check_operator(given));
  auto made = std::make_shared<graph::CustomOperator>();
  made->domain = given.domain;
  made->op = given.name;
  made->name = fmt::format("{}.{}", given.domain, given.name);
  made->since_version = given.since_version;
  made->plugin = fmt::format("{} {}", plugin.given.name, plugin.given.version);
  made->file = plugin.file;
  made->identity = plugin.identity;
  made->interface = &given;
  graph::OpEntry& entry = made->entry;
  entry.name = made->name;
  entry.min_inputs = given.min_inputs;
  entry.max_inputs = given.max_inputs;
  entry.min_outputs = given.min_outputs;
  entry.max_outputs = given.max_outputs;
  HONE_ASSIGN(entry.attributes, attributes_of(given));
  entry.infer = infer_by_plugin;
  if (given.cost != nullptr) entry.flops = flops_by_plugin;
  if (given.cost != nullptr) entry.bytes = bytes_by_plugin;
  entry.may_be_absent = given.optional_inputs;
  entry.pure = (given.flags & HONE_PURE) != 0;
  if (given.summary != nullptr) entry.summary = given.summary;
  return std::shared_ptr<const graph::CustomOperator>(std::move(made));
}

Status check_plugin(const hone_plugin& given) {
  if (given.abi < 1 || given.abi > HONE_PLUGIN_ABI)
    return unsupported(fmt::format(
        "is built for version {} of hone's plugin interface; this hone knows {}; build it against this "
        "hone's hone/plugin.h",
        given.abi, HONE_PLUGIN_ABI == 1 ? "version 1" : fmt::format("versions 1 to {}", HONE_PLUGIN_ABI)));
  if (!is_plain_name(given.name))
    return invalid("its name is NULL, empty or of other characters than A-Z a-z 0-9 _ . -");
  if (!is_plain_name(given.version))
    return invalid("its version is NULL, empty or of other characters than A-Z a-z 0-9 _ . -");
  if (given.operator_count == 0 || given.operators == nullptr) return invalid("it has no operators");
  return {};
}

}  // namespace

Result<graph::CustomOperators> describe_plugin(const hone_plugin& given, const std::string& file,
                                               std::string_view content) {
  if (Status status = check_plugin(given); !status.ok())
    return status.error().within(fmt::format("plugin {}", file));
  const OfPlugin plugin{given, file,
                        fmt::format("plugin {} {} {:016x}", given.name, given.version, fnv1a(content))};
  graph::CustomOperators operators;
  for (std::size_t i = 0; i < given.operator_count; ++i) {
    const hone_operator* const one = given.operators[i];
    const auto named = [&](const Error& error) {
      const bool has_name = one != nullptr && is_operator_name(one->name);
      return error.within(has_name ? fmt::format("plugin {}: operator '{}'", file, one->name)
                                   : fmt::format("plugin {}: operator {}", file, i));
    };
    if (one == nullptr) return named(invalid("is NULL"));
    if (!is_operator_name(one->name))
      return named(invalid("its name is NULL, empty or of other characters than A-Z a-z 0-9 _ -"));
    auto made = operator_of(plugin, *one);
    if (!made.ok()) return named(made.error());
    operators.push_back(*std::move(made));
  }
  return operators;
}

}  // namespace hone::plugin
