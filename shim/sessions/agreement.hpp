// SPDX-License-Identifier: BSD-3-Clause
// Agreement is the result that all members of a communicator creation agree on.
#pragma once

#include <cstdint>
#include <memory>

#include "shim/base/ids.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/group.hpp"

namespace shim::sessions {

struct Agreement {
  base::ExtendedId id;
  std::shared_ptr<const p2p::ContextBases> bases;
  std::uint32_t own_base = 0;
  std::uint32_t vci = 0;  ///< of the communicator, equal on all members

  /// Return the context of the communicator of `group`, as seen by its member `self`.
  p2p::ContextSpec context_of(const GroupPtr& group, base::ProcessId self) const;
};

}  // namespace shim::sessions
