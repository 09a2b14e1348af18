// SPDX-License-Identifier: BSD-3-Clause
// NodeMap is the node of every process of the world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shim::bootstrap {

using Bytes = std::vector<std::byte>;

/// A byte array that copies of the map share, and that processes of a node can share: three words
/// for each process of the job, and the host names.
class NodeMap {
 public:
  NodeMap() = default;
  /// node_of[rank] = index into hosts.
  NodeMap(const std::vector<std::string>& hosts, const std::vector<std::uint32_t>& node_of);
  /// Return a map over the bytes() of another map, or nothing if they are invalid. The bytes are
  /// 4-byte aligned, and are held by `own` or outlive the map and its copies.
  static std::optional<NodeMap> over(std::span<const std::byte> bytes,
                                     std::shared_ptr<const Bytes> own = nullptr);

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Return the usual size limit of a map of this many processes and nodes, for host names of at
  /// most 64 characters on average.
  static std::size_t max_bytes(std::size_t processes, std::size_t nodes);

  /// Number of processes of the world.
  std::uint32_t size() const { return static_cast<std::uint32_t>(node_of_.size()); }
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(host_ends_.size()); }
  std::string host(std::uint32_t node) const;
  std::uint32_t node_of(std::uint32_t rank) const { return node_of_[rank]; }
  /// Return the world ranks on a node, ascending.
  std::span<const std::uint32_t> ranks_on(std::uint32_t node) const;
  /// Return the index of a rank among the ranks of its node, which is its slot in the node segment.
  std::uint32_t local_rank(std::uint32_t rank) const { return local_rank_[rank]; }

 private:
  using Words = std::span<const std::uint32_t>;
  bool view(std::span<const std::byte> bytes);

  std::shared_ptr<const Bytes> own_;
  std::span<const std::byte> bytes_;
  Words node_of_, local_rank_, by_node_;  ///< by rank, by rank, and all ranks sorted by node
  Words ends_, host_ends_;                ///< by node: end of its part of by_node_ and of names_
  std::string_view names_;
};

}  // namespace shim::bootstrap
