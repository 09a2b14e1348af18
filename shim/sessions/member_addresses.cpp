// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/member_addresses.hpp"

#include "shim/sessions/process.hpp"

namespace shim::sessions {

void record_addresses(Process& process, const Creation& creation, const MemberTable& entries) {
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const int rank = entries.rank_at(index);
    const MemberEntry entry = entries.entry_at(index);
    if (rank == creation.roles().self) continue;
    if (entry.node_has_address)
      process.peers().record_incarnation(creation.process_at(rank), entry.incarnation);
    else if (!entry.address.empty())
      process.peers().record_address(creation.process_at(rank), entry.incarnation, entry.address);
  }
}

MemberTable for_local_node(const Process& process, const Creation& creation,
                           const MemberTable& entries) {
  MemberTable table;
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const int rank = entries.rank_at(index);
    MemberEntry entry = entries.entry_at(index);
    entry.node_has_address = !entry.address.empty() &&
                             process.peers().node_has_address(creation.process_at(rank),
                                                              entry.incarnation);
    if (entry.node_has_address) entry.address = {};
    table.set(rank, entry);
  }
  return table;
}

}  // namespace shim::sessions
