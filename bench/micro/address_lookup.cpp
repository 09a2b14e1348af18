// SPDX-License-Identifier: BSD-3-Clause
// Measures storing and finding process addresses of a large job in a node's address table.
// The table is shim/node/address_table.hpp.
//
//  address_lookup [processes]      default: 2048 nodes of 96
//
// Prints nanoseconds: the first entry of each address, page by page; look-ups in the order of
// ranks, and in random order, in which a large table exceeds all caches; and look-ups in a
// process's address book, which also knows each process's incarnation.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "bench/lib/address_table_fixture.hpp"
#include "shim/base/clock.hpp"
#include "shim/sessions/address_book.hpp"

namespace {

using shim::base::now_ns;
using shim::node::AddressTable;

constexpr int kRepetitions = 5;
constexpr std::size_t kAddressBytes = 17;  // one IPv4 network

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

/// Print the median time of one call per rank.
template <typename Call>
void print(const char* what, const std::vector<std::uint32_t>& ranks, const Call& call) {
  std::vector<double> times;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const auto start = now_ns();
    for (const std::uint32_t rank : ranks) call(rank);
    times.push_back(static_cast<double>(now_ns() - start) / static_cast<double>(ranks.size()));
  }
  std::ranges::sort(times);
  std::printf("%-40s %8.1f ns\n", what, times[times.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  const auto processes = static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10)
                                                             : 2048 * 96);
  if (processes == 0) fail("usage: address_lookup [processes]");
  AddressTableFixture fixture(processes);
  AddressTable table = fixture.table();
  const std::vector<std::byte> address(kAddressBytes, std::byte{7});
  std::vector<std::uint32_t> in_order(processes);
  std::iota(in_order.begin(), in_order.end(), 0);
  std::vector<std::uint32_t> shuffled = in_order;
  std::ranges::shuffle(shuffled, std::mt19937(1));

  const auto start = now_ns();
  for (const std::uint32_t rank : in_order)
    if (!table.insert(rank, 0, address)) fail("an entry was refused");
  std::printf("%u processes, %zu-byte addresses\n%-40s %8.1f ns\n", processes, kAddressBytes,
              "first entry of each", static_cast<double>(now_ns() - start) / processes);

  const auto find = [&](std::uint32_t rank) {
    if (table.find(rank)->bytes.size() != kAddressBytes) fail("not the address");
  };
  print("look-up in the table, in order", in_order, find);
  print("look-up in the table, in random order", shuffled, find);
  shim::sessions::AddressBook book;
  book.use(fixture.table());
  const auto find_in_book = [&](std::uint32_t rank) {
    if (!book.find({.world = 0, .rank = rank})) fail("not in the book");
  };
  print("look-up by the book, in order", in_order, find_in_book);
  print("look-up by the book, in random order", shuffled, find_in_book);
}
