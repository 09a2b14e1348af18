// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Comm_split and related functions (MPI-4.1 §7.4.2).
#include <algorithm>

#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/derived_intercommunicator.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

std::vector<int> ranks_of_color(const std::vector<Offer>& offers, std::int64_t color) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < offers.size(); ++rank)
    if (offers[rank].color == color) ranks.push_back(static_cast<int>(rank));
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
    return offers[static_cast<std::size_t>(a)].key < offers[static_cast<std::size_t>(b)].key;
  });
  return ranks;
}

base::Result<CommunicatorPtr> split(const CommunicatorPtr& parent, int color, int key) {
  if (color < 0 && color != kUndefined)
    return base::Error(base::ErrorClass::arg,
                       "the color " + std::to_string(color) + " is negative and not MPI_UNDEFINED");
  return split_by_color(parent, color, key);
}

base::Result<CommunicatorPtr> split_by_color(const CommunicatorPtr& parent, std::int64_t color,
                                             int key) {
  if (parent->is_inter()) return split_inter(parent, color, key);
  OwnOffer own(*parent, color, key);
  SHIM_TRY_ASSIGN(auto offers, allgather_offers(*parent, *own));
  if (color == kUndefined) return CommunicatorPtr();
  const std::vector<int> ranks = ranks_of_color(offers, color);
  SHIM_TRY_ASSIGN(GroupPtr group, include(*parent->group(), ranks));
  return own.used_by(make_from_offers(*parent, std::move(group), ranks, offers));
}

}  // namespace shim::sessions
