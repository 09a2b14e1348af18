// SPDX-License-Identifier: BSD-3-Clause
// Converts buffers with one block for each peer: another process or a neighbour.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shim/coll/coll.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/coll/neighbourhood.hpp"

namespace shim::intercept {

namespace slow {
/// Return an error that names the peer of the block.
base::Error of_peer(base::Error error, const char* what, int peer);
}  // namespace slow

inline const void* displaced(const void* base, std::int64_t bytes) {
  return static_cast<const std::byte*>(base) + bytes;
}
inline void* displaced(void* base, std::int64_t bytes) {
  return static_cast<std::byte*>(base) + bytes;
}

// In all of these, Block is types::Buffer or types::ConstBuffer. With 0 peers no argument is
// significant. Errors: arg (null array), those of get_buffer.

/// One block for all peers.
template <typename Block, typename Address>
base::Status get_copies(std::vector<Block>& blocks, Address base, Count count,
                        MPI_Datatype datatype, int peers) {
  if (peers == 0) return {};
  Block block;
  SHIM_TRY(get_buffer(block, base, count, datatype));
  blocks.assign(static_cast<std::size_t>(peers), block);
  return {};
}

/// Consecutive blocks of one length.
template <typename Block, typename Address>
base::Status get_row(std::vector<Block>& blocks, Address base, Count count, MPI_Datatype datatype,
                     int peers) {
  SHIM_TRY(get_copies(blocks, base, count, datatype, peers));
  for (int i = 0; i < peers; ++i) {
    Block& block = blocks[static_cast<std::size_t>(i)];
    block.address = displaced(base,
                              i * static_cast<std::int64_t>(block.count) * block.type->extent);
  }
  return {};
}

/// Blocks of v-forms: displacements in items of the type.
template <typename Block, typename Address, typename C, typename D>
base::Status get_blocks(std::vector<Block>& blocks, Address base, const C* counts,
                        const D* displacements, MPI_Datatype datatype, int peers,
                        const char* what) {
  if (peers == 0) return {};
  if (counts == nullptr || displacements == nullptr)
    return base::Error(base::ErrorClass::arg,
                       std::string("the ") + what + " counts or displacements are a null pointer");
  SHIM_TRY(check_address(base, false));
  SHIM_TRY_ASSIGN(const types::Type* type, get_type(datatype));
  for (int i = 0; i < peers; ++i) {
    auto offset = static_cast<std::int64_t>(displacements[i]) * type->extent;
    base::Status taken = get_buffer(blocks.emplace_back(), displaced(base, offset), counts[i],
                                    datatype);
    if (!taken) return slow::of_peer(std::move(taken).error(), what, i);
  }
  return {};
}

/// Blocks of w-forms: a type for each peer, displacements in bytes.
template <typename Block, typename Address, typename C, typename D>
base::Status get_peer_buffers(std::vector<Block>& blocks, Address base, const C* counts,
                              const D* displacements, const MPI_Datatype* types, int peers,
                              const char* what) {
  if (peers == 0) return {};
  if (counts == nullptr || displacements == nullptr || types == nullptr)
    return base::Error(
        base::ErrorClass::arg,
        std::string("the ") + what + " counts, displacements or types are a null pointer");
  SHIM_TRY(check_address(base, false));
  for (int i = 0; i < peers; ++i) {
    base::Status taken = get_buffer(blocks.emplace_back(), displaced(base, displacements[i]),
                                    counts[i], types[i]);
    if (!taken) return slow::of_peer(std::move(taken).error(), what, i);
  }
  return {};
}

/// Messages of a collective with explicit sources and destinations.
struct Messages {
  std::vector<coll::OutgoingBlock> out;
  std::vector<coll::IncomingBlock> in;
  std::vector<types::TypePtr> types;  ///< types that the messages refer to
  static bool is_empty() { return false; }
};
/// Return a neighbourhood with ranks 0 to size - 1 as sources and destinations.
Neighbourhood all_ranks(int size);

/// Return the messages; none for neighbours that are MPI_PROC_NULL.
Messages messages_between(const Neighbourhood& neighbours,
                          const std::vector<types::ConstBuffer>& send,
                          const std::vector<types::Buffer>& receive);

}  // namespace shim::intercept
