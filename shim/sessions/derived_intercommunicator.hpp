// SPDX-License-Identifier: BSD-3-Clause
// Makes communicators from intercommunicators; counterpart of derived_communicator.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/sessions/derived_communicator.hpp"

namespace shim::sessions {

/// One of the two groups, and the context bases of its members by rank.
struct GroupSide {
  GroupPtr group;
  std::vector<std::uint32_t> bases;
};

/// Make the intercommunicator of two groups; the caller is in `local`. `parts` has session, id,
/// error handler, info, and the context path, whose child 1 must exist: the communicator of the
/// local group gets it.
CommunicatorPtr make_inter(Process& process, Communicator::Parts parts, GroupSide local,
                           GroupSide remote);

/// True if `group` is the first of two disjoint groups: it contains the lowest process of both. All
/// members of both groups compute equal results.
bool comes_first(const Group& group, const Group& other);

/// Make the intercommunicator of the members whose offer has this color; null if a side has none.
/// Offers are by rank.
base::Result<CommunicatorPtr> make_inter_of_color(const Communicator& parent,
                                                  std::vector<Offer> local,
                                                  std::vector<Offer> remote, std::int64_t color);

base::Result<CommunicatorPtr> duplicate_inter(const CommunicatorPtr& parent);
base::Result<CommunicatorPtr> split_inter(const CommunicatorPtr& parent, std::int64_t color,
                                          int key);
/// group: a part of the local group, equal at all its members. Errors: group.
base::Result<CommunicatorPtr> create_inter(const CommunicatorPtr& parent, const Group& group);

}  // namespace shim::sessions
