// SPDX-License-Identifier: BSD-3-Clause
// Arrays in which requests of ours and of the substrate stand side by side (contract: objects mix). Neither library is ever
// blocked in while the other could complete something.
#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "shim/intercept/bodies/completion.hpp"

namespace shim::intercept {

/// The substrate's requests of an array, moved together for its own calls, and put back where they were.
class NativePart {
 public:
  void add(int index, MPI_Request request) {
    indices_.push_back(index);
    requests_.push_back(request);
  }
  bool is_empty() const { return requests_.empty(); }

  int index_of(std::size_t number) const { return indices_[number]; }
  std::size_t size() const { return requests_.size(); }
  /// Is it complete? It stays as it is, and status_of() tells its status (PMPI_Request_get_status).
  bool is_ready(std::size_t number);
  /// Completes all if all are ready (PMPI_Testall). True then, or where it failed; code() and statuses() tell.
  bool test_all();
  /// Completes one if one is ready (PMPI_Testany): its place in the user's array; MPI_UNDEFINED if none is active; nothing
  /// if none is ready.
  std::optional<int> test_any(MPI_Status* status);
  /// Completes all that are ready (PMPI_Testsome): the places of those; nothing at all if none is active.
  std::optional<std::vector<int>> test_some();

  /// Of the last test; the substrate has called its own error handler for it already.
  int code() const { return code_; }
  const MPI_Status& status_of(std::size_t number) const { return statuses_[number]; }
  void put_back(MPI_Request* requests) const;
  /// Writes the statuses of test_all() to the user's array.
  void put_statuses(MPI_Status* statuses) const;

 private:
  int count() const { return static_cast<int>(requests_.size()); }
  std::vector<int> indices_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  int code_ = MPI_SUCCESS;
};

/// The requests of one call, sorted by whose they are.
class Batch {
 public:
  /// Takes up an array. Errors: arg (no array), count, request (a handle of nobody).
  base::Status add(int count, const MPI_Request* requests);

  struct Ours {
    int index;
    RequestObject* object;
  };
  /// So many need no memory.
  static constexpr int kUsual = 64;
  using AllOurs = boost::container::small_vector<Ours, kUsual>;
  AllOurs& ours() { return ours_; }
  const AllOurs& ours() const { return ours_; }
  NativePart& native() { return native_; }
  const NativePart& native() const { return native_; }
  bool has_active() const;
  /// One round of progress of our engines that the array has requests of.
  base::Status progress();
  /// Makes progress on all sides that the array has requests of, until the condition holds.
  base::Status wait_until(const std::function<bool()>& condition);

 private:
  AllOurs ours_;
  NativePart native_;
  void note_engine(p2p::Engine& engine);
  base::Status progress_of_further();

  p2p::Engine* engine_ = nullptr;         ///< of one of them; null where none of ours has one
  std::vector<p2p::Engine*> further_;     ///< those of the others that are not the same
  bool moves_below_ = false;  ///< some of them move only while the library below is asked
};

}  // namespace shim::intercept
