// SPDX-License-Identifier: BSD-3-Clause
// Launcher is an in-memory launcher for tests: N Bootstraps in one program. It behaves like a
// launcher of N processes, and can inject faults.
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

/// Properties of the launcher's job.
struct World {
  std::string name = "inmem";
  NodeMap node_map = NodeMap({"node0"}, {0});
  std::vector<std::uint32_t> app_numbers;
  std::vector<NamedSet> named_sets;

  /// Return `nodes` hosts ("node0", …) with `per_node` consecutive ranks each.
  static World of(std::uint32_t nodes, std::uint32_t per_node);
  /// Distribute ranks round-robin over the hosts, as `mpirun --map-by node`.
  static World dealt(std::uint32_t nodes, std::uint32_t size);
};

/// Behavior of the launcher for one operation. Delays are counted in polls, not in time, so that
/// tests are deterministic.
struct Fault {
  enum class Type : std::uint8_t { none, slow, failing, never } kind = Type::none;
  int slow_polls = 0;  ///< polls that return nothing although the response exists
  static Fault slow(int polls) { return {Type::slow, polls}; }
  static Fault failing() { return {Type::failing, 0}; }
  static Fault never() { return {Type::never, 0}; }
};

/// One operation of one process, as passed to a fault chooser.
struct LauncherCall {
  enum class Type : std::uint8_t {
    node_map,
    publish,
    lookup,
    fence,
    named_sets,
    append_log,
    read_log
  } kind;
  std::uint32_t caller;
  std::uint32_t target;  ///< owner of the key of a lookup; else the caller
  std::string key;       ///< of a publish or lookup
};

/// The launcher; its Bootstraps share it and keep it alive. Thread-safe.
class Launcher : public std::enable_shared_from_this<Launcher> {
 public:
  static std::shared_ptr<Launcher> start(World world);

  /// Open the Bootstrap of one process. May be called again for a process that re-initializes.
  std::unique_ptr<Bootstrap> open(std::uint32_t rank);

  /// Set the fault chooser for all later operations; called on the callers' threads.
  void set_faults(std::function<Fault(const LauncherCall&)> chooser);
  /// Replace the process sets while the job runs.
  void set_named_sets(std::vector<NamedSet> sets);

  struct Abort {
    std::uint32_t rank;
    int exit_code;
    std::string text;
  };
  /// Return all calls of Bootstrap::abort, in order.
  std::vector<Abort> aborts() const;

 private:
  friend class Backend;
  explicit Launcher(World world) : world_(std::move(world)) {}
  Fault fault_for(const LauncherCall& operation) const;
  /// Enter the caller's next fence over these ranks; return its number among the fences over them.
  std::uint64_t enter_fence(std::uint32_t rank, const std::vector<std::uint32_t>& ranks);
  bool fence_is_done(const std::vector<std::uint32_t>& ranks, std::uint64_t number) const;

  World world_;
  const std::shared_ptr<ValueStore> values_ = std::make_shared<ValueStore>();
  mutable std::mutex mutex_;  // guards all members below, and world_.named_sets
  std::function<Fault(const LauncherCall&)> chooser_;
  /// For each sorted set of ranks: number of fences over it that each rank has entered.
  std::map<std::vector<std::uint32_t>, std::map<std::uint32_t, std::uint64_t>> fences_;
  std::vector<LogEntry> entries_;
  std::vector<Abort> aborts_;
};

}  // namespace shim::bootstrap::inmem
