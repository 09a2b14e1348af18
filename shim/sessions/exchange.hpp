// SPDX-License-Identifier: BSD-3-Clause
// How the node roots of a creation come to know each other: the strategies of the setting `exchange`, one row each.
#pragma once

#include <string_view>

namespace shim::sessions {

/// Who sends to whom among node roots.
enum class TreeShape {
  binomial,  ///< log2(roots) steps; a root has up to as many below it
  chain,     ///< a step for each root; everybody has one neighbour on either side, as in a ring exchange (startup on MVAPICH, 2017)
};

/// What has to be over before a root asks the launcher for its parent's address.
enum class Meeting {
  none,   ///< the answer comes when the parent has published it
  /// As none, and nobody waits: a fence over the first process of each node, begun with the first session, brings their addresses to
  /// all nodes while the program does something else (the non-blocking Ifence of startup on MVAPICH, 2017). Who asks before it is over, or
  /// for the address of another process, gets it directly.
  first_of_nodes,
  roots,  ///< a fence over the node roots
  world,  ///< a fence over the job, which all its processes take part in (MPICH 2025 §3.3)
};

struct Exchange {
  std::string_view name;
  TreeShape shape;
  Meeting meeting;
};

inline constexpr Exchange kExchanges[] = {
    {"modex", TreeShape::binomial, Meeting::none},
    {"ring", TreeShape::chain, Meeting::none},
    {"ifence", TreeShape::binomial, Meeting::first_of_nodes},
    {"fence", TreeShape::binomial, Meeting::roots},
    {"world_fence", TreeShape::binomial, Meeting::world},
};

/// The row of this name; settings have been checked for it (shim/base/settings.cpp).
constexpr const Exchange& exchange_named(std::string_view name) {
  for (const Exchange& row : kExchanges)
    if (row.name == name) return row;
  return kExchanges[0];
}

}  // namespace shim::sessions
