#include "graph/product_math.h"

#include <algorithm>
#include <string>

#include "graph/group_kind.h"
#include "graph/op_table.h"

namespace hone::graph {

bool takes_tf32(const Node& node) {
  const OpEntry* const entry = find_entry(node);
  return entry != nullptr &&
         std::any_of(entry->attributes.begin(), entry->attributes.end(),
                     [](const AttributeSpec& attribute) { return attribute.name == kProductMath; });
}

bool may_use_tf32(const Node& node) {
  const auto kind = group_kind(node);
  if (kind == GroupKind::kConvolution || kind == GroupKind::kMatmul || kind == GroupKind::kBiasGradient)
    return may_use_tf32(node.bodies[0]->nodes()[0]);
  return node.attributes.text(kProductMath, "") == kTf32Math;
}

void allow_tf32(Node& node) { node.attributes.set(std::string(kProductMath), std::string(kTf32Math)); }

}  // namespace hone::graph
