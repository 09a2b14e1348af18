// SPDX-License-Identifier: BSD-3-Clause
// Bootstrap is the interface to the launcher: job, node map, key-value exchange, fence, abort.
// Backends: mpirun/ (Open MPI's mpirun, one node), pmix/ (PMIx), pmi1/ (PMI-1), singleton.cpp (no
// launcher), inmem/ (tests). Only fence is collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/ids.hpp"
#include "shim/base/loaded_library.hpp"
#include "shim/base/phases.hpp"
#include "shim/base/result.hpp"
#include "shim/bootstrap/node_map.hpp"

namespace shim::bootstrap {

/// Job of this process as the launcher reports it; constant during the lifetime of a Bootstrap.
struct Job {
  std::string
      world_name;  ///< unique among the jobs of a user on a machine (PMIx namespace, PMI kvs name)
  std::uint32_t rank = 0;  ///< of this process in MPI_COMM_WORLD
  std::uint32_t size = 1;
};

/// Location of this process in the job.
struct NodeLocation {
  std::string host;
  /// ranks of the job's processes on this node, ascending, including this process
  std::vector<std::uint32_t> local_ranks;
  std::uint32_t node_count = 1;  ///< number of nodes of the job
  /// Return the index of a rank in local_ranks, which is its slot in the node segment.
  std::uint32_t slot_of(std::uint32_t rank) const;
  bool has(std::uint32_t rank) const;
};

/// Return the location of a process according to a node map.
NodeLocation location_in(const NodeMap& map, std::uint32_t rank);

/// Environment variables by which a launcher identifies the processes that it starts.
struct LaunchIdentity {
  std::vector<std::string> job;  ///< entries "NAME=value" that every process of the job has
  std::string rank_variable;     ///< name of the variable that holds the rank in the world
};

/// A named set of processes of this world, defined by the launcher or the user.
struct NamedSet {
  std::string name;  ///< with its scheme, e.g. "mpix://APP/1", or the launcher's own name
  std::vector<std::uint32_t> ranks;  ///< world ranks in the set's own order
};

/// Numbers that a launcher passes for attributes of MPI_COMM_WORLD; those that it does not pass are
/// not set.
struct LaunchNumbers {
  std::optional<std::uint32_t> universe_size;  ///< MPI_UNIVERSE_SIZE
  std::optional<std::uint32_t> app_number;     ///< MPI_APPNUM of this process
};

/// An entry of the job-wide log.
struct LogEntry {
  std::uint32_t writer = 0;  ///< world rank of the process that appended the entry
  std::uint32_t index = 0;   ///< index among the entries of this writer, from 0
  Bytes bytes;
};
/// Limit for one entry, in bytes.
inline constexpr std::size_t kMaxLogEntryBytes = 65'536;

/// A pending request to the launcher. The caller may destroy it at any time, which abandons the
/// request.
template <typename T>
class Pending {
 public:
  virtual ~Pending() = default;
  /// Return the response, nothing if there is none yet, or an error. Never blocks. Do not call
  /// again after a response or an error.
  virtual base::Result<std::optional<T>> poll() = 0;
};
struct Done {};

/// Connection to the launcher. All functions are thread-safe.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual std::string_view name() const = 0;  ///< "mpirun", "pmix", "pmi1", "singleton", "inmem"
  virtual const Job& job() const = 0;
  /// Return what the user should know about the launch; nothing in most cases.
  virtual std::optional<std::string> warning() const { return std::nullopt; }
  /// Return the location of this process; available from the start.
  virtual NodeLocation location() const;
  /// Return the node of each process. Empty before set_node_map() if the backend does not have the
  /// map from the start (PMIx, inmem).
  virtual const NodeMap& node_map() const = 0;
  /// Query the node map from the launcher, which takes one request or more per node with some
  /// launchers. Local. Errors: other (the launcher does not provide it).
  virtual base::Result<NodeMap> query_node_map() { return node_map(); }
  /// Set the node map to a result of query_node_map() in this process or in another process of the
  /// node. Call it before the first use of node_map(); resolve_node_map() does so.
  virtual void set_node_map(NodeMap) {}
  /// Application number of each rank in an MPMD launch; empty if the launcher has only one
  /// application.
  virtual std::span<const std::uint32_t> app_numbers() const = 0;
  /// Query the launcher for these numbers. Local; waits for the launcher, which may not respond.
  virtual LaunchNumbers query_launch_numbers() { return {}; }
  /// Return the environment variables that identify a process of this job; nothing if there are
  /// none.
  virtual std::optional<LaunchIdentity> launch_identity() const { return std::nullopt; }
  /// Return the sets that the launcher names, without WORLD, SELF and sets made from the node map.
  /// Queries the launcher at each call.
  virtual base::Result<std::vector<NamedSet>> named_sets() = 0;

  /// Publish a value of this process for all processes of the job. Local. Publish each key at most
  /// once per OS process, because launchers return stale values of a key that is published again
  /// (docs/decisions/0022-pmix-requests.md).
  virtual base::Status publish(std::string_view key, std::span<const std::byte> value) = 0;
  /// Request a value of another process. The request completes after that process has published the
  /// value, and may never complete: the caller keeps the deadline. Retries with exponential
  /// back-off if the launcher reports a missing value at once.
  virtual base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank,
                                                               std::string_view key) = 0;
  /// Start a fence over exactly these ranks. It completes once all of them have entered; their
  /// values published before the fence can then be looked up.
  virtual base::Result<std::unique_ptr<Pending<Done>>> fence(
      std::span<const std::uint32_t> ranks) = 0;

  /// Append an entry to the job-wide log. Entries last as long as the job; without a launcher, as
  /// long as this object. Local; returns once the launcher has stored the entry, so every
  /// read_log() that begins later in any process returns it. After an error the entry may be stored
  /// nevertheless. Errors: unsupported_operation (the launcher has no store; the text names
  /// launchers that have one), arg (longer than kMaxLogEntryBytes), other.
  virtual base::Status append_log(std::span<const std::byte> entry) = 0;
  /// Return all entries appended so far, in order for each writer; the result of an earlier call is
  /// a prefix. Local: waits for the launcher, but not for any process. Empty if the launcher has no
  /// store. Errors: other (no response in time).
  virtual base::Result<std::vector<LogEntry>> read_log() = 0;

  /// True if the launcher has exited before this process. Then no response arrives any more, the
  /// job is not aborted, and peers may wait forever. Cheap enough for ten calls per second.
  virtual bool has_lost_launcher() const { return false; }

  /// Abort the job if the launcher can; otherwise return, and the caller ends this process.
  virtual void abort(int exit_code, std::string_view text) = 0;

  struct Counts {
    /// 1 if this Bootstrap is connected to a server; 0 for mpirun and singleton, which have none
    std::uint64_t connections = 0;
    std::uint64_t publishes = 0, lookups = 0, lookup_retries = 0, fences = 0;
  };
  virtual Counts counts() const = 0;
};

/// Properties of the native MPI library that ProcessLifetime needs when MPI_Init is called.
struct WorldModel {
  bool speaks_pmi1 = true;        ///< the library is a PMI-1 client if the launcher supports PMI-1
  bool may_open_sessions = true;  ///< another thread may open a session before MPI_Init returns
  double seconds = 30;            ///< limit for waiting for the launcher
};

/// State that lasts until the OS process ends, independent of the Bootstraps opened and closed in
/// it.
class ProcessLifetime {
 public:
  virtual ~ProcessLifetime() = default;

  // The native MPI library may use this process's connection to the launcher, and finalize it for
  // good. The caller of MPI_Init or MPI_Finalize calls the functions below on its thread; other
  // threads may open and close Bootstraps concurrently. By default the functions do nothing.

  /// Limit in seconds for delaying operations that must not overlap MPI_Init. Without it processes
  /// could deadlock: MPI_Init waits for peers, and a peer may call MPI_Init only after its session
  /// has communicated with a session of this process, which may need a delayed operation.
  static constexpr double kWorldStartSeconds = 2;

  /// Call before MPI_Init and MPI_Init_thread. PMI-1: from then on the native library finalizes the
  /// connection, so this object sends no finalize if the process ends without MPI_Finalize. PMIx:
  /// delays lookups until after_mpi_init(), for at most kWorldStartSeconds.
  virtual void before_mpi_init(const WorldModel&) {}
  /// Call after MPI_Init or MPI_Init_thread has returned, also after an error.
  virtual void after_mpi_init() {}
  /// Call before a Bootstrap opens while MPI is active. MPI_Init may have run without the calls
  /// above: before this library was loaded, or called past it (RTLD_DEEPBIND).
  virtual void on_mpi_detected(bool /*speaks_pmi1*/) {}
  /// Call before MPI_Finalize. Keeps Bootstraps usable until the destructor runs: the PMI-1 backend
  /// holds back the library's finalize message, the PMIx backend holds one more PMIx_Init. Waits
  /// for the launcher for at most `seconds`.
  virtual void before_mpi_finalize(double /*seconds*/) {}
  /// Call after MPI_Finalize has returned.
  virtual void after_mpi_finalize() {}

  /// True if this object must be destroyed by an exit handler, because a library that it uses is
  /// unloaded afterwards. Otherwise it lasts until the program's destructors have run, and
  /// Bootstraps may be opened until then.
  virtual bool ends_with_exit_handlers() const { return false; }
};

/// Launcher-related environment variables of this process (launch_env.hpp).
struct LaunchEnv;

/// Read the launch environment. Call it once per OS process and keep the result, because the
/// variables may change: a program that starts a job of its own removes them, and an MPI library
/// that starts as a singleton sets them.
std::shared_ptr<const LaunchEnv> read_launch_env();

/// Return the initial value of Options::lifetime, for a process whose MPI library may use the
/// launcher before the first Bootstrap; null if the launcher needs none.
std::unique_ptr<ProcessLifetime> make_process_lifetime(const LaunchEnv& env);

/// Set the environment variables that PMIx_Init would set later. Call it before open_bootstrap()
/// runs on a background thread, because setenv(3) races with readers of the environment.
void prepare_environment(const LaunchEnv& env);

/// Options of open_bootstrap().
struct Options {
  double ready_timeout_s = 30;  ///< limit for each wait for the launcher; 0: no limit
  /// Filled by the first Bootstrap that needs it; the caller destroys it when the process ends.
  std::unique_ptr<ProcessLifetime>* lifetime = nullptr;
  std::shared_ptr<const LaunchEnv> env;  ///< null: read the environment now
  /// use PMIx even if mpirun's environment and job directory suffice
  bool pmix_everywhere = false;
};
/// Open a connection to the launcher: Open MPI's mpirun if it has started all processes on this
/// node, else PMIx or PMI-1 if its environment variables exist, else a singleton.
/// Errors: other (the launcher does not respond; the text names the launcher and a remedy).
base::Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options);

/// Load PMIx's library as a process under a launcher would, without connecting. Errors: other (it
/// cannot be loaded).
base::Result<base::LoadedLibrary> find_pmix_library();

}  // namespace shim::bootstrap
