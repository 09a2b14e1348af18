// SPDX-License-Identifier: BSD-3-Clause
// A session: a light handle on the Process object, with its own thread level, error handler and info (MPI-4.1 §11.3).
#pragma once

#include <cstdint>
#include <atomic>
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

/// What MPI_Session_init's info asks for (MPI-4.1 §11.3.1).
struct SessionOptions {
  ThreadLevel level = ThreadLevel::multiple;  ///< the standard advises against the lowest as default
  bool strict_finalize = false;
  std::optional<bool> starts_beside = {};  ///< mpix_start_beside; empty: as the setting start_beside says
};
/// No info is one without keys; keys that are not known are ignored. Errors: info_value (a value that has no meaning).
base::Result<SessionOptions> read_session_options(const InfoPtr& info);

/// Where a session has its Process from, which may still be starting beside the program.
class ProcessSource {
 public:
  virtual ~ProcessSource() = default;
  /// Waits until it is there. From any thread. Errors: those of Process::start, each time.
  virtual base::Result<Process*> process() = 0;
};
/// Of one that is there.
std::shared_ptr<ProcessSource> source_of(std::shared_ptr<Process> process);

/// Something made from a session that MPI_Session_finalize can tell the user about.
class Described {
 public:
  virtual ~Described() = default;
  virtual std::string description() const = 0;
};

class Session {
 public:
  Session(std::shared_ptr<ProcessSource> source, const SessionOptions& options, ErrorHandlerPtr handler)
      : source_(std::move(source)), options_(options), opener_(std::this_thread::get_id()), handler_(std::move(handler)) {}

  /// As ProcessSource has it. What needs no other process than this one does not ask.
  base::Result<Process*> process() const;
  /// In which communicators that are made from it live, where nothing speaks against it: that of the thread that has opened it. Stays
  /// what it was first. Errors: of process().
  base::Result<std::uint32_t> lane();
  ThreadLevel thread_level() const { return options_.level; }
  bool is_strict() const { return options_.strict_finalize; }
  ErrorHandlerPtr error_handler() const;
  void set_error_handler(ErrorHandlerPtr handler);

  // --- process sets. Names are compared without regard to case after "mpi://", as MPI-4.1 §11.3.2 has URIs.
  /// Local. The list is fixed per session and grows at its end only (MPI-4.1 §11.3.2: indices stay valid).
  base::Result<int> pset_count();
  base::Result<std::string> nth_pset(int n);             ///< errors: arg
  base::Result<InfoPtr> pset_info(const std::string& name);   ///< mpi_size; errors: arg (unknown; names those there are)
  base::Result<GroupPtr> group_of_pset(const std::string& name);

  /// Local. Every process of the job finds the set when it asks next. Errors: as ProcessSets::publish.
  base::Status publish_pset(const std::string& name, const GroupPtr& group);

  /// thread_level, strict_finalize, mpi_memory_alloc_kinds, as granted (MPI-4.1 §11.3.1, §12.4.3).
  InfoPtr info() const;

  /// What was made from this session and still lives, for finalize's report.
  void register_object(const std::weak_ptr<const Described>& object);
  std::vector<std::string> living_objects();

 private:
  const std::shared_ptr<ProcessSource> source_;
  const SessionOptions options_;
  const std::thread::id opener_;
  mutable std::atomic<bool> is_introduced_{false};  ///< to the Process; pairs with nothing
  mutable std::mutex mutex_;  ///< guards what follows
  ErrorHandlerPtr handler_;
  std::optional<std::uint32_t> lane_;
  std::vector<std::weak_ptr<const Described>> objects_;
  std::vector<std::string> pset_names_;
  std::unordered_set<std::string> known_pset_names_;  ///< of pset_names_, canonical
};
using SessionPtr = std::shared_ptr<Session>;

}  // namespace shim::sessions
