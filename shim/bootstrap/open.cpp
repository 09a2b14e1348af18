// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/pmix.hpp"
#include "shim/bootstrap/singleton.hpp"

namespace shim::bootstrap {

base::Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options) {
  if (has_pmix_environment()) return open_pmix(options);
  return open_singleton();
}

}  // namespace shim::bootstrap
