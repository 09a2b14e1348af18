// SPDX-License-Identifier: BSD-3-Clause
// A job in one program: a launcher in memory, node segments in a folder of their own, a network in memory, and a thread for
// every process that takes part.
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

/// The nodes of the ranks, so that tests have names that stay the same.
inline void PrintTo(const World& world, std::ostream* out) {
  *out << "nodes ";
  for (std::uint32_t rank = 0; rank < world.node_map.size(); ++rank) *out << world.node_map.node_of(rank);
}

}  // namespace shim::bootstrap::inmem

namespace shim::sessions::testing {

using bootstrap::inmem::World;
using Ranks = std::vector<int>;

class Cluster;

/// What a test's thread has: one process of the job, with a session.
class Member {
 public:
  Member(Cluster& cluster, int rank);
  int rank() const { return rank_; }
  const SessionPtr& session() const { return session_; }
  Process& process() const { return **session_->process(); }
  /// Ends the session; with it, unless communicators live, the Process.
  void end() { session_.reset(); }
  void begin();

  GroupPtr group(const Ranks& ranks) const;
  GroupPtr world() const;
  base::Result<CommunicatorPtr> try_create(const Ranks& ranks, const std::string& tag) const;
  /// Fails the test where it does not work; null then.
  CommunicatorPtr create(const Ranks& ranks, const std::string& tag) const;
  CommunicatorPtr create_world(const std::string& tag) const;

 private:
  Cluster& cluster_;
  int rank_;
  SessionPtr session_;
};

class Cluster {
 public:
  /// Settings of a test: silent, impatient where something must be reported.
  static base::Settings settings();
  explicit Cluster(World world, base::Settings settings = Cluster::settings(), transport::LoopFaults faults = {});
  /// Nothing may be left in the folder of the node segments.
  ~Cluster();

  int size() const { return size_; }
  Ranks all() const;
  /// What the process of this rank is made of; tests change parts of it.
  Factories factories(int rank);
  base::Result<std::shared_ptr<Process>> start(int rank);
  /// Runs a body for each of these processes, each in a thread, and waits for all.
  void run(const Ranks& ranks, const std::function<void(Member&)>& body);
  void run(const std::function<void(Member&)>& body) { run(all(), body); }

  bootstrap::inmem::Launcher& launcher() { return *launcher_; }
  const std::string& folder() const { return folder_; }
  /// What all processes have logged so far.
  std::string log() const;
  /// Names of what lies in the folder of the node segments.
  std::set<std::string> left_over() const;
  /// Factories::stuck_after of processes that start from now on.
  base::Nanoseconds& stuck_after() { return stuck_after_; }
  /// The settings of processes that start from now on.
  base::Settings& next_settings() { return settings_; }
  /// Of sessions that begin from now on.
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
  std::vector<std::shared_ptr<Lives>> lives_;  ///< by rank
};

Ranks range(int first, int last, int stride = 1);

/// A ring of messages and a sum: both planes of a communicator work, and none but its members hear of them.
void exercise(const CommunicatorPtr& communicator, int salt);
/// The sum of a value over all members.
std::int64_t sum(const CommunicatorPtr& communicator, std::int64_t value);

/// Collects what threads have to say, for comparisons after they have ended.
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

/// "" for success, else "CLASS: text".
std::string told(const base::Result<CommunicatorPtr>& result);

}  // namespace shim::sessions::testing
