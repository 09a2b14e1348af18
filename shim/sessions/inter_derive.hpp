// SPDX-License-Identifier: BSD-3-Clause
// Making communicators from intercommunicators: what derive.hpp is for the others.
#pragma once

#include <cstdint>
#include <vector>

#include "shim/sessions/derive.hpp"

namespace shim::sessions {

/// One of the two groups, and the context bases of its members by rank.
struct Side {
  GroupPtr group;
  std::vector<std::uint32_t> bases;
};

/// The intercommunicator of two groups, of which the caller is in the first. `parts` has what does not follow from the groups:
/// session, id, error handler, info, and the path of the context. The path has room for a child, which the communicator of
/// the local group gets.
CommunicatorPtr make_inter(Process& process, Communicator::Parts parts, Side local, Side remote);

/// Which of two disjoint groups comes first, where both must say the same and nothing else tells them apart: the one with the
/// lowest process.
bool comes_first(const Group& group, const Group& other);

base::Result<CommunicatorPtr> duplicate_inter(const CommunicatorPtr& parent);
base::Result<CommunicatorPtr> split_inter(const CommunicatorPtr& parent, int color, int key);
/// group: a part of the local group, the same at all its members. Errors: group.
base::Result<CommunicatorPtr> create_inter(const CommunicatorPtr& parent, const Group& group);

}  // namespace shim::sessions
