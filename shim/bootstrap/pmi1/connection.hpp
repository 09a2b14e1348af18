// SPDX-License-Identifier: BSD-3-Clause
// Connection is this process's PMI-1 connection, from the first request to finalize.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmi1/job_query.hpp"
#include "shim/bootstrap/pmi1/pmi_env.hpp"
#include "shim/bootstrap/pmi1/pmi_proxy.hpp"

namespace shim::bootstrap::pmi1 {

class Connection;

/// Keeps the PMI proxy in place during its lifetime. Does nothing in a child of fork().
class ProxyLease {
 public:
  ProxyLease(std::shared_ptr<Connection> connection, PmiProxy& proxy)
      : connection_(std::move(connection)), proxy_(proxy) {}
  ProxyLease(const ProxyLease&) = delete;
  ProxyLease& operator=(const ProxyLease&) = delete;
  ~ProxyLease();

  void submit(PendingRequestPtr pending);
  /// Send a request and wait for the response. Errors: as PendingRequest::wait.
  base::Result<PmiLine> query(std::string request, double seconds);
  /// Send a request that has no response.
  void send_oneway(const std::string& request);
  bool has_lost_launcher() const;
  bool has_unseen_init_response() const { return proxy_.has_unseen_init_response(); }
  void allow_second_init() { proxy_.allow_second_init(); }

 private:
  const std::shared_ptr<Connection> connection_;
  PmiProxy& proxy_;
};

/// One object per process, shared by successive Bootstraps. Thread-safe.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(PmiEnv env);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Attach the proxy if necessary. Errors: as find_endpoint and PmiProxy::install.
  base::Result<std::unique_ptr<ProxyLease>> use(double seconds);
  /// Return the job's data, queried once. Errors: as read_job.
  base::Result<const JobFacts*> facts(ProxyLease& use, double seconds);

  /// Call before the native MPI_Init. Until world_ended() the native library finalizes the
  /// connection, and an attached proxy stays. Attach it in two cases: the launcher has responded to
  /// this library's init and responds to no second one; or a session may begin on another thread,
  /// and must then know whether the native library has sent its init. Without an endpoint there is
  /// no launcher to share, and MPI_Init runs without a proxy.
  void before_world_init(const WorldModel& model);
  void after_world_init();
  /// Record that the world model is active, also if before_world_init() was not called.
  void world_detected(bool speaks_pmi1);
  /// Attach the proxy, which holds back the native library's finalize. Without an endpoint there is
  /// no connection to keep, and MPI_Finalize runs without a proxy.
  void before_world_finalize(double seconds);
  void world_ended();
  /// Send finalize once, unless the native library's world model is active and will send it.
  void finish();
  bool is_in_child() const;

 private:
  friend class ProxyLease;
  void wait_for_host_init(std::unique_lock<std::mutex>& lock);
  base::Status attach(double seconds, bool host_is_silent);
  base::Status locate_server(double seconds);
  bool host_may_be_active() const;
  /// Wait at most 1 s for responses, without the mutex, and detach the proxy after the last user if
  /// the host client is inactive. With an open request the proxy stays.
  void remove_user();
  void detach_if_unused();
  void drop_proxy();
  void finalize_with_users();

  const PmiEnv env_;
  const int owner_;  ///< id of the process that made this object
  std::mutex mutex_;
  std::condition_variable world_has_started_;
  std::optional<ServerEndpoint> endpoint_;
  ThreadInterrupter interrupter_;
  std::shared_ptr<PmiProxy> proxy_;  ///< shared with threads in remove_user()
  std::optional<JobFacts> facts_;
  InitState init_state_;     ///< state of the last proxy, while there is none
  bool speaks_pmi1_ = true;  ///< WorldModel::speaks_pmi1
  bool has_world_started_ = false;
  bool must_finalize_ = false, world_is_starting_ = false, world_is_active_ = false,
       is_finished_ = false;
};

}  // namespace shim::bootstrap::pmi1
