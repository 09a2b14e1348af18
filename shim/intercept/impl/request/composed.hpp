// SPDX-License-Identifier: BSD-3-Clause
// Provides helpers for generated code that composes a missing native function from present ones
// (api/emit_composed.py).
#pragma once

#include <mpi.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "shim/intercept/dispatch.hpp"
#include "shim/intercept/native/arrays.hpp"

namespace shim::intercept {

/// Converts large counts to small ones for one call. The arrays live as long as the operation.
class NarrowedCall {
 public:
  NarrowedCall(const Subject& subject, const char* function)
      : subject_(subject), function_(function) {}

  template <typename Small, typename Large>
  Small number(Large value, const char* name) {
    if (value < std::numeric_limits<Small>::min() || value > std::numeric_limits<Small>::max())
      record(name, value);
    return static_cast<Small>(value);
  }
  /// Convert an array. Null stays null: the native library checks or ignores it.
  template <typename Small, typename Large>
  const Small* array(const Large* values, const char* name, MPI_Count length) {
    if (values == nullptr) return nullptr;
    auto small = std::make_shared<std::vector<Small>>();
    small->reserve(static_cast<std::size_t>(length > 0 ? length : 1));
    for (MPI_Count i = 0; i < length; ++i) small->push_back(number<Small>(values[i], name));
    kept_.push_back(small);
    return small->data();
  }
  /// Return the length of an array with an entry for each destination (0 for MPI_IN_PLACE) or
  /// source.
  static MPI_Count length_sent(MPI_Comm comm, Reach reach, const void* sendbuf);
  static MPI_Count length_received(MPI_Comm comm, Reach reach) {
    return lengths_of(comm, reach).receive;
  }
  /// Return the length of an array that is significant at the root only: 0 elsewhere.
  static MPI_Count length_at_root(MPI_Comm comm, int root);

  bool fits() const { return misfit_.empty(); }
  /// Raise MPI_ERR_COUNT.
  int fail() const;
  /// End a call for which the native library returned `code`. Wrap a request that refers to
  /// converted arrays in a request of ours that owns them.
  int done(int code) const { return code; }
  int done(int code, MPI_Request* request);

 private:
  void record(const char* name, MPI_Count value);
  Subject subject_;
  const char* function_;
  std::string misfit_;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// Receives a small number from the native library and stores it as a large one.
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

/// Persistent operation over the native library; each start begins a non-blocking operation.
class ComposedPersistent {
 public:
  ComposedPersistent(const Subject& subject, const char* function)
      : subject_(subject), function_(function) {}
  /// Replace the datatype with a duplicate that lives as long as the request, because the user may
  /// free the datatype before a later start. Return an error code, whose handler has run.
  int keep_datatype(MPI_Datatype& datatype);
  /// Keep a user's operation whose creation was intercepted, as keep_datatype keeps a datatype.
  int keep_op(MPI_Op& op);
  int make_request_handle(MPI_Request* request, std::function<int(MPI_Request*)> begin);

 private:
  Subject subject_;
  const char* function_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace shim::intercept
