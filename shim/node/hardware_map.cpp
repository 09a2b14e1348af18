// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cstring>

#include "shim/node/hardware.hpp"

namespace shim::node {
namespace {

/// Start of encode()'s result: the counts, then for each kind its zero-padded name and one instance
/// per core.
struct EncodedHead {
  std::uint32_t kinds = 0, cores = 0;
};
using Name = char[HardwareMap::kMaxType + 1];

/// Call `visit` with the number of each core of the set.
template <typename Visit>
void for_each_core(const CoreSet& set, Visit visit) {
  for (std::size_t word = 0; word < set.words.size(); ++word)
    for (std::uint64_t left = set.words[word]; left != 0; left &= left - 1)
      visit(word * 64 + static_cast<std::size_t>(std::countr_zero(left)));
}

/// Return the common instance of all cores; nothing if a core is in no instance, two cores differ,
/// or the set is empty.
std::optional<std::uint32_t> common_instance(const HardwareMap::ResourceType& kind,
                                             const CoreSet& cores) {
  std::optional<std::uint16_t> common;
  bool is_one = true;
  for_each_core(cores, [&](std::size_t core) {
    const std::uint16_t instance = core < kind.instance_of.size() ? kind.instance_of[core]
                                                                  : HardwareMap::kNowhere;
    is_one = is_one && instance != HardwareMap::kNowhere && instance == common.value_or(instance);
    common = instance;
  });
  if (!common || !is_one) return std::nullopt;
  return *common;
}

}  // namespace

HardwareMap::HardwareMap(std::vector<ResourceType> kinds) : kinds_(std::move(kinds)) {
  if (kinds_.size() > kMaxKinds) kinds_.resize(kMaxKinds);
  std::size_t cores = 0;
  for (const ResourceType& kind : kinds_)
    cores = std::max(cores, std::min(kind.instance_of.size(), kMaxCores));
  for (ResourceType& kind : kinds_) {
    kind.instance_of.resize(cores, kNowhere);
    if (kind.type.size() > kMaxType) kind.type.resize(kMaxType);
  }
}

std::vector<HardwareResource> HardwareMap::resources_of(const CoreSet& cores) const {
  std::vector<HardwareResource> all;
  for (const ResourceType& kind : kinds_) {
    const auto instance = common_instance(kind, cores);
    all.push_back({kind.type, instance.has_value(), instance ? static_cast<int>(*instance) : -1});
  }
  return all;
}

std::optional<std::uint32_t> HardwareMap::instance_of(std::string_view type,
                                                      const CoreSet& cores) const {
  const auto kind = std::ranges::find(kinds_, type, &ResourceType::type);
  return kind == kinds_.end() ? std::nullopt : common_instance(*kind, cores);
}

std::vector<std::byte> HardwareMap::encode() const {
  std::vector<std::byte> bytes;
  const auto append = [&bytes](const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  const std::size_t cores = kinds_.empty() ? 0 : kinds_.front().instance_of.size();
  const EncodedHead counts{static_cast<std::uint32_t>(kinds_.size()),
                           static_cast<std::uint32_t>(cores)};
  append(&counts, sizeof counts);
  for (const ResourceType& kind : kinds_) {
    Name name{};
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): of fixed length, filled with zeros
    std::memcpy(name, kind.type.data(), kind.type.size());
    append(name, sizeof name);
    append(kind.instance_of.data(), cores * sizeof(std::uint16_t));
  }
  return bytes;
}

std::optional<HardwareMap> HardwareMap::decode(std::span<const std::byte> bytes) {
  EncodedHead counts;
  if (bytes.size() < sizeof counts) return std::nullopt;
  std::memcpy(&counts, bytes.data(), sizeof counts);
  bytes = bytes.subspan(sizeof counts);
  if (counts.kinds > kMaxKinds || counts.cores > kMaxCores) return std::nullopt;
  const std::size_t table = counts.cores * sizeof(std::uint16_t);
  if (bytes.size() != counts.kinds * (sizeof(Name) + table)) return std::nullopt;
  std::vector<ResourceType> kinds(counts.kinds);
  for (ResourceType& kind : kinds) {
    const auto* name = reinterpret_cast<const char*>(bytes.data());
    kind.type.assign(name, ::strnlen(name, kMaxType));
    kind.instance_of.resize(counts.cores);
    if (table > 0) std::memcpy(kind.instance_of.data(), bytes.data() + sizeof(Name), table);
    bytes = bytes.subspan(sizeof(Name) + table);
  }
  return HardwareMap(std::move(kinds));
}

}  // namespace shim::node
