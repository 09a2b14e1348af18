// SPDX-License-Identifier: BSD-3-Clause
// Queries groups (MPI-4.1 §7.3.1) and frees them (§7.3.3). Includes MPI_GROUP_EMPTY while
// the substrate is inactive.
#include <algorithm>
#include <span>
#include <vector>

#include "shim/intercept/abi/ours.hpp"
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/impl/group/group_arguments.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

static_assert(static_cast<int>(sessions::Comparison::identical) == MPI_IDENT &&
              static_cast<int>(sessions::Comparison::congruent) == MPI_CONGRUENT &&
              static_cast<int>(sessions::Comparison::similar) == MPI_SIMILAR &&
              static_cast<int>(sessions::Comparison::unequal) == MPI_UNEQUAL);
static_assert(sessions::kUndefined == MPI_UNDEFINED);

base::Status free_group(MPI_Group handle) {
  auto taken = objects.groups.take(handle);
  if (!taken) return std::move(group_of(handle)).error();
  MPI_Group native_handle = taken->native_handle.get();
  if (!abi::is_unset(native_handle) && is_active()) active_table.Group_free(&native_handle);
  return {};
}

int size(MPI_Group group, int* size) {
  return run_with_handler(Subject::group(group), "MPI_Group_size", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(GroupObject found, get_group(group));
    SHIM_TRY(check_output(size, "size"));
    *size = found.group->size();
    return {};
  });
}

int rank(MPI_Group group, int* rank) {
  return run_with_handler(Subject::group(group), "MPI_Group_rank", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(GroupObject found, get_group(group));
    SHIM_TRY(check_output(rank, "rank"));
    *rank = found.group->rank_of(found.self);
    return {};
  });
}

int translate(MPI_Group group1, int n, const int* ranks1, MPI_Group group2, int* ranks2) {
  return run_with_handler(Subject::group(group1), "MPI_Group_translate_ranks",
                          [&]() -> base::Status {
                            SHIM_TRY_ASSIGN(GroupObject from, get_group(group1));
                            SHIM_TRY_ASSIGN(GroupObject to, get_group(group2));
                            if (n < 0) return slow::bad_count(n, "number of ranks");
                            if (n == 0) return {};
                            SHIM_TRY(check_output(ranks1, "ranks"));
                            SHIM_TRY(check_output(ranks2, "translated ranks"));
                            std::vector<int> asked(ranks1, ranks1 + n);
                            std::ranges::transform(asked, asked.begin(), abi::to_p2p_rank);
                            SHIM_TRY_ASSIGN(std::vector<int> translated,
                                            sessions::translate(*from.group, asked, *to.group));
                            std::ranges::transform(translated, ranks2, abi::to_mpi_rank);
                            return {};
                          });
}

int compare(MPI_Group group1, MPI_Group group2, int* result) {
  return run_with_handler(Subject::group(group1), "MPI_Group_compare", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(GroupObject a, get_group(group1));
    SHIM_TRY_ASSIGN(GroupObject b, get_group(group2));
    SHIM_TRY(check_output(result, "result"));
    *result = static_cast<int>(sessions::compare(*a.group, *b.group));
    return {};
  });
}

}  // namespace

namespace impl {

int Group_size(MPI_Group group, int* size_out) { return size(group, size_out); }
int Group_rank(MPI_Group group, int* rank_out) { return rank(group, rank_out); }
int Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
                          int ranks2[]) {
  return translate(group1, n, ranks1, group2, ranks2);
}
int Group_compare(MPI_Group group1, MPI_Group group2, int* result) {
  return compare(group1, group2, result);
}

/// Free a group. Functions return MPI_GROUP_EMPTY for empty groups, and programs free it like any
/// other. The substrate must not free it, because it has not counted those that Intersession
/// returned.
int Group_free(MPI_Group* group) {
  bool is_empty = group != nullptr && !abi::is_unset(*group) &&
                  *group == abi::predefined.group_empty;
  if (is_active() && !is_empty && !abi::ours_at(group)) return active_table.Group_free(group);
  return run_with_handler(Subject::at(abi::HandleKind::group, group), "MPI_Group_free",
                          [&]() -> base::Status {
                            SHIM_TRY(check_output(group, "group"));
                            if (!is_empty) SHIM_TRY(free_group(*group));
                            *group = abi::predefined.group_null;
                            return {};
                          });
}

}  // namespace impl
}  // namespace shim::intercept
