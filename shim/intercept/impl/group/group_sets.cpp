// SPDX-License-Identifier: BSD-3-Clause
// Makes groups from groups, MPI-4.1 §7.3.2. Results are Intersession's if an operand is, and while
// the substrate is inactive.
#include <array>
#include <span>
#include <vector>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/group/group_arguments.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::Group;
using sessions::GroupPtr;

using SetOperation = GroupPtr (*)(const Group&, const Group&);

int combine(const char* function, MPI_Group group1, MPI_Group group2, MPI_Group* newgroup,
            SetOperation operation) {
  return run_with_handler(Subject::group(group1), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(GroupObject a, get_group(group1));
    SHIM_TRY_ASSIGN(GroupObject b, get_group(group2));
    SHIM_TRY(check_output(newgroup, "group"));
    SHIM_TRY_ASSIGN(*newgroup, make_group_handle(combined(a, b, operation(*a.group, *b.group))));
    return {};
  });
}

/// Make a group from one group and a list of ranks (ints) or triplets.
template <typename Item, typename Select>
int select(const char* function, MPI_Group group, int n, const Item* items, MPI_Group* newgroup,
           Select operation) {
  return run_with_handler(Subject::group(group), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(GroupObject from, get_group(group));
    SHIM_TRY(check_output(newgroup, "group"));
    if (n < 0)
      return Error(ErrorClass::arg, "the number of ranks " + std::to_string(n) + " is negative");
    if (n > 0 && items == nullptr)
      return Error(ErrorClass::arg, "the array of ranks is a null pointer");
    SHIM_TRY_ASSIGN(GroupPtr selected,
                    operation(*from.group, std::span(items, static_cast<std::size_t>(n))));
    SHIM_TRY_ASSIGN(*newgroup, make_group_handle(combined(from, from, std::move(selected))));
    return {};
  });
}

using Ranges = int (*)[3];

std::vector<sessions::Triplet> triplets_of(int n, Ranges ranges) {
  std::vector<sessions::Triplet> triplets;
  for (int i = 0; ranges != nullptr && i < n; ++i)
    triplets.push_back({ranges[i][0], ranges[i][1], ranges[i][2]});
  return triplets;
}

}  // namespace

namespace impl {
int Group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  return combine("MPI_Group_union", group1, group2, newgroup, sessions::set_union);
}
int Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  return combine("MPI_Group_intersection", group1, group2, newgroup, sessions::set_intersection);
}
int Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  return combine("MPI_Group_difference", group1, group2, newgroup, sessions::set_difference);
}

int Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  return select("MPI_Group_incl", group, n, ranks, newgroup, sessions::include);
}

int Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  return select("MPI_Group_excl", group, n, ranks, newgroup, sessions::exclude);
}

int Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  auto triplets = triplets_of(n, ranges);
  return select("MPI_Group_range_incl", group, n, triplets.data(), newgroup,
                sessions::range_include);
}

int Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  auto triplets = triplets_of(n, ranges);
  return select("MPI_Group_range_excl", group, n, triplets.data(), newgroup,
                sessions::range_exclude);
}

}  // namespace impl
}  // namespace shim::intercept
