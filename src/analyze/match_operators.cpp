#include "analyze/match_operators.h"

#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "trace/source_line.h"

namespace hone::analyze {
namespace {

// Sets of indices that can be merged (union-find with path halving).
class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0u); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void merge(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

std::map<std::size_t, OperatorSet> sets_of(Groups& groups, std::size_t count) {
  std::map<std::size_t, OperatorSet> sets;
  for (std::size_t i = 0; i < count; ++i) sets[groups.find(i)].push_back(i);
  return sets;
}

// Joins what has the same key.
class Joining {
 public:
  explicit Joining(Groups& groups) : groups_(groups) {}
  void join(const std::string& key, std::size_t i) {
    const auto [found, added] = first_.emplace(key, i);
    if (!added) groups_.merge(i, found->second);
  }

 private:
  Groups& groups_;
  std::unordered_map<std::string, std::size_t> first_;
};

std::vector<OperatorSet> listed(Groups& groups, std::size_t count) {
  std::vector<OperatorSet> list;
  for (auto& [root, members] : sets_of(groups, count)) list.push_back(std::move(members));
  return list;
}

}  // namespace

std::vector<OperatorSet> match_by_model(const std::vector<const OperatorTime*>& all) {
  Groups groups(all.size());
  Joining joining(groups);
  for (std::size_t i = 0; i < all.size(); ++i) {
    // An operator that knows where it came from is matched by that: names of generated operators repeat by
    // chance.
    if (all[i]->provenance.empty()) joining.join(all[i]->name, i);
    for (const std::string& source : all[i]->provenance)
      if (!trace::is_source_line(source)) joining.join(source, i);  // many operators come from one line
  }
  return listed(groups, all.size());
}

std::vector<OperatorSet> match_by_inputs(const std::vector<const OperatorTime*>& all,
                                         std::size_t first_count) {
  Groups groups(all.size());
  Joining by_name(groups);
  for (std::size_t i = 0; i < all.size(); ++i) by_name.join(all[i]->kind + " " + all[i]->name, i);
  Joining by_kind(groups);
  for (const auto& [root, members] : sets_of(groups, all.size()))
    if (members.front() >= first_count || members.back() < first_count)
      by_kind.join(all[members.front()]->kind, root);
  return listed(groups, all.size());
}

}  // namespace hone::analyze
