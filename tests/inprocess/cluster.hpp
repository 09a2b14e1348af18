// SPDX-License-Identifier: BSD-3-Clause
// Cluster is a job in one program: an in-memory launcher and network, node segments in a private
// folder, and a thread for each process.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "shim/bootstrap/inmem/inmem.hpp"
#include "shim/sessions/communicator.hpp"
#include "shim/sessions/process.hpp"
#include "shim/transport/loop/loop.hpp"

namespace shim::bootstrap::inmem {

/// Print the node of each rank, so that test names are stable.
inline void PrintTo(const World& world, std::ostream* out) {
  *out << "nodes ";
  for (std::uint32_t rank = 0; rank < world.node_map.size(); ++rank)
    *out << world.node_map.node_of(rank);
}

}  // namespace shim::bootstrap::inmem

namespace shim::sessions::testing {

using bootstrap::inmem::World;
using Ranks = std::vector<int>;

class Cluster;

/// One process of the job with a session, used by one thread of the test.
class Member {
 public:
  Member(Cluster& cluster, int rank);
  int rank() const { return rank_; }
  const SessionPtr& session() const { return session_; }
  Process& process() const { return **session_->process(); }
  /// End the session, and the Process unless communicators still exist.
  void end() { session_.reset(); }
  void begin();

  GroupPtr group(const Ranks& ranks) const;
  GroupPtr world() const;
  base::Result<CommunicatorPtr> try_create(const Ranks& ranks, const std::string& tag) const;
  /// Create a communicator. On an error, fail the test and return null.
  CommunicatorPtr create(const Ranks& ranks, const std::string& tag) const;
  CommunicatorPtr create_world(const std::string& tag) const;

 private:
  Cluster& cluster_;
  int rank_;
  SessionPtr session_;
};

class Cluster {
 public:
  /// Return settings for tests, with an early first report of waiting creations.
  static base::Settings settings();
  explicit Cluster(World world, base::Settings settings = Cluster::settings(),
                   transport::LoopFaults faults = {});
  /// Check that the folder of the node segments is empty.
  ~Cluster();

  int size() const { return size_; }
  Ranks all() const;
  /// Return the factories of the process of this rank; tests may replace some.
  Factories factories(int rank);
  base::Result<std::shared_ptr<Process>> start(int rank);
  /// Run `body` for each of these processes in its own thread; wait for all.
  void run(const Ranks& ranks, const std::function<void(Member&)>& body);
  void run(const std::function<void(Member&)>& body) { run(all(), body); }

  bootstrap::inmem::Launcher& launcher() { return *launcher_; }
  const std::string& folder() const { return folder_; }
  /// Return the log of all processes so far.
  std::string log() const;
  /// Return the names of the files in the folder of the node segments.
  std::set<std::string> left_over() const;
  /// Factories::stuck_after of processes that start later.
  base::Nanoseconds& stuck_after() { return stuck_after_; }
  /// The settings of processes that start later.
  base::Settings& next_settings() { return settings_; }
  /// The options of sessions that begin later.
  SessionOptions& next_options() { return options_; }

 private:
  base::Settings settings_;
  SessionOptions options_;
  base::Nanoseconds stuck_after_ = Factories().stuck_after;
  int size_;
  std::string folder_;
  int log_descriptor_;
  std::shared_ptr<bootstrap::inmem::Launcher> launcher_;
  transport::LoopFaults faults_;
  transport::LoopNetwork network_;
  std::vector<std::shared_ptr<ProcessHistory>> histories_;  ///< by rank
};

/// Return four processes on one node, on two, dealt out to two, and each on its own.
std::vector<World> worlds_of_four();

Ranks range(int first, int last, int stride = 1);

/// Send messages around a ring and compute a sum, to check that both planes of a communicator work,
/// and that messages reach only its members.
void exercise(const CommunicatorPtr& communicator, int salt);
/// Return the sum of a value over all members.
std::int64_t sum(const CommunicatorPtr& communicator, std::int64_t value);

/// Collects values of threads, for comparisons after the threads have ended.
template <typename T>
class Collected {
 public:
  void add(T value) {
    std::lock_guard guard(mutex_);
    values_.push_back(std::move(value));
  }
  const std::vector<T>& values() const { return values_; }

 private:
  std::mutex mutex_;
  std::vector<T> values_;
};

/// Return the number of occurrences of a part in a text.
int count_of(const std::string& part, const std::string& text);

/// Return "" for success, otherwise "CLASS: text".
std::string error_text(const base::Result<CommunicatorPtr>& result);

}  // namespace shim::sessions::testing
