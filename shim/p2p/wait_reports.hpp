// SPDX-License-Identifier: BSD-3-Clause
// Types by which a blocked call describes itself in reports. Include p2p.hpp instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/p2p/message_types.hpp"

namespace shim::p2p {

class Context;

/// An event that a blocked call waits for, as reports name it.
struct Awaited {
  enum class Kind : std::uint8_t { message, receipt };  ///< receipt: that the rank receives
  const Context* context = nullptr;
  int rank = kAnySource;
  int tag = kAnyTag;
  Plane plane = Plane::user;
  Kind kind = Kind::message;
};

/// Description of a blocked call for a report.
struct WaitDescription {
  const Context* context = nullptr;  ///< communicator of the call; null: none, or that of `awaited`
  std::vector<Awaited> awaited;
  std::string text;                 ///< replaces `awaited` if it is not empty
  bool is_only_on_request = false;  ///< the caller reports by itself at the interval
};

/// WaitSubject is a blocked call as the wait loop reports it. It is on the stack of the call, and
/// keeps the time of the call's first sleep, so one object may serve several waits of a call.
class WaitSubject {
 public:
  WaitSubject() = default;
  virtual ~WaitSubject() = default;
  WaitSubject(const WaitSubject&) = delete;
  WaitSubject& operator=(const WaitSubject&) = delete;
  /// Describe the call. Called by the waiting thread, without the engine's lock.
  virtual void describe(WaitDescription& description) const = 0;

 private:
  friend class WaitReporter;
  base::Nanoseconds since_ = 0, next_report_ = 0;  ///< 0: the call has not slept yet
  std::uint32_t requests_seen_ = 0;
};

/// A wait for an event that the text describes.
class WaitFor final : public WaitSubject {
 public:
  enum class Reports : std::uint8_t { all, only_on_request };
  explicit WaitFor(const char* what, Reports reports = Reports::all)
      : what_(what), reports_(reports) {}
  void describe(WaitDescription& description) const override {
    description.text = what_;
    description.is_only_on_request = reports_ == Reports::only_on_request;
  }

 private:
  const char* what_;
  Reports reports_;
};

/// Where blocked calls report, and what they need for it.
struct WaitReports {
  /// Number of reports that the user has requested by a signal; null: none can be requested.
  const std::atomic<std::uint32_t>* requests = nullptr;
  /// Return the name of the MPI function that the calling thread is in; "" if unknown.
  std::function<std::string()> current_call;
};

}  // namespace shim::p2p
