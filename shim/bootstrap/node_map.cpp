// SPDX-License-Identifier: BSD-3-Clause
// Implements NodeMap. Layout of the bytes: number of processes | number of nodes | node_of |
// local_rank | by_node | ends | host_ends | names.
#include "shim/bootstrap/node_map.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shim::bootstrap {
namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);
constexpr std::size_t kHostNameGuess = 64;

std::size_t words_of(std::size_t processes, std::size_t nodes) {
  return 2 + 3 * processes + 2 * nodes;
}

/// True if the values ascend and do not exceed `most`.
bool are_ends(std::span<const std::uint32_t> ends, std::size_t most) {
  return std::ranges::is_sorted(ends) && (ends.empty() || ends.back() <= most);
}

}  // namespace

NodeMap::NodeMap(const std::vector<std::string>& hosts, const std::vector<std::uint32_t>& node_of) {
  std::string names;
  std::vector<std::uint32_t> host_ends, ends(hosts.size()), local_rank, by_node(node_of.size());
  for (const std::string& host : hosts)
    host_ends.push_back(static_cast<std::uint32_t>((names += host).size()));
  for (const std::uint32_t node : node_of) local_rank.push_back(ends[node]++);
  for (std::size_t node = 1; node < ends.size(); ++node) ends[node] += ends[node - 1];
  const auto begin_of = [&](std::uint32_t node) { return node == 0 ? 0 : ends[node - 1]; };
  for (std::uint32_t rank = 0; rank < node_of.size(); ++rank)
    by_node[begin_of(node_of[rank]) + local_rank[rank]] = rank;

  auto bytes = std::make_shared<Bytes>();
  bytes->reserve(words_of(node_of.size(), hosts.size()) * kWord + names.size());
  const auto add = [&](const auto& values) {
    const auto raw = std::as_bytes(std::span(values));
    bytes->insert(bytes->end(), raw.begin(), raw.end());
  };
  add(std::vector<std::uint32_t>{static_cast<std::uint32_t>(node_of.size()),
                                 static_cast<std::uint32_t>(hosts.size())});
  add(node_of), add(local_rank), add(by_node), add(ends), add(host_ends), add(names);
  view(*bytes);
  own_ = std::move(bytes);
}

std::optional<NodeMap> NodeMap::over(std::span<const std::byte> bytes,
                                     std::shared_ptr<const Bytes> own) {
  NodeMap map;
  if (!map.view(bytes)) return std::nullopt;
  map.own_ = std::move(own);
  return map;
}

bool NodeMap::view(std::span<const std::byte> bytes) {
  if (bytes.size() < 2 * kWord) return false;
  const auto* words = reinterpret_cast<const std::uint32_t*>(bytes.data());
  const std::size_t processes = words[0], nodes = words[1],
                    all = words_of(processes, nodes) * kWord;
  if (bytes.size() < all) return false;
  words += 2;
  const auto take = [&](std::size_t count) {
    return Words(std::exchange(words, words + count), count);
  };
  node_of_ = take(processes), local_rank_ = take(processes), by_node_ = take(processes);
  ends_ = take(nodes), host_ends_ = take(nodes);
  names_ = {reinterpret_cast<const char*>(bytes.data()) + all, bytes.size() - all};
  bytes_ = bytes;
  return are_ends(ends_, processes) && are_ends(host_ends_, names_.size());
}

std::size_t NodeMap::max_bytes(std::size_t processes, std::size_t nodes) {
  return words_of(processes, nodes) * kWord + nodes * kHostNameGuess;
}

std::string NodeMap::host(std::uint32_t node) const {
  const std::uint32_t begin = node == 0 ? 0 : host_ends_[node - 1];
  return std::string(names_.substr(begin, host_ends_[node] - begin));
}

std::span<const std::uint32_t> NodeMap::ranks_on(std::uint32_t node) const {
  const std::uint32_t begin = node == 0 ? 0 : ends_[node - 1];
  return by_node_.subspan(begin, ends_[node] - begin);
}

}  // namespace shim::bootstrap
