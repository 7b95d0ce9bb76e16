#include "apps/what_fits.h"

#include <optional>
#include <set>

#include <fmt/core.h>

#include "lab/what_fits.h"

namespace hone::apps {
namespace {

// Inputs whose first extent is the batch.
struct OpenBatch {
  int64_t now = 0;
  std::set<std::string> symbols;
  std::map<std::string, Shape> shapes;  // of all inputs whose shape is known, now
  std::set<std::string> inputs;         // that begin with it
};

std::optional<OpenBatch> open_batch(const ModelOptions& options, const std::map<std::string, Shape>& shapes) {
  ModelOptions open = options;
  open.default_symbol = 0;
  open.bindings.clear();
  open.shapes.clear();
  const auto as_it_is = load_model(open);
  const auto known = load_model(options, shapes);
  if (!as_it_is.ok() || !known.ok() || as_it_is->inputs().size() != known->inputs().size())
    return std::nullopt;
  OpenBatch batch;
  for (std::size_t i = 0; i < known->inputs().size(); ++i) {
    const graph::Value& value = known->value(known->inputs()[i]);
    if (!value.type.is_static()) continue;
    const Shape shape = value.type.shape();
    batch.shapes[value.name] = shape;
    const graph::TensorType& type = as_it_is->type(as_it_is->inputs()[i]);
    if (shape.empty() || !type.has_rank() || !(*type.dims)[0].symbolic()) continue;
    if (batch.now == 0) batch.now = shape[0];
    if (shape[0] != batch.now) continue;
    batch.symbols.insert((*type.dims)[0].name());
    batch.inputs.insert(value.name);
  }
  return batch.inputs.empty() ? std::nullopt : std::optional(batch);
}

// The same with another batch.
Result<graph::Graph> load_with(const ModelOptions& options, const OpenBatch& open, int64_t batch) {
  ModelOptions changed = options;
  changed.shapes.clear();
  std::erase_if(changed.bindings, [&](const std::string& binding) {
    return open.symbols.contains(binding.substr(0, binding.find('=')));
  });
  for (const std::string& symbol : open.symbols)
    changed.bindings.push_back(fmt::format("{}={}", symbol, batch));
  std::map<std::string, Shape> shapes = open.shapes;
  for (const std::string& input : open.inputs) shapes[input][0] = batch;
  return load_model(changed, std::move(shapes));
}

}  // namespace

Error with_what_fits(Error failed, const ModelOptions& options, std::map<std::string, Shape> shapes,
                     const runtime::Provider& provider, const MakeReady& make_ready) {
  if (failed.code != ErrorCode::kInvalidArgument || options.path == "-" || provider.device()->host_visible())
    return failed;
  const auto open = open_batch(options, shapes);
  if (!open) return failed;
  const std::string found = lab::what_would_fit(
      [&](int64_t batch) -> Result<graph::Graph> {
        HONE_ASSIGN(graph::Graph graph, load_with(options, *open, batch));
        return make_ready(std::move(graph));
      },
      open->now, provider);
  if (!found.empty()) failed.message += "; " + found;
  return failed;
}

}  // namespace hone::apps
