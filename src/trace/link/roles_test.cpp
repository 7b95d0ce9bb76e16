#include "trace/link/roles.h"

#include <gtest/gtest.h>

namespace hone::trace::link {
namespace {

TEST(Roles, EveryRowCanDecide) { EXPECT_EQ(unreachable_rows(role_table()), std::vector<std::string_view>()); }

}  // namespace
}  // namespace hone::trace::link
