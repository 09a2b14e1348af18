// SPDX-License-Identifier: BSD-3-Clause
// Connection is this process's connection to its PMIx server.
#pragma once

#include <pmix_common.h>

#include <memory>

#include "shim/base/result.hpp"
#include "shim/bootstrap/pmix/library.hpp"
#include "shim/bootstrap/pmix/process_lifetime.hpp"

namespace shim::bootstrap::pmix {

/// True if a launcher with PMIx has started this process. Reads only the environment.
bool has_launcher();

/// Set PMIX_MCA_psec, as PMIx_Init will, to the server's PMIX_SECURITY_MODE. PMIx_Init then only
/// changes the text of an existing variable.
void prepare_environment();

/// One PMIx_Init and its PMIx_Finalize. PMIx counts the calls, so a connection may overlap the
/// native MPI library's own, or come before or after it.
class Connection {
 public:
  /// Connect. Errors: other (no server responds in time; the text names a remedy). `init_count`
  /// takes over a PMIx_Init that succeeds after the timeout.
  static base::Result<std::unique_ptr<Connection>> open(const PmixLibrary& library, double seconds,
                                                        std::shared_ptr<InitCount> init_count);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  const pmix_proc_t& self() const { return self_; }
  /// Close the connection, once. Return true if PMIx is finalized now; then no callback can arrive
  /// any more.
  bool close();

 private:
  Connection(const PmixLibrary& library, std::shared_ptr<InitCount> init_count, pmix_proc_t self);
  const PmixLibrary library_;
  const std::shared_ptr<InitCount> init_count_;
  const pmix_proc_t self_;
  bool is_open_ = true;
};

}  // namespace shim::bootstrap::pmix
