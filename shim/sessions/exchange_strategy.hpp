// SPDX-License-Identifier: BSD-3-Clause
// ExchangeStrategy selects how node leaders of a creation exchange addresses. One row per value of
// the setting `exchange`.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "shim/base/settings.hpp"

namespace shim::sessions {

/// Communication pattern among node leaders.
enum class TreeShape {
  binomial,  ///< log2(node leaders) steps; a node leader has up to as many children
  /// One step per node leader; each has one neighbor per side, as in the ring exchange of "startup
  /// on MVAPICH" (2017)
  chain,
};

/// Fence that must complete before a node leader looks up its parent's address.
enum class FenceScope {
  none,  ///< the lookup completes when the parent has published its address
  /// No fence is waited for: a fence over the first process of each node, begun with the first
  /// session, spreads their addresses while the program continues (the non-blocking Ifence of
  /// "startup on MVAPICH", 2017). Lookups before its end, or of other processes, go directly to the
  /// launcher.
  first_of_nodes,
  node_leaders,  ///< a fence over the node leaders
  world,         ///< a fence over the job, in which all its processes take part (MPICH 2025 §3.3)
};

struct ExchangeStrategy {
  std::string_view name;
  TreeShape shape;
  FenceScope fence;
};

inline constexpr ExchangeStrategy kExchangeStrategies[] = {
    {"modex", TreeShape::binomial, FenceScope::none},
    {"ring", TreeShape::chain, FenceScope::none},
    {"ifence", TreeShape::binomial, FenceScope::first_of_nodes},
    {"fence", TreeShape::binomial, FenceScope::node_leaders},
    {"world_fence", TreeShape::binomial, FenceScope::world},
};

static_assert(std::size(kExchangeStrategies) == base::AllowedValues::exchange.size() &&
                  std::ranges::all_of(kExchangeStrategies,
                                      [](const ExchangeStrategy& row) {
                                        return base::AllowedValues::exchange.contains(row.name);
                                      }),
              "each value of the setting has a row");

/// Return the row of this name, which the setting allows.
constexpr const ExchangeStrategy& exchange_strategy_named(std::string_view name) {
  for (const ExchangeStrategy& row : kExchangeStrategies)
    if (row.name == name) return row;
  return kExchangeStrategies[0];
}

}  // namespace shim::sessions
