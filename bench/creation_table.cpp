// SPDX-License-Identifier: BSD-3-Clause
// What it costs a process that the creation of a communicator tells each member of all others (shim/sessions/creation_table.hpp), and that
// the members of a large group find their parts in it. bench/startup_model reads it.
//
//   creation_table [nodes processes-of-each]...      default: 1024 64 2048 96
//
// Prints, in the columns of bench/startup, milliseconds and bytes: a member's part in the tree; the message between node roots, and that
// to another member of the node, whose addresses stand in the node's table; and putting all addresses into that table for the first time.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/table_ground.hpp"
#include "shim/base/clock.hpp"
#include "shim/bootstrap/node_map.hpp"
#include "shim/sessions/address_book.hpp"
#include "shim/sessions/creation_roles.hpp"
#include "shim/sessions/creation_wire.hpp"

namespace {

using namespace shim::sessions;

constexpr int kRepetitions = 7;

struct Place {
  std::uint32_t nodes, of_each;
  std::uint32_t processes() const { return nodes * of_each; }
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

/// Of one network of IPv4, as shim/transport/net/address.cpp writes it: each process's own random number and port, and its node's number.
std::array<std::byte, 17> address_of(std::uint32_t node, std::mt19937_64& random) {
  const std::uint64_t cookie = random();
  const auto port = static_cast<std::uint16_t>(32768 + random() % 28232);
  const std::array<std::uint8_t, 7> rest = {0xC1, 1, 4, 10, 1, static_cast<std::uint8_t>(node / 256), static_cast<std::uint8_t>(node)};
  std::array<std::byte, 17> bytes{};
  std::memcpy(bytes.data(), &cookie, sizeof cookie);
  std::memcpy(bytes.data() + 8, &port, sizeof port);
  std::memcpy(bytes.data() + 10, rest.data(), rest.size());
  return bytes;
}

MemberTable table_of(Place place, bool is_in_table) {
  MemberTable table;
  std::mt19937_64 random(1);
  for (std::uint32_t rank = 0; rank < place.processes(); ++rank) {
    const auto address = address_of(rank / place.of_each, random);
    Entry entry{.context_base = 1, .life = 0, .address = {}, .is_in_table = is_in_table};
    if (!is_in_table) entry.address = address;
    table.set(static_cast<int>(rank), entry);
  }
  return table;
}

/// One row: the median, the least and the most of some repetitions of what `measure` returns.
void print(Place place, const char* phase, const char* quantity, const std::function<double()>& measure) {
  std::vector<double> found;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) found.push_back(measure());
  std::ranges::sort(found);
  std::printf("none,%u,creation table,%u,%u,%s,%s,%.6g,%.6g,%.6g,%d\n", std::thread::hardware_concurrency(), place.nodes, place.of_each, phase,
              quantity, found[found.size() / 2], found.front(), found.back(), kRepetitions);
}

template <typename Call>
std::function<double()> milliseconds(Call call) {
  return [call] {
    const auto start = shim::base::now_ns();
    call();
    return static_cast<double>(shim::base::now_ns() - start) / 1e6;
  };
}

std::size_t allocated() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

/// Bytes of memory that a process has for the message as long as the creation goes on.
double held_of(Place place, const std::vector<std::byte>& bytes) {
  const std::size_t before = allocated();
  const auto message = decode(bytes, place.processes());
  if (!message) fail("a message of ours cannot be read");
  return static_cast<double>(allocated() - before);
}

void print_message(Place place, const std::string& to, bool is_in_table) {
  const CreationMessage message = Outcome{{"", "bench", {{0, 0, place.processes(), 1}}}, {1, 1}, 0, table_of(place, is_in_table)};
  std::vector<std::byte> bytes;
  print(place, ("write to " + to).c_str(), "ms", milliseconds([&] { bytes = encode(message); }));
  print(place, ("write to " + to).c_str(), "bytes", [&] { return static_cast<double>(bytes.size()); });
  print(place, ("held by " + to).c_str(), "bytes", [&] { return held_of(place, bytes); });
  print(place, ("read by " + to).c_str(), "ms", milliseconds([&] { if (!decode(bytes, place.processes())) fail("a message of ours cannot be read"); }));
}

void print_part(Place place) {
  std::vector<std::string> hosts;
  std::vector<std::uint32_t> node_of;
  for (std::uint32_t node = 0; node < place.nodes; ++node) {
    hosts.push_back("node" + std::to_string(node));
    node_of.insert(node_of.end(), place.of_each, node);
  }
  const shim::bootstrap::NodeMap map(hosts, node_of);
  const auto group = Group::of_ranges({{0, 0, place.processes(), 1}});
  const shim::base::ProcessId last{.world = 0, .rank = place.processes() - 1};
  print(place, "part", "ms", milliseconds([&] { if (!roles_in(*group, last, {.nodes = map}).spans_nodes) fail("all are on one node"); }));
}

void print_learning(Place place) {
  const MemberTable table = table_of(place, false);
  print(place, "learn", "ms", [&] {
    TableGround ground(place.processes());
    AddressBook book;
    book.use(ground.table());
    return milliseconds([&] {
      for (std::size_t at = 0; at < table.size(); ++at)
        book.learn({.world = 0, .rank = static_cast<std::uint32_t>(table.rank_at(at))}, 0, table.entry_at(at).address);
    })();
  });
}

std::vector<Place> places_of(int argc, char** argv) {
  if (argc == 1) return {{1024, 64}, {2048, 96}};
  std::vector<Place> places;
  for (int i = 1; i + 1 < argc; i += 2)
    places.push_back({static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)), static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10))});
  for (const Place& place : places)
    if (place.nodes < 2 || place.of_each == 0) places.clear();
  if (argc % 2 == 0 || places.empty()) fail("usage: creation_table [nodes processes-of-each]...; two nodes or more");
  return places;
}

}  // namespace

int main(int argc, char** argv) {
  const auto places = places_of(argc, argv);
  std::printf("mpi,cores,system,nodes,per_node,phase,quantity,median,low,high,repetitions\n");
  for (const Place place : places) {
    print_part(place);
    print_message(place, "a node root", false);
    print_message(place, "its node", true);
    print_learning(place);
  }
}
