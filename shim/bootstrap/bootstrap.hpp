// SPDX-License-Identifier: BSD-3-Clause
// The seam to the launcher: who am I, who is where, and a first way to tell others my address.
// Backends: mpirun/ (Open MPI's, one node), pmix/ (PMIx), pmi1/ (PMI-1), singleton.cpp (no launcher), inmem/ (tests).
// Nothing here is collective but fence.
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

/// The job as the launcher sees it; fixed for the life of a Bootstrap.
struct Job {
  std::string world_name;  ///< unique among the jobs of a user on a machine (PMIx namespace, PMI kvs name)
  std::uint32_t rank = 0;  ///< of this process in its world
  std::uint32_t size = 1;
};

/// Where this process is.
struct Place {
  std::string host;
  std::vector<std::uint32_t> local_ranks;  ///< of the job's processes on its node, ascending; it is one of them
  std::uint32_t node_count = 1;            ///< of the job
  /// Position of a rank of this node among them: its slot in the node segment.
  std::uint32_t slot_of(std::uint32_t rank) const;
  bool has(std::uint32_t rank) const;
};

Place place_in(const NodeMap& map, std::uint32_t rank);

/// The environment variables by which a launcher identifies the processes that it starts.
struct LaunchIdentity {
  std::vector<std::string> job;  ///< entries "NAME=value" that every process of the job has
  std::string rank_variable;     ///< name of the variable that holds the rank in the world
};

/// A named set of processes of the own world, as the launcher or the user defines it.
struct NamedSet {
  std::string name;                  ///< with its scheme, e.g. "mpix://APP/1", or the launcher's own name
  std::vector<std::uint32_t> ranks;  ///< world ranks in the set's own order
};

/// What a process has told all others of its job.
struct Notice {
  std::uint32_t poster = 0;  ///< its world rank
  std::uint32_t number = 0;  ///< among this poster's notices, from 0
  Bytes bytes;
};
/// Of one notice, in bytes.
inline constexpr std::size_t kLongestNotice = 65'536;

/// Something asked of the launcher that has no answer yet. Dropping it abandons the question safely.
template <typename T>
class Pending {
 public:
  virtual ~Pending() = default;
  /// Does not block: the answer, nothing yet, or an error. After an answer or an error it must not be polled again.
  virtual base::Result<std::optional<T>> poll() = 0;
};
struct Done {};

/// All functions may be called from any thread.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual std::string_view name() const = 0;  ///< "mpirun", "pmix", "pmi1", "singleton", "inmem"
  virtual const Job& job() const = 0;
  /// Known from the beginning.
  virtual Place place() const;
  /// Who is where; empty before it is settled.
  virtual const NodeMap& node_map() const = 0;
  /// Who is where, as the launcher tells: one question or more for each node, of some launchers. Local. Errors: other (it does not say).
  virtual base::Result<NodeMap> ask_node_map() { return node_map(); }
  /// That is the map: an answer of ask_node_map, here or in another process of the node. Before all that is not said above
  /// (settle_node_map.hpp).
  virtual void settle_node_map(NodeMap) {}
  /// Application number of each rank in an MPMD launch; empty where the launcher has only one.
  virtual std::span<const std::uint32_t> app_numbers() const = 0;
  /// How the environment of a process shows which one of the job it is; nothing if it does not.
  virtual std::optional<LaunchIdentity> launch_identity() const { return std::nullopt; }
  /// Sets that the launcher names (not WORLD, SELF and those made from the node map). Asked anew at each call.
  virtual base::Result<std::vector<NamedSet>> named_sets() = 0;

  /// Makes a value of this process readable by every process of the job. Local: returns without anybody's help.
  /// Once for each key in the life of the operating-system process: launchers hand out old values of a key that is
  /// published again (docs/measurements.md).
  virtual base::Status publish(std::string_view key, std::span<const std::byte> value) = 0;
  /// Asks for a value of another process; the answer comes once that process has published it, or never:
  /// the caller keeps the clock. Retries inside, with growing pauses, where the launcher answers "not there" at once.
  virtual base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank, std::string_view key) = 0;
  /// Collective over exactly these ranks: done once all have entered; what they published before can then be looked up.
  virtual base::Result<std::unique_ptr<Pending<Done>>> fence(std::span<const std::uint32_t> ranks) = 0;

  /// Tells every process of the job something, for as long as the job lasts; without a launcher, as long as this object. Local;
  /// returns when the launcher has it: each notices() that begins later, anywhere, finds it. After an error it may be there all the same.
  /// Errors: unsupported_operation (the launcher has no place for it; the text says which do), arg (longer than kLongestNotice), other.
  virtual base::Status post(std::span<const std::byte> notice) = 0;
  /// All that anybody has posted so far, each poster's in its order; the result of an earlier call is its beginning. Local: waits for
  /// the launcher's answers and for no process. Of a launcher that has no place for notices there are none. Errors: other (no answer in time).
  virtual base::Result<std::vector<Notice>> notices() = 0;

  /// Has the launcher gone away under us? Then nothing comes from it any more, nobody ends the job, and what others wait for
  /// may never come. Cheap enough to ask ten times a second.
  virtual bool has_lost_launcher() const { return false; }

  /// Ends the job, if the launcher can; else returns and the caller ends the process.
  virtual void abort(int exit_code, std::string_view text) = 0;

  struct Counts {
    std::uint64_t connections = 0;  ///< 1 once there is one
    std::uint64_t publishes = 0, lookups = 0, lookup_retries = 0, fences = 0;
  };
  virtual Counts counts() const = 0;
};

/// What is known of the world model of the MPI library below when it starts.
struct WorldModel {
  bool speaks_pmi1 = true;        ///< the library is a client of PMI-1, if the launcher speaks it
  bool sessions_may_come = true;  ///< on another thread, before MPI_Init has returned
  double seconds = 30;            ///< to wait for the launcher
};

/// What must last until the operating-system process ends, whatever Bootstraps come and go in it.
class ProcessLife {
 public:
  virtual ~ProcessLife() = default;

  // The MPI library below may use the same connection to the launcher, and end it for good. Whoever calls the library's functions
  // for its world model says so, on the thread that calls them, while Bootstraps may come and go on others; nothing else is needed
  // of him, and nothing happens where the launcher's client counts its users itself.

  /// For so long, at most, what MPI_Init of the library must not meet waits for it on other threads: other processes may come to
  /// MPI_Init only after a session of theirs has met one of this process.
  static constexpr double kWorldStartSeconds = 2;

  /// Before MPI_Init and MPI_Init_thread. From here on the process's end is the library's affair: no good-bye is said for a
  /// process that ends without MPI_Finalize.
  virtual void before_world_starts(const WorldModel&) {}
  /// After either has returned, whatever it returned.
  virtual void after_world_started() {}
  /// Before MPI_Finalize: the library's good-bye to the launcher is held back, so that Bootstraps
  /// work after it; the launcher hears it when this object goes. Waits for the launcher at most
  /// `seconds`.
  virtual void before_world_ends(double /*seconds*/) {}
  /// After MPI_Finalize has returned.
  virtual void after_world_ended() {}

  /// True if this object must go while the program's exit handlers run, because a library that it
  /// uses does not outlive them; else it lasts until the destructors of the program have run, and
  /// Bootstraps may come until then.
  virtual bool ends_with_exit_handlers() const { return false; }
};

/// What the environment says about the launcher of this process (launch_env.hpp).
struct LaunchEnv;

/// Read the environment. Do so once per operating-system process, and keep the result: a program
/// that starts a job of its own removes the launcher's variables, and an MPI library that starts
/// without a launcher sets such variables.
std::shared_ptr<const LaunchEnv> read_launch_env();

/// For a process whose MPI library may speak to the launcher before there is a Bootstrap: what
/// Options.life is to hold from then on. Null if the launcher needs none.
std::unique_ptr<ProcessLife> make_process_life(const LaunchEnv& env);

/// Before open_bootstrap on another thread than the program's own: what the launcher's client puts into the environment is put there
/// now, so that nobody meets a change of it who reads it meanwhile (setenv(3)).
void settle_environment(const LaunchEnv& env);

/// Finds the launcher of this process: Open MPI's mpirun if it has started all processes on this node, PMIx if its environment is there,
/// PMI-1 if its environment is there, else a world of one.
/// Errors: other (a launcher is there but does not answer; the text says which and what to try).
struct Options {
  double ready_timeout_s = 30;
  /// Filled by the first Bootstrap that needs it; the caller lets go of it when the process ends.
  std::unique_ptr<ProcessLife>* life = nullptr;
  std::shared_ptr<const LaunchEnv> env;  ///< null: the environment is read now
  bool pmix_everywhere = false;  ///< also where mpirun's environment and folder would do
};
base::Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options);

/// PMIx's library as a process under a launcher would load it, which is all that this does. Errors: other (it cannot be loaded).
base::Result<base::LoadedLibrary> find_pmix_library();

}  // namespace shim::bootstrap
