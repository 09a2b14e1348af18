// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "shim/bootstrap/address_table.hpp"

/// Memory for a node's table of addresses, zero, and taken page by page as it is touched, like the node segment's.
class TableGround {
 public:
  explicit TableGround(std::uint32_t processes)
      : marks_(shim::bootstrap::AddressTable::marks_for(processes)),
        count_(shim::bootstrap::AddressTable::chunks_for(processes) * shim::bootstrap::AddressTable::kRecordsPerChunk),
        records_(static_cast<shim::bootstrap::AddressRecord*>(std::calloc(count_, sizeof(shim::bootstrap::AddressRecord))), std::free) {}
  shim::bootstrap::AddressTable table() {
    return {marks_, {records_.get(), count_}, [](std::byte*, std::size_t) { return shim::base::Status(); }};
  }

 private:
  std::vector<std::atomic<std::uint64_t>> marks_;
  std::size_t count_;
  std::unique_ptr<shim::bootstrap::AddressRecord, decltype(&std::free)> records_;
};
