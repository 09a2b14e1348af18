// SPDX-License-Identifier: BSD-3-Clause
// What generated code needs to make a function that the library below lacks of one that it has (api/emit_composed.py).
#pragma once

#include <mpi.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "shim/intercept/border.hpp"
#include "shim/intercept/native/arrays.hpp"

namespace shim::intercept {

/// Large counts as small ones, for one call. The arrays live as long as the operation does.
class Narrow {
 public:
  Narrow(const Subject& subject, const char* function) : subject_(subject), function_(function) {}

  template <typename Small, typename Large>
  Small number(Large value, const char* name) {
    if (value < std::numeric_limits<Small>::min() || value > std::numeric_limits<Small>::max()) note(name, value);
    return static_cast<Small>(value);
  }
  /// Null stays null: the library below has something to say about that, or does not look.
  template <typename Small, typename Large>
  const Small* array(const Large* values, const char* name, MPI_Count length) {
    if (values == nullptr) return nullptr;
    auto small = std::make_shared<std::vector<Small>>();
    small->reserve(static_cast<std::size_t>(length > 0 ? length : 1));
    for (MPI_Count i = 0; i < length; ++i) small->push_back(number<Small>(values[i], name));
    kept_.push_back(small);
    return small->data();
  }
  /// Of an array with an entry for each of those that are sent to (none for MPI_IN_PLACE), or received from.
  static MPI_Count length_sent(MPI_Comm comm, Reach reach, const void* sendbuf);
  static MPI_Count length_received(MPI_Comm comm, Reach reach) { return lengths_of(comm, reach).receive; }
  /// Of one that means something at the root alone: 0 elsewhere.
  static MPI_Count length_at_root(MPI_Comm comm, int root);

  bool fits() const { return misfit_.empty(); }
  /// Raises MPI_ERR_COUNT.
  int fail() const;
  /// Ends a call that the library below has answered with this code. A request that refers to arrays of ours gets one of ours
  /// around it, which keeps them.
  int done(int code) const { return code; }
  int done(int code, MPI_Request* request);

 private:
  void note(const char* name, MPI_Count value);
  Subject subject_;
  const char* function_;
  std::string misfit_;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// A number that the library below writes as a small one.
template <typename Small, typename Large>
class Widened {
 public:
  Widened(Large* to, bool is_read) : to_(to) {
    if (is_read && to != nullptr) value_ = static_cast<Small>(*to);
  }
  Small* address() { return to_ != nullptr ? &value_ : nullptr; }
  void store() const {
    if (to_ != nullptr) *to_ = value_;
  }

 private:
  Large* to_;
  Small value_{};
};

/// A persistent operation of the library below, each start of which begins a non-blocking one.
class Later {
 public:
  Later(const Subject& subject, const char* function) : subject_(subject), function_(function) {}
  /// The user may free the datatype before the next start: it is replaced by a duplicate that lives as long as the request.
  /// Answers an error code, whose handler has run.
  int keep_datatype(MPI_Datatype& datatype);
  /// The same for an operation of the user's whose making was seen.
  int keep_op(MPI_Op& op);
  int hand_out(MPI_Request* request, std::function<int(MPI_Request*)> begin);

 private:
  Subject subject_;
  const char* function_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace shim::intercept
