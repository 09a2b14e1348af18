// SPDX-License-Identifier: BSD-3-Clause
// Measures every algorithm of the collective table, independent of the table's choice.
// Forked processes run the algorithms on an engine over shared memory. bench/collectives/algorithms
// runs this program and writes a tuning file. INTERSESSION_COLL_TUNING names the present table.
//
//  algorithm_times PROCESSES [MILLISECONDS [REPETITIONS [NODES [copied]]]]
//
// With "copied" no process reads another's memory. With several nodes, each PROCESSES/NODES
// consecutive ranks share a segment, and TCP connections of this machine link the nodes.
//
// Prints a line per operation, algorithm, length (as in the table) and repetition:
//  operation,algorithm,needs,bytes,microseconds,is the table's choice
// The time is the slowest process's. It includes writing to each cache line of the input, and the
// round of collectives that start with one. In each repetition all algorithms run in turn, in every
// second one in reverse order.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/lib/fail.hpp"
#include "bench/lib/two_rank_engine.hpp"
#include "shim/base/clock.hpp"
#include "shim/base/settings.hpp"
#include "shim/coll/algorithm_table.hpp"
#include "shim/coll/tuning.hpp"
#include "shim/transport/net/net.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/node/anonymous_area.hpp"

namespace {

using namespace shim;
using bench::need;
using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;

/// The first two lengths with several nodes alone: on one node, data below 512 bytes runs inline
/// or in a collective segment.
constexpr std::uint64_t kLengths[] = {8,       1 << 7,  1 << 10, 1 << 12, 1 << 14,
                                      1 << 16, 1 << 18, 1 << 20, 1 << 22};
constexpr int kShortLengths = 2;
constexpr std::uint64_t kNoLength[] = {0};
/// Bytes of one process's buffer.
constexpr std::uint64_t kLongest = 8 << 20;
/// Rounds of one measurement, at most.
constexpr int kMaxRounds = 1000;

constexpr int kMaxProcesses = 64;

/// Data that the processes share besides messages.
struct SharedData {
  double microseconds[kMaxProcesses];
  int rounds;
  /// Processes whose addresses are below; release: pairs with the acquire of the process that waits
  /// for all.
  std::atomic<int> here;
  struct {
    std::byte bytes[256];
    std::size_t length;
  } addresses[kMaxProcesses];  ///< with several nodes
};

struct Layout {
  int processes, nodes;
  bool is_copied;
  int per_node() const { return processes / nodes; }
  int node_of(int rank) const { return rank / per_node(); }
  std::uint32_t slot_of(int rank) const { return static_cast<std::uint32_t>(rank % per_node()); }
};

/// Locations of all processes, and their links.
class LocalRig final : public coll::Locality, public p2p::Members, public p2p::Router {
 public:
  LocalRig(transport::Transport& memory, transport::Transport* net,
           const transport::ShmSettings& settings, SharedData& shared_data, int rank, Layout layout)
      : memory_(memory),
        net_(net),
        settings_(settings),
        shared_data_(shared_data),
        rank_(rank),
        layout_(layout) {
    if (net_) tell_address();
  }
  coll::MemorySharing sharing() const override {
    return layout_.nodes == 1 ? within_node() : coll::MemorySharing::nothing;
  }
  std::unique_ptr<const coll::Nodes> nodes() const override {
    return coll::Nodes::of(
        size(), rank_, [&](int rank) { return static_cast<std::uint32_t>(layout_.node_of(rank)); },
        within_node());
  }
  std::optional<node::ShmCollSegmentId> allocate_coll_segment() const override {
    return std::nullopt;
  }
  std::unique_ptr<node::ShmCollHandle> open_coll_segment(node::ShmCollSegmentId) const override {
    return nullptr;
  }
  int size() const override { return layout_.processes; }
  base::ProcessId at(int rank) const override { return {0, static_cast<std::uint32_t>(rank)}; }
  base::Result<p2p::Route> route_to(base::ProcessId process) override {
    const int rank = static_cast<int>(process.rank);
    if (layout_.node_of(rank) == layout_.node_of(rank_))
      return p2p::Route{&memory_, transport::shm_address(layout_.slot_of(rank), settings_)};
    while (shared_data_.here.load(std::memory_order_acquire) != size()) std::this_thread::yield();
    const auto& address = shared_data_.addresses[rank];
    return p2p::Route{net_, transport::Bytes(address.bytes, address.bytes + address.length)};
  }
  bool is_alive(base::ProcessId) override { return true; }

 private:
  coll::MemorySharing within_node() const {
    return layout_.is_copied ? coll::MemorySharing::segment : coll::MemorySharing::memory;
  }
  void tell_address() {
    const transport::Bytes own = net_->address();
    auto& address = shared_data_.addresses[rank_];
    if (own.size() > sizeof address.bytes)
      bench::fail("an address is longer than there is room for");
    std::ranges::copy(own, address.bytes);
    address.length = own.size();
    shared_data_.here.fetch_add(1, std::memory_order_release);
  }

  transport::Transport& memory_;
  transport::Transport* net_;  ///< null: one node
  transport::ShmSettings settings_;
  SharedData& shared_data_;
  int rank_;
  Layout layout_;
};

/// One process's buffers, and the measured length.
struct Case {
  int size;
  std::uint64_t bytes;
  std::vector<std::byte>&one, &other;
  std::vector<std::int64_t> counts;  ///< items by rank, `bytes` in total

  Case(int processes, std::uint64_t length, std::vector<std::byte>& a, std::vector<std::byte>& b)
      : size(processes), bytes(length), one(a), other(b) {
    const coll::EvenParts parts{items(), static_cast<std::uint64_t>(size)};
    for (int rank = 0; rank < size; ++rank)
      counts.push_back(static_cast<std::int64_t>(parts.count(rank)));
  }
  std::uint64_t items() const { return bytes / sizeof(double); }
  coll::Operands operands() const {
    return {types::find_predefined("MPI_DOUBLE"), &types::predefined(types::Operator::sum),
            items()};
  }
  std::uint64_t block() const {
    return std::max<std::uint64_t>(bytes / static_cast<std::uint64_t>(size), 1);
  }
};

// Call an algorithm of each kind, with root 0.
coll::Task begin(coll::Barrier* run, const coll::Call& call, Case&) { return run(call); }
coll::Task begin(coll::Bcast* run, const coll::Call& call, Case& on) {
  return run(call, {on.one.data(), on.bytes}, 0);
}
coll::Task begin(coll::Reduce* run, const coll::Call& call, Case& on) {
  return run(call, on.operands(), on.one.data(), call.rank == 0 ? on.other.data() : nullptr, 0);
}
coll::Task begin(coll::Allreduce* run, const coll::Call& call, Case& on) {
  return run(call, on.operands(), on.one.data(), on.other.data());
}
coll::Task begin(coll::Gather* run, const coll::Call& call, Case& on) {
  return run(call, {on.one.data(), on.bytes}, call.rank == 0 ? on.other.data() : nullptr, 0);
}
coll::Task begin(coll::Scatter* run, const coll::Call& call, Case& on) {
  return run(call, call.rank == 0 ? on.one.data() : nullptr, {on.other.data(), on.bytes}, 0);
}
coll::Task begin(coll::Allgather* run, const coll::Call& call, Case& on) {
  return run(call, on.other.data(), on.block());
}
coll::Task begin(coll::Allgatherv* run, const coll::Call& call, Case& on) {
  return run(call, on.other.data(), coll::BlockLayout::equal(on.block()));
}
coll::Task begin(coll::Alltoall* run, const coll::Call& call, Case& on) {
  return run(call, on.one.data(), on.other.data(), on.bytes);
}
coll::Task begin(coll::ReduceScatter* run, const coll::Call& call, Case& on) {
  return run(call, on.operands(), on.one.data(), on.other.data(), on.counts);
}

/// One process's benchmark.
class Bench {
 public:
  Bench(std::shared_ptr<AnonymousSegment> segment, SharedData& shared_data, int rank, Layout layout,
        double milliseconds)
      : settings_{.single_copy = !layout.is_copied},
        area_(std::move(segment), layout.slot_of(rank), node::CoreSet::of_this_process()),
        memory_(need(make_shm(area_, settings_))),
        net_(layout.nodes > 1 ? need(transport::make_net({.interface = "lo"})) : nullptr),
        rig_(*memory_, net_.get(), settings_, shared_data, rank, layout),
        engine_({.settings = {.single_copy = settings_.single_copy},
                 .self = rig_.at(rank),
                 .router = &rig_,
                 .transports = transports(),
                 .is_oversubscribed = layout.processes >
                                      static_cast<int>(std::thread::hardware_concurrency())}),
        context_(engine_.make_context(
            {std::shared_ptr<const p2p::Members>(std::shared_ptr<void>(), &rig_),
             rank,
             common_base(),
             1,
             {}})),
        comm_(engine_, *context_, std::make_shared<coll::ScratchPool>(), rank, layout.processes,
              nullptr, &rig_, *table_),
        shared_data_(shared_data),
        milliseconds_(milliseconds),
        lengths_(std::span(kLengths).subspan(layout.nodes > 1 ? 0 : kShortLengths)),
        one_(kLongest),
        other_(kLongest) {
    area_.set_ready();
  }

  void measure_all(int repetition) {
    repetition_ = repetition;
    const coll::AlgorithmTable& all = comm_.table();
    if (net_) measure("barrier", all.barrier, {}, kNoLength);
    measure("bcast", all.bcast, {.meets = true, .given = Given::by_root}, lengths_);
    measure("reduce", all.reduce, {.meets = true}, lengths_);
    measure("allreduce", all.allreduce, {.meets = true}, lengths_);
    measure("gather", all.gather, {.meets = true, .blocks = comm_.size()}, lengths_);
    measure("scatter", all.scatter,
            {.meets = comm_.size() == 2, .given = Given::blocks_by_root, .blocks = comm_.size()},
            lengths_);
    measure("allgather", all.allgather, {.meets = true, .given = Given::in_place}, lengths_);
    measure("allgatherv", all.allgatherv, {.meets = true, .given = Given::in_place}, lengths_);
    measure("alltoall", all.alltoall,
            {.meets = true, .given = Given::blocks, .blocks = comm_.size()}, lengths_);
    measure("reduce_scatter", all.reduce_scatter, {.meets = true}, lengths_);
    measure("scan", all.scan, {}, lengths_);
    measure("exscan", all.exscan, {}, lengths_);
    if (!settings_.single_copy && engine_.counts().single_copies != 0)
      bench::fail("memory of another process was read where all is to be copied");
  }

 private:
  std::vector<transport::Transport*> transports() const {
    std::vector<transport::Transport*> all{memory_.get()};
    if (net_) all.push_back(net_.get());
    return all;
  }
  static std::shared_ptr<const p2p::ContextBases> common_base() {
    auto bases = std::make_shared<p2p::ContextBases>();
    bases->common = 1;
    return bases;
  }

  /// Input of a process: `bytes`, one block per process, or its own block of the output.
  enum class Given { once, blocks, by_root, blocks_by_root, in_place };
  struct Manner {
    /// The blocking form on one node starts with a round (shim/coll/README.md), and so does this
    /// measurement: the round synchronizes all members.
    bool meets = false;
    Given given = Given::once;
    int blocks = 1;  ///< blocks of this length in a buffer
  };
  template <typename Function>
  void measure(const char* operation, const coll::AlgorithmRows<Function>& rows, Manner manner,
               std::span<const std::uint64_t> lengths) {
    for (std::uint64_t bytes : lengths) {
      if (bytes * static_cast<std::uint64_t>(manner.blocks) > kLongest) continue;
      Case on(comm_.size(), bytes, one_, other_);
      std::vector<const coll::AlgorithmRow<Function>*> possible;
      for (const auto& row : rows.tasks()) {
        const auto is_same = [&](const auto* other) {
          return other->algorithm.task == row.algorithm.task;
        };
        if (row.when.is_possible(comm_.size(), true, comm_.nodes()) &&
            std::ranges::none_of(possible, is_same))
          possible.push_back(&row);
      }
      if (repetition_ % 2 != 0) std::ranges::reverse(possible);
      const Function* chosen = rows.task_for(coll::call_on(comm_, 0), bytes);
      for (const auto* row : possible) {
        const double time = time_of([&] {
          renew(given(manner, on));
          if (manner.meets && !net_) meet();
          run(begin(row->algorithm.task, coll::call_on(comm_, comm_.next_tag()), on));
        });
        if (comm_.rank() != 0) continue;
        std::string needs = row->when.needs_commutative ? "commutative " : "";
        if (row->when.needs_power_of_two) needs += "power_of_two";
        const std::string name(row->name.substr(0, row->name.find(',')));
        std::printf("%s,%s,%s,%llu,%.3f,%d\n", operation, name.c_str(), needs.c_str(),
                    static_cast<unsigned long long>(bytes), time, row->algorithm.task == chosen);
      }
    }
  }

  std::span<std::byte> given(Manner manner, const Case& on) {
    const std::size_t all = on.bytes * static_cast<std::size_t>(manner.blocks);
    switch (manner.given) {
      case Given::once:
        return std::span(one_).first(on.bytes);
      case Given::blocks:
        return std::span(one_).first(all);
      case Given::by_root:
        return std::span(one_).first(comm_.rank() == 0 ? on.bytes : 0);
      case Given::blocks_by_root:
        return std::span(one_).first(comm_.rank() == 0 ? all : 0);
      case Given::in_place:
        return std::span(other_).subspan(on.block() * static_cast<std::size_t>(comm_.rank()),
                                         on.block());
    }
    return {};
  }
  /// Modify one byte per cache line, as a program that computes its input does; otherwise an
  /// earlier reader still has it in its cache.
  static void renew(std::span<std::byte> given) {
    constexpr std::size_t kCacheLine = 64;
    for (std::size_t at = 0; at < given.size(); at += kCacheLine) {
      auto* const byte = reinterpret_cast<volatile unsigned char*>(&given[at]);
      *byte = static_cast<unsigned char>(*byte ^ 1);
    }
  }
  void run(coll::Task task) { need(coll::run(comm_, std::move(task))); }
  void meet() { run(coll::barrier_dissemination(coll::call_on(comm_, comm_.next_tag()))); }

  /// Return microseconds at the slowest process; equal at all processes.
  double time_of(const std::function<void()>& once) {
    const double alone = slowest(once, 2);
    if (comm_.rank() == 0)
      shared_data_.rounds = std::clamp(
          static_cast<int>(milliseconds_ * 1000 / std::max(alone, 0.1)), 3, kMaxRounds);
    meet();
    return slowest(once, shared_data_.rounds);
  }
  double slowest(const std::function<void()>& once, int rounds) {
    meet();
    const base::Nanoseconds start = base::now_ns();
    for (int i = 0; i < rounds; ++i) once();
    shared_data_.microseconds[comm_.rank()] = static_cast<double>(base::now_ns() - start) / rounds /
                                              1000;
    meet();
    const double most = *std::max_element(shared_data_.microseconds,
                                          shared_data_.microseconds + comm_.size());
    meet();
    return most;
  }

  const transport::ShmSettings settings_;
  AnonymousArea area_;
  std::unique_ptr<transport::Transport> memory_;
  std::unique_ptr<transport::Net> net_;  ///< null: one node
  LocalRig rig_;
  p2p::Engine engine_;
  p2p::ContextPtr context_;
  coll::AlgorithmTablePtr table_ = need(
      coll::load_tuning(base::from_environment("INTERSESSION_COLL_TUNING").value_or("")));
  coll::Comm comm_;
  SharedData& shared_data_;
  double milliseconds_;
  std::span<const std::uint64_t> lengths_;
  std::vector<std::byte> one_, other_;
  int repetition_ = 0;
};

/// Wait for all children. If one fails, kill the others, which would wait for it.
int wait_for_all(const std::vector<pid_t>& children) {
  for (std::size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    if (wait(&status) > 0 && status == 0) continue;
    for (pid_t child : children) kill(child, SIGKILL);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Layout layout{argc > 1 ? std::atoi(argv[1]) : 0, argc > 4 ? std::atoi(argv[4]) : 1,
                      argc > 5 && std::string_view(argv[5]) == "copied"};
  const double milliseconds = argc > 2 ? std::atof(argv[2]) : 5;
  const int repetitions = argc > 3 ? std::atoi(argv[3]) : 5;
  if (layout.processes < 2 || layout.processes > kMaxProcesses || layout.nodes < 1 ||
      layout.processes % layout.nodes != 0)
    bench::fail(
        "algorithm_times PROCESSES [MILLISECONDS [REPETITIONS [NODES [copied]]]], 2 to 64 "
        "processes, as many on each node");
  const auto slots = static_cast<std::uint32_t>(layout.per_node());
  std::vector<std::shared_ptr<AnonymousSegment>> segments(static_cast<std::size_t>(layout.nodes));
  for (auto& segment : segments)
    segment = std::make_shared<AnonymousSegment>(slots, transport::shm_slot_bytes(slots),
                                                 transport::shm_pair_bytes({}), 0,
                                                 base::Settings().cell_pool_bytes);
  void* shared = mmap(nullptr, sizeof(SharedData), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) bench::fail("no memory to share");
  std::vector<pid_t> children;
  for (int rank = 0; rank < layout.processes; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      {
        Bench bench(segments[static_cast<std::size_t>(layout.node_of(rank))],
                    *static_cast<SharedData*>(shared), rank, layout, milliseconds);
        for (int i = 0; i < repetitions; ++i) bench.measure_all(i);
      }
      std::fflush(stdout);
      std::_Exit(0);
    }
    children.push_back(child);
  }
  return wait_for_all(children);
}
