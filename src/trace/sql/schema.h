// The tables, indexes and views of the database, as SQL.
#pragma once

namespace hone::trace::sql {

extern const char* const kTables;   // before the rows
extern const char* const kIndexes;  // after them: building an index at once is faster than row by row
extern const char* const kViews;

}  // namespace hone::trace::sql
