// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/segment_layout.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "shim/node/address_table.hpp"

namespace shim::node {

using base::Error;
using base::ErrorClass;

namespace {

/// Unit of slots: two cache lines, because processors fetch lines in pairs and neighbors must not
/// share a pair.
constexpr std::size_t kSlotUnit = 128;

/// Return a * b + c; nothing if it exceeds half the address space.
std::optional<std::size_t> grown(std::size_t a, std::size_t b, std::size_t c) {
  std::size_t product = 0, sum = 0;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum) ||
      sum > SIZE_MAX / 2)
    return std::nullopt;
  return sum;
}

Error too_large(const SegmentSpec& spec) {
  return Error(ErrorClass::arg,
               "a node segment for " + std::to_string(spec.slots) + " processes with " +
                   std::to_string(spec.slot_bytes) + " bytes each and " +
                   std::to_string(spec.pair_bytes) +
                   " bytes for each pair exceeds the address space; lower INTERSESSION_RING_BYTES");
}

Error differs(const std::string& path, std::string_view what, const std::string& found,
              const std::string& wanted) {
  return Error(ErrorClass::other,
               "the node segment " + path + " has another " + std::string(what) + " (" + found +
                   ") than this process expects (" + wanted +
                   "); all processes of a job need the same version of Intersession and the same "
                   "settings; if no job of yours runs on this node, remove the file");
}

}  // namespace

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

base::Result<SegmentLayout> SegmentLayout::of(const SegmentSpec& spec) {
  if (spec.slots == 0 || spec.slots > kMaxSlots || spec.own_slot >= spec.slots)
    return Error(ErrorClass::arg, "a node segment has 1 to " + std::to_string(kMaxSlots) +
                                      " slots; invalid slot " + std::to_string(spec.own_slot) +
                                      " of " + std::to_string(spec.slots));
  if (spec.vcis == 0 || spec.vcis > kMaxVcis)
    return Error(ErrorClass::arg, "a node segment has 1 to " + std::to_string(kMaxVcis) +
                                      " VCIs, not " + std::to_string(spec.vcis));
  if (spec.job.empty() || spec.job.size() > kMaxJobName || spec.job.find('\0') != std::string::npos)
    return Error(ErrorClass::arg, "a job name has 1 to " + std::to_string(kMaxJobName) +
                                      " characters, not " + std::to_string(spec.job.size()));
  const std::size_t page = page_bytes(), slots = spec.slots;
  if (spec.slot_bytes > SIZE_MAX / 4 || spec.store_bytes > SIZE_MAX / 4 ||
      spec.pair_bytes > SIZE_MAX / 4 || spec.cell_pool_bytes > SIZE_MAX / 4 ||
      spec.node_map_bytes > SIZE_MAX / 4)
    return too_large(spec);
  SegmentLayout layout;
  layout.once_controls_offset = round_up(sizeof(SegmentHeader), alignof(NodeOnceControl));
  layout.control_offset = layout.once_controls_offset + 2 * sizeof(NodeOnceControl);
  layout.chunk_bitmap_offset = layout.control_offset + slots * sizeof(SlotControl);
  layout.hardware_offset = round_up(
      layout.chunk_bitmap_offset +
          AddressTable::chunk_bitmap_words(spec.job_size) * sizeof(std::uint64_t),
      page);
  layout.node_map_offset = round_up(layout.hardware_offset + HardwareMap::kMaxBytes, page);
  layout.addresses_offset = round_up(layout.node_map_offset + spec.node_map_bytes, page);
  layout.slots_offset = round_up(layout.addresses_offset + AddressTable::bytes_for(spec.job_size),
                                 page);
  layout.slot_stride = round_up(spec.slot_bytes, kSlotUnit);
  layout.store_stride = round_up(spec.store_bytes, page);
  layout.pair_bytes = spec.pair_bytes;
  layout.couple_stride = 2 * round_up(spec.pair_bytes, page) + page;
  auto slots_end = grown(slots, layout.slot_stride, layout.slots_offset);
  if (slots_end) layout.stores_offset = round_up(*slots_end, page);
  auto couples_offset = slots_end ? grown(slots, layout.store_stride, layout.stores_offset)
                                  : std::nullopt;
  auto couples_end = couples_offset
                         ? grown(slots * (slots + 1) / 2, layout.couple_stride, *couples_offset)
                         : std::nullopt;
  layout.cell_pool_stride = round_up(spec.cell_pool_bytes, page);
  auto total = couples_end ? grown(slots, layout.cell_pool_stride, *couples_end) : std::nullopt;
  if (!total) return too_large(spec);
  layout.couples_offset = *couples_offset;
  layout.cell_pools_offset = *couples_end;
  layout.extra_vcis_offset = *total;
  layout.vci_slots_bytes = round_up(slots * layout.slot_stride, page);
  layout.vci_ring_bytes = layout.vci_slots_bytes + (*couples_end - *couples_offset);
  layout.vci_stride = layout.vci_ring_bytes + (*total - *couples_end);
  total = grown(spec.vcis - 1, layout.vci_stride, layout.extra_vcis_offset);
  if (!total) return too_large(spec);
  layout.total_bytes = *total;
  return layout;
}

std::size_t SegmentLayout::couple(std::uint32_t one, std::uint32_t other, std::uint32_t vci) const {
  const std::size_t low = std::min(one, other), high = std::max(one, other);
  const std::size_t couples = vci == 0 ? couples_offset : slots_of(vci) + vci_slots_bytes;
  return couples + (high * (high + 1) / 2 + low) * couple_stride;
}

std::size_t SegmentLayout::pair(std::uint32_t from, std::uint32_t to, std::uint32_t vci) const {
  const std::size_t middle = couple(from, to, vci) + couple_stride / 2;
  return from > to ? middle - pair_bytes : middle;
}

std::size_t SegmentLayout::pages_of_pair(std::uint32_t from, std::uint32_t to,
                                         std::uint32_t vci) const {
  return from > to ? couple(from, to, vci)
                   : couple(from, to, vci) + couple_stride - pages_of_pair_bytes();
}

SegmentHeader header_of(const SegmentSpec& spec) {
  SegmentHeader header;
  header.node = spec.node;
  header.slots = spec.slots;
  header.job_length = static_cast<std::uint32_t>(spec.job.size());
  header.slot_bytes = spec.slot_bytes;
  header.store_bytes = spec.store_bytes;
  header.pair_bytes = spec.pair_bytes;
  header.page_bytes = page_bytes();
  header.job_size = spec.job_size;
  header.node_map_bytes = spec.node_map_bytes;
  header.vcis = spec.vcis;
  header.cell_pool_bytes = spec.cell_pool_bytes;
  std::copy(spec.job.begin(), spec.job.end(), header.job.begin());
  return header;
}

base::Status check_header(const SegmentHeader& found, const SegmentSpec& spec,
                          const std::string& path) {
  const SegmentHeader wanted = header_of(spec);
  auto number = [](auto value) { return std::to_string(value); };
  if (found.magic != wanted.magic)
    return differs(path, "kind", number(found.magic), number(wanted.magic));
  if (found.version != wanted.version)
    return differs(path, "version", number(found.version), number(wanted.version));
  std::string_view job(found.job.data(), std::min<std::size_t>(found.job_length, kMaxJobName));
  if (job != spec.job) return differs(path, "job", std::string(job), spec.job);
  if (found.node != wanted.node)
    return differs(path, "node", number(found.node), number(wanted.node));
  if (found.slots != wanted.slots)
    return differs(path, "number of processes", number(found.slots), number(wanted.slots));
  if (found.job_size != wanted.job_size)
    return differs(path, "size of the job", number(found.job_size), number(wanted.job_size));
  if (found.node_map_bytes != wanted.node_map_bytes)
    return differs(path, "node map size", number(found.node_map_bytes),
                   number(wanted.node_map_bytes));
  if (found.slot_bytes != wanted.slot_bytes)
    return differs(path, "slot size", number(found.slot_bytes), number(wanted.slot_bytes));
  if (found.store_bytes != wanted.store_bytes)
    return differs(path, "store size", number(found.store_bytes), number(wanted.store_bytes));
  if (found.pair_bytes != wanted.pair_bytes)
    return differs(path, "pair block size (INTERSESSION_RING_BYTES)", number(found.pair_bytes),
                   number(wanted.pair_bytes));
  if (found.cell_pool_bytes != wanted.cell_pool_bytes)
    return differs(path, "cell pool size (INTERSESSION_CELL_POOL_BYTES)",
                   number(found.cell_pool_bytes), number(wanted.cell_pool_bytes));
  if (found.vcis != wanted.vcis)
    return differs(path, "number of VCIs (INTERSESSION_VCIS)", number(found.vcis),
                   number(wanted.vcis));
  if (found.page_bytes != wanted.page_bytes)
    return differs(path, "page size", number(found.page_bytes), number(wanted.page_bytes));
  return {};
}

}  // namespace shim::node
