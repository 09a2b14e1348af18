// SPDX-License-Identifier: BSD-3-Clause
// This process's connection to its PMIx server.
#pragma once

#include <pmix_common.h>

#include <memory>

#include "shim/base/result.hpp"
#include "shim/bootstrap/pmix/library.hpp"
#include "shim/bootstrap/pmix/process_life.hpp"

namespace shim::bootstrap::pmix {

/// Was this process started by a launcher that speaks PMIx? Looks at the environment and nothing else.
bool has_launcher();

/// PMIx_Init sets PMIX_MCA_psec to what the server has said in PMIX_SECURITY_MODE. Where it is there already, only its text changes.
void settle_environment();

/// Between PMIx_Init and PMIx_Finalize. PMIx counts these, so that a connection goes well with one of the MPI library
/// below: before, beside and after its own.
class Connection {
 public:
  /// Errors: other (no server answers, or not in time; the text says what to try).
  /// `held` takes over a PMIx_Init that succeeds too late.
  static base::Result<std::unique_ptr<Connection>> open(const Library& library, double seconds, std::shared_ptr<Held> held);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  const pmix_proc_t& self() const { return self_; }
  /// Ends the connection; once. Answers whether PMIx is down now: then no callback can come any more.
  bool close();

 private:
  Connection(const Library& library, std::shared_ptr<Held> held, pmix_proc_t self);
  const Library library_;
  const std::shared_ptr<Held> held_;
  const pmix_proc_t self_;
  bool is_open_ = true;
};

}  // namespace shim::bootstrap::pmix
