// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost, per process, of the member table of a communicator creation.
// Members exchange the table (shim/sessions/member_table.hpp) and find their parts in it.
// bench/startup/model reads the output.
//
//  creation_table [nodes processes-of-each]...      default: 1024 64 2048 96
//
// Prints milliseconds and bytes in the columns of bench/startup: a member's part in the tree; the
// message between node leaders, and the message to other members of the node, whose addresses are
// in the node's table; and storing all addresses in that table for the first time.
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

#include "bench/lib/address_table_fixture.hpp"
#include "shim/base/clock.hpp"
#include "shim/bootstrap/node_map.hpp"
#include "shim/sessions/address_book.hpp"
#include "shim/sessions/creation_roles.hpp"
#include "shim/sessions/creation_wire.hpp"

namespace {

using namespace shim::sessions;

constexpr int kRepetitions = 7;

struct JobShape {
  std::uint32_t nodes, of_each;
  std::uint32_t processes() const { return nodes * of_each; }
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

/// Return an address of one IPv4 network as shim/transport/net/address.cpp writes it: the process's
/// random number and port, and the node's number.
std::array<std::byte, 17> address_of(std::uint32_t node, std::mt19937_64& random) {
  const std::uint64_t cookie = random();
  const auto port = static_cast<std::uint16_t>(32768 + random() % 28232);
  const std::array<std::uint8_t, 7> rest = {
      0xC1, 1, 4, 10, 1, static_cast<std::uint8_t>(node / 256), static_cast<std::uint8_t>(node)};
  std::array<std::byte, 17> bytes{};
  std::memcpy(bytes.data(), &cookie, sizeof cookie);
  std::memcpy(bytes.data() + 8, &port, sizeof port);
  std::memcpy(bytes.data() + 10, rest.data(), rest.size());
  return bytes;
}

MemberTable table_of(JobShape shape, bool node_has_address) {
  MemberTable table;
  std::mt19937_64 random(1);
  for (std::uint32_t rank = 0; rank < shape.processes(); ++rank) {
    const auto address = address_of(rank / shape.of_each, random);
    MemberEntry entry{
        .context_base = 1, .incarnation = 0, .address = {}, .node_has_address = node_has_address};
    if (!node_has_address) entry.address = address;
    table.set(static_cast<int>(rank), entry);
  }
  return table;
}

/// Print one row: median, minimum and maximum of repetitions of `measure`.
void print(JobShape shape, const char* phase, const char* quantity,
           const std::function<double()>& measure) {
  std::vector<double> found;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) found.push_back(measure());
  std::ranges::sort(found);
  std::printf("none,%u,creation table,%u,%u,%s,%s,%.6g,%.6g,%.6g,%d\n",
              std::thread::hardware_concurrency(), shape.nodes, shape.of_each, phase, quantity,
              found[found.size() / 2], found.front(), found.back(), kRepetitions);
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

/// Return the bytes that a process allocates for the message until the creation ends.
double held_of(JobShape shape, const std::vector<std::byte>& bytes) {
  const std::size_t before = allocated();
  const auto message = decode(bytes, shape.processes());
  if (!message) fail("a message of ours cannot be read");
  return static_cast<double>(allocated() - before);
}

void print_message(JobShape shape, const std::string& to, bool node_has_address) {
  const CreationMessage message = OutcomeMessage{
      {"", "bench", {{0, 0, shape.processes(), 1}}}, {1, 1}, 0, table_of(shape, node_has_address)};
  std::vector<std::byte> bytes;
  print(shape, ("write to " + to).c_str(), "ms", milliseconds([&] { bytes = encode(message); }));
  print(shape, ("write to " + to).c_str(), "bytes",
        [&] { return static_cast<double>(bytes.size()); });
  print(shape, ("held by " + to).c_str(), "bytes", [&] { return held_of(shape, bytes); });
  print(shape, ("read by " + to).c_str(), "ms", milliseconds([&] {
          if (!decode(bytes, shape.processes())) fail("a message of ours cannot be read");
        }));
}

void print_part(JobShape shape) {
  std::vector<std::string> hosts;
  std::vector<std::uint32_t> node_of;
  for (std::uint32_t node = 0; node < shape.nodes; ++node) {
    hosts.push_back("node" + std::to_string(node));
    node_of.insert(node_of.end(), shape.of_each, node);
  }
  const shim::bootstrap::NodeMap map(hosts, node_of);
  const auto group = Group::of_ranges({{0, 0, shape.processes(), 1}});
  const shim::base::ProcessId last{.world = 0, .rank = shape.processes() - 1};
  print(shape, "part", "ms", milliseconds([&] {
          if (!roles_in(*group, last, {.nodes = map}).spans_nodes) fail("all are on one node");
        }));
}

void print_learning(JobShape shape) {
  const MemberTable table = table_of(shape, false);
  print(shape, "learn", "ms", [&] {
    AddressTableFixture fixture(shape.processes());
    AddressBook book;
    book.use(fixture.table());
    return milliseconds([&] {
      for (std::size_t at = 0; at < table.size(); ++at)
        book.record({.world = 0, .rank = static_cast<std::uint32_t>(table.rank_at(at))}, 0,
                    table.entry_at(at).address);
    })();
  });
}

std::vector<JobShape> shapes_of(int argc, char** argv) {
  if (argc == 1) return {{1024, 64}, {2048, 96}};
  std::vector<JobShape> shapes;
  for (int i = 1; i + 1 < argc; i += 2)
    shapes.push_back({static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)),
                      static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10))});
  for (const JobShape& shape : shapes)
    if (shape.nodes < 2 || shape.of_each == 0) shapes.clear();
  if (argc % 2 == 0 || shapes.empty())
    fail("usage: creation_table [nodes processes-of-each]...; two nodes or more");
  return shapes;
}

}  // namespace

int main(int argc, char** argv) {
  const auto shapes = shapes_of(argc, argv);
  std::printf("mpi,cores,system,nodes,per_node,phase,quantity,median,low,high,repetitions\n");
  for (const JobShape shape : shapes) {
    print_part(shape);
    print_message(shape, "a node leader", false);
    print_message(shape, "its node", true);
    print_learning(shape);
  }
}
