// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "shim/node/address_table.hpp"

/// Zeroed memory for a node's address table, faulted in page by page, like the node segment's.
class AddressTableFixture {
 public:
  explicit AddressTableFixture(std::uint32_t processes)
      : marks_(shim::node::AddressTable::chunk_bitmap_words(processes)),
        count_(shim::node::AddressTable::chunks_for(processes) *
               shim::node::AddressTable::kRecordsPerChunk),
        records_(static_cast<shim::node::AddressRecord*>(
                     std::calloc(count_, sizeof(shim::node::AddressRecord))),
                 std::free) {}
  shim::node::AddressTable table() {
    return {marks_, {records_.get(), count_}, [](std::byte*, std::size_t) {
              return shim::base::Status();
            }};
  }

 private:
  std::vector<std::atomic<std::uint64_t>> marks_;
  std::size_t count_;
  std::unique_ptr<shim::node::AddressRecord, decltype(&std::free)> records_;
};
