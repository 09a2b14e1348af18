// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the parser of tuning files: an invalid file must give an error, and a valid one a table
// that selects an algorithm for every case.
#include <cstdint>
#include <string>
#include <string_view>

#include "shim/coll/algorithm_table.hpp"
#include "shim/coll/tuning.hpp"

namespace {

using namespace shim::coll;

void select_everywhere(const AlgorithmTable& table) {
  for_each_collective([&](std::string_view, auto member) {
    const auto& rows = table.*member;
    for (int size : {1, 2, 3, 8, 16, 100}) {
      for (std::uint64_t bytes : {0u, 7u, 1088u, 1u << 20}) {
        Call call{};
        call.size = size;
        if (rows.task_for(call, bytes, false) == nullptr) __builtin_trap();
        static_cast<void>(rows.inline_for(call, bytes));
        for (const SegmentRow& row : rows.segment())
          if (row.path == SegmentPath::medium_buffer && row.when.max_bytes > 1088) __builtin_trap();
      }
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // mostly rows: the first line is there already, unless the first byte is 0xff
  std::string text(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[0] != 0xff) text.insert(0, "intersession-coll-tuning 1\n");
  const auto table = parse_tuning(text, "fuzz");
  if (!table) {
    if (table.error().text().find("fuzz, line ") != 0) __builtin_trap();
    return 0;
  }
  select_everywhere(**table);
  return 0;
}
