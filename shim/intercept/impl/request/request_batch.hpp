// SPDX-License-Identifier: BSD-3-Clause
// RequestBatch implements calls on arrays that mix requests of both libraries. No wait blocks in
// one library while the other could complete a request.
#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "shim/intercept/impl/request/completion.hpp"

namespace shim::intercept {

/// The substrate's requests of an array, collected for its array functions, and stored back
/// afterwards.
class NativePart {
 public:
  void add(int index, MPI_Request request) {
    indices_.push_back(index);
    requests_.push_back(request);
  }
  bool is_empty() const { return requests_.empty(); }

  int index_of(std::size_t number) const { return indices_[number]; }
  std::size_t size() const { return requests_.size(); }
  /// True if the request is complete. It stays as it is; status_of() has its status
  /// (PMPI_Request_get_status).
  bool is_ready(std::size_t number);
  /// Complete all if all are ready (PMPI_Testall). True if completed or failed; see code() and
  /// statuses_.
  bool test_all();
  /// Complete one if one is ready (PMPI_Testany): return its index in the user's array;
  /// MPI_UNDEFINED if none is active; nothing if none is ready.
  std::optional<int> test_any(MPI_Status* status);
  /// Complete all that are ready (PMPI_Testsome): return their indices; nothing if none is active.
  std::optional<std::vector<int>> test_some();

  /// Return the code of the last test; the substrate has called its error handler for it.
  int code() const { return code_; }
  const MPI_Status& status_of(std::size_t number) const { return statuses_[number]; }
  void put_back(MPI_Request* requests) const;
  /// Write the statuses of test_all() to the user's array.
  void put_statuses(MPI_Status* statuses) const;
  /// Write the statuses if the call fails for a request of ours: only if test_all() has completed
  /// the requests.
  void put_statuses_of_completed(MPI_Status* statuses) const;

 private:
  int count() const { return static_cast<int>(requests_.size()); }
  std::vector<int> indices_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  int code_ = MPI_SUCCESS;
  bool is_over_ = false;  ///< test_all() has returned true
};

/// Requests of one call, sorted by library.
class RequestBatch {
 public:
  /// Add an array. Errors: arg (no array), count, request (a handle of neither library).
  base::Status add(int count, const MPI_Request* requests);
  /// Return the object for errors of add().
  const Subject& subject() const { return subject_; }

  struct Ours {
    int index;
    RequestObject* object;
  };
  /// Number of requests up to which no memory is allocated.
  static constexpr int kUsual = 64;
  using AllOurs = boost::container::small_vector<Ours, kUsual>;
  AllOurs& ours() { return ours_; }
  const AllOurs& ours() const { return ours_; }
  NativePart& native() { return native_; }
  const NativePart& native() const { return native_; }
  bool has_active() const;
  /// Return the index in ours() of the first receive from any source that may never complete,
  /// because a member has failed (slow::pending_failure); nothing if there is none.
  std::optional<std::size_t> first_pending() const;
  /// Run one progress round of the engines that have requests in the array.
  base::Status progress();
  /// Make progress in both libraries' requests of the array until the condition holds.
  base::Status wait_until(const std::function<bool()>& condition);

 private:
  AllOurs ours_;
  NativePart native_;
  Subject subject_;
  void add_engine(p2p::Engine& engine);
  base::Status progress_others();

  p2p::Engine* engine_ = nullptr;            ///< of one request of ours; null if none has one
  std::vector<p2p::Engine*> other_engines_;  ///< engines of further requests, without engine_
  /// True if some requests of ours progress only while the native library is polled.
  bool needs_native_progress_ = false;
};

}  // namespace shim::intercept
