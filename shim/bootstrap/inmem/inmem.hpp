// SPDX-License-Identifier: BSD-3-Clause
// A launcher in memory: N Bootstrap objects in one program, as if they were N processes; and a launcher that
// misbehaves.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/value_store.hpp"

namespace shim::bootstrap::inmem {

/// What the launcher knows about its job.
struct World {
  std::string name = "inmem";
  NodeMap node_map = NodeMap({"node0"}, {0});
  std::vector<std::uint32_t> app_numbers;
  std::vector<NamedSet> named_sets;

  /// `nodes` hosts ("node0", …) with `per_node` consecutive ranks each.
  static World of(std::uint32_t nodes, std::uint32_t per_node);
  /// Ranks dealt out to the hosts in turn, as with `mpirun --map-by node`.
  static World dealt(std::uint32_t nodes, std::uint32_t size);
};

/// How the launcher treats one operation. Slowness is counted in polls and not in time, so that tests are
/// deterministic.
struct Fault {
  enum class Kind : std::uint8_t { none, slow, failing, never } kind = Kind::none;
  int slow_polls = 0;  ///< polls that answer "not yet" although the answer is there
  static Fault slow(int polls) { return {Kind::slow, polls}; }
  static Fault failing() { return {Kind::failing, 0}; }
  static Fault never() { return {Kind::never, 0}; }
};

/// One operation of one process, as a fault chooser sees it.
struct Operation {
  enum class Kind : std::uint8_t { node_map, publish, lookup, fence, named_sets, post, notices } kind;
  std::uint32_t caller;
  std::uint32_t target;  ///< of a lookup; else the caller
  std::string key;       ///< of a publish or lookup
};

/// The launcher; shared by its Bootstrap objects, which keep it alive. Thread-safe.
class Launcher : public std::enable_shared_from_this<Launcher> {
 public:
  static std::shared_ptr<Launcher> start(World world);

  /// The Bootstrap of one process. May be called again for a process that begins anew.
  std::unique_ptr<Bootstrap> open(std::uint32_t rank);

  /// Decides about every operation from now on; called from the callers' threads.
  void set_faults(std::function<Fault(const Operation&)> chooser);
  /// Process sets that appear while the job runs.
  void set_named_sets(std::vector<NamedSet> sets);

  struct Abort {
    std::uint32_t rank;
    int exit_code;
    std::string text;
  };
  /// What the processes asked for by Bootstrap::abort, in order.
  std::vector<Abort> aborts() const;

 private:
  friend class Backend;
  explicit Launcher(World world) : world_(std::move(world)) {}
  Fault fault_for(const Operation& operation) const;
  /// Enters the caller's next fence over these ranks and answers its number among the fences over them.
  std::uint64_t enter_fence(std::uint32_t rank, const std::vector<std::uint32_t>& ranks);
  bool fence_is_done(const std::vector<std::uint32_t>& ranks, std::uint64_t number) const;

  World world_;
  const std::shared_ptr<ValueStore> values_ = std::make_shared<ValueStore>();
  mutable std::mutex mutex_;  // guards all below, and named_sets of the world
  std::function<Fault(const Operation&)> chooser_;
  /// For each set of ranks (sorted), how many fences over it each rank has entered.
  std::map<std::vector<std::uint32_t>, std::map<std::uint32_t, std::uint64_t>> fences_;
  std::vector<Notice> notices_;
  std::vector<Abort> aborts_;
};

}  // namespace shim::bootstrap::inmem
