// What the Markdown forms of the report share: names that stay text, tables, the ledger.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyze/findings.h"
#include "report/description/grid.h"

namespace hone::report::markdown {

// Text in which nothing is taken for markup: names come from models.
std::string plain(std::string_view text);
// A sentence: what in it is code (code_text.h) in code type.
std::string with_code(std::string_view text);
// A name in code type; a backtick or bar in it would end the cell or the code.
std::string code(std::string_view text);

using Cells = std::vector<std::string>;
// A table whose columns after the first `texts` are right-aligned.
std::string table(const Cells& head, std::size_t texts, const std::vector<Cells>& rows);
// A table of an analysis, with more rows below; empty without rows.
std::string table(const Grid& grid, const std::vector<Cells>& more = {});

std::string ledger(const analyze::Analysis& side);
std::string top(const analyze::Analysis& side);
// Empty without counters.
std::string counted_kernels(const analyze::Analysis& analysis);
std::string warnings(const std::vector<std::string>& list);

}  // namespace hone::report::markdown
