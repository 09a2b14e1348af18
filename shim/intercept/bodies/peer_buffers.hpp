// SPDX-License-Identifier: BSD-3-Clause
// Buffers in several blocks, one for each peer: another process, or a neighbour.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shim/coll/coll.hpp"
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/bodies/neighbourhood.hpp"

namespace shim::intercept {

namespace slow {
/// The error of one of several blocks.
base::Error of_peer(base::Error error, const char* what, int peer);
}  // namespace slow

inline const void* displaced(const void* base, std::int64_t bytes) { return static_cast<const std::byte*>(base) + bytes; }
inline void* displaced(void* base, std::int64_t bytes) { return static_cast<std::byte*>(base) + bytes; }

// All of these: Block is types::Buffer or types::ConstBuffer. Without peers no argument means anything. Errors: arg (null array), those
// of take_buffer.

/// The same block for all.
template <typename Block, typename Address>
base::Status take_copies(std::vector<Block>& blocks, Address base, Count count, MPI_Datatype datatype, int peers) {
  if (peers == 0) return {};
  Block block;
  SHIM_TRY(take_buffer(block, base, count, datatype));
  blocks.assign(static_cast<std::size_t>(peers), block);
  return {};
}

/// Blocks of one length, one behind the other.
template <typename Block, typename Address>
base::Status take_row(std::vector<Block>& blocks, Address base, Count count, MPI_Datatype datatype, int peers) {
  SHIM_TRY(take_copies(blocks, base, count, datatype, peers));
  for (int i = 0; i < peers; ++i) {
    Block& block = blocks[static_cast<std::size_t>(i)];
    block.address = displaced(base, i * static_cast<std::int64_t>(block.count) * block.type->extent);
  }
  return {};
}

/// v-forms: displacements in items of the type.
template <typename Block, typename Address, typename C, typename D>
base::Status take_blocks(std::vector<Block>& blocks, Address base, const C* counts, const D* displacements, MPI_Datatype datatype,
                         int peers, const char* what) {
  if (peers == 0) return {};
  if (counts == nullptr || displacements == nullptr)
    return base::Error(base::ErrorClass::arg, std::string("the ") + what + " counts or displacements are a null pointer");
  SHIM_TRY(check_address(base, false));
  SHIM_TRY_ASSIGN(const types::Type* type, take_type(datatype));
  for (int i = 0; i < peers; ++i) {
    auto offset = static_cast<std::int64_t>(displacements[i]) * type->extent;
    base::Status taken = take_buffer(blocks.emplace_back(), displaced(base, offset), counts[i], datatype);
    if (!taken) return slow::of_peer(std::move(taken).error(), what, i);
  }
  return {};
}

/// w-forms: a type for each, displacements in bytes.
template <typename Block, typename Address, typename C, typename D>
base::Status take_peers(std::vector<Block>& blocks, Address base, const C* counts, const D* displacements,
                        const MPI_Datatype* types, int peers, const char* what) {
  if (peers == 0) return {};
  if (counts == nullptr || displacements == nullptr || types == nullptr)
    return base::Error(base::ErrorClass::arg, std::string("the ") + what + " counts, displacements or types are a null pointer");
  SHIM_TRY(check_address(base, false));
  for (int i = 0; i < peers; ++i) {
    base::Status taken = take_buffer(blocks.emplace_back(), displaced(base, displacements[i]), counts[i], types[i]);
    if (!taken) return slow::of_peer(std::move(taken).error(), what, i);
  }
  return {};
}

/// The messages of a collective in which processes name each other.
struct Messages {
  std::vector<coll::Outgoing> out;
  std::vector<coll::Incoming> in;
  std::vector<types::TypePtr> types;  ///< kept as long as these
  static bool is_empty() { return false; }
};
/// Ranks 0 to size - 1, to and from all of them.
Neighbourhood everybody(int size);

/// None for neighbours that are MPI_PROC_NULL.
Messages messages_between(const Neighbourhood& neighbours, const std::vector<types::ConstBuffer>& send,
                          const std::vector<types::Buffer>& receive);

}  // namespace shim::intercept
