// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/pmix/backend.hpp"
#include "shim/bootstrap/singleton.hpp"

namespace shim::bootstrap {

base::Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options) {
  if (!pmix::has_launcher()) return open_singleton();
  SHIM_TRY_ASSIGN(const auto library, pmix::load_library());
  return pmix::Backend::open(library, options);
}

}  // namespace shim::bootstrap
