// SPDX-License-Identifier: BSD-3-Clause
// Detects members of a communicator that select algorithms by different tables.
#include "shim/coll/algorithm_table.hpp"
#include "shim/coll/coll.hpp"

namespace shim::coll {

std::uint32_t checksum_of(const AlgorithmTable& table) { return table.checksum; }

/// In the first calls, one for each byte of the checksum, send the number to the other members, as
/// after a refused call. They compare it with their own, and fail the collectives if it differs
/// (docs/decisions/0060-one-table-of-algorithms.md).
std::uint8_t Comm::announce_table(std::uint8_t call, bool is_persistent_collective) {
  constexpr int kBytes = sizeof announced_.checksum;
  const int byte = announced_.calls % kBytes;
  if (announced_.calls < kBytes)
    engine_->record_refusal(*context_, is_persistent_collective,
                            {base::ErrorClass::not_same, "another table of algorithms"});
  if (++announced_.calls == 2 * kBytes) announced_.calls = kBytes;  // announces once
  return static_cast<std::uint8_t>(call ^ announced_.checksum >> 8 * byte);
}

}  // namespace shim::coll
