// Lets attention read its operands as parts of wider rows, and its gradient write its results as such: Split and Attention, or
// Split, gradient and Concat, become one group each. Where an attention and its gradient read the parts, both do or none.
// Why: one product for queries, keys and values (merge_parallel, or the exporter) gives rows that hold all
// three; parting them would copy all of it. Why here: directly behind the pass that makes such products, and
// in its group, since that one only pays together with this.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Exact: the same numbers are read from where they lie. A Split whose parts have other readers stays.
Result<PassOutcome> fuse_attention(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
