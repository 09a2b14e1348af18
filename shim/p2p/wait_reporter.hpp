// SPDX-License-Identifier: BSD-3-Clause
// WaitReporter reports calls that wait for long, or whenever the user requests it.
#pragma once

#include <string>

#include "shim/base/log.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::p2p {

/// Has no state of its own: a blocked call keeps the times of its reports (WaitSubject). Any
/// thread, without the engine's lock.
class WaitReporter {
 public:
  /// @param report_after seconds between the reports of one call; 0: only on request
  /// @param log may be null; all must outlive this object
  WaitReporter(WaitReports reports, double report_after, Router* router, const base::Log* log)
      : reports_(std::move(reports)), report_after_(report_after), router_(router), log_(log) {}

  /// Report a call that is about to sleep, if it has waited for long or the user has requested it.
  void report_if_due(WaitSubject& subject) const;

 private:
  std::string text_of(const WaitDescription& description) const;
  std::string text_of_rank(const Context& context, int rank) const;

  const WaitReports reports_;
  const double report_after_;
  Router* const router_;
  const base::Log* const log_;
};

}  // namespace shim::p2p
