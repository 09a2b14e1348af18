// SPDX-License-Identifier: BSD-3-Clause
// Session is a light handle on the Process object. It has its own thread level, error handler and
// info (MPI-4.1 §11.3).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/sessions/error_handler.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/info.hpp"

namespace shim::sessions {

class Process;

enum class ThreadLevel { single, funneled, serialized, multiple };
std::string_view name_of(ThreadLevel level);  ///< "MPI_THREAD_SINGLE" and so on

/// Options from MPI_Session_init's info (MPI-4.1 §11.3.1).
struct SessionOptions {
  /// The standard advises against the lowest level as default.
  ThreadLevel level = ThreadLevel::multiple;
  bool strict_finalize = false;
  /// Key mpix_start_beside: start the Process on a thread of its own. Empty: the setting
  /// start_beside applies.
  std::optional<bool> starts_beside = {};
};
/// Parse the info of MPI_Session_init. A null info has no keys; unknown keys are ignored. Errors:
/// info_value (invalid value).
base::Result<SessionOptions> read_session_options(const InfoPtr& info);

/// ProcessSource provides a session's Process, which may still be starting on another thread.
class ProcessSource {
 public:
  virtual ~ProcessSource() = default;
  /// Wait until the Process has started. Callable from any thread. Errors: those of Process::start,
  /// at each call.
  virtual base::Result<Process*> process() = 0;
};
/// Return the source of a Process that has started.
std::shared_ptr<ProcessSource> source_of(std::shared_ptr<Process> process);

/// Object made from a session that MPI_Session_finalize can report to the user.
class Described {
 public:
  virtual ~Described() = default;
  virtual std::string description() const = 0;
  /// Return the description and where the program created the object, if known.
  virtual std::string description_with_origin() const { return description(); }
};

class Session {
 public:
  Session(std::shared_ptr<ProcessSource> source, const SessionOptions& options,
          ErrorHandlerPtr handler)
      : source_(std::move(source)),
        options_(options),
        opener_(std::this_thread::get_id()),
        handler_(std::move(handler)) {}

  /// Wait for the Process (ProcessSource::process). Local functions do not call this.
  base::Result<Process*> process() const;
  /// Return the preferred VCI of communicators made from this session: its opener's VCI. Constant
  /// after the first call. Errors: those of process().
  base::Result<std::uint32_t> vci();
  ThreadLevel thread_level() const { return options_.level; }
  bool is_strict() const { return options_.strict_finalize; }
  /// Record that the program has got a handle (MPI_Session_init), or has finalized it.
  void set_open(bool is_open) { is_open_.store(is_open, std::memory_order_relaxed); }
  /// True from MPI_Session_init to MPI_Session_finalize.
  bool is_open() const { return is_open_.load(std::memory_order_relaxed); }
  ErrorHandlerPtr error_handler() const;
  void set_error_handler(ErrorHandlerPtr handler);

  // --- process sets. Names are compared without regard to case after "mpi://", as URIs in MPI-4.1
  // §11.3.2.
  /// Local. The list is fixed per session and only grows at its end, so indices stay valid (MPI-4.1
  /// §11.3.2).
  base::Result<int> pset_count();
  base::Result<std::string> nth_pset(int n);  ///< errors: arg
  /// Return mpi_size; errors: arg (unknown name; the text lists the existing ones)
  base::Result<InfoPtr> pset_info(const std::string& name);
  base::Result<GroupPtr> group_of_pset(const std::string& name);

  /// Publish a set; other processes find it at their next query. Local. Errors: those of
  /// ProcessSets::publish.
  base::Status publish_pset(const std::string& name, const GroupPtr& group);

  /// Return thread_level, strict_finalize and mpi_memory_alloc_kinds as granted (MPI-4.1 §11.3.1,
  /// §12.4.3).
  InfoPtr info() const;

  /// Record an object made from this session, for finalize's report of living objects.
  void register_object(const std::weak_ptr<const Described>& object);
  std::vector<std::string> living_objects();

 private:
  const std::shared_ptr<ProcessSource> source_;
  const SessionOptions options_;
  const std::thread::id opener_;
  mutable std::atomic<bool> is_registered_{false};  ///< with the Process; pairs with nothing
  std::atomic<bool> is_open_{false};                ///< for a report; pairs with nothing
  mutable std::mutex mutex_;                        ///< guards all members below
  ErrorHandlerPtr handler_;
  std::optional<std::uint32_t> vci_;
  std::vector<std::weak_ptr<const Described>> objects_;
  std::vector<std::string> pset_names_;
  std::unordered_set<std::string> known_pset_names_;  ///< canonical forms of pset_names_
};
using SessionPtr = std::shared_ptr<Session>;

}  // namespace shim::sessions
