// SPDX-License-Identifier: BSD-3-Clause
// Variables that were surely meant to be settings, but are none.
#pragma once

#include <string>
#include <vector>

namespace shim::base {

struct Misspelt {
  std::string given;  ///< a variable of the environment, e.g. INTERSESSION_SPINN
  std::string meant;  ///< the setting that it differs least from
};

/// Variables INTERSESSION_… that are no setting and differ from one by a letter or two (one where the name is short). Others stay
/// unsaid: sites have variables of their own, such as INTERSESSION_ROOT. `environment`: as environ(7), a list that ends with null.
std::vector<Misspelt> misspelt_settings(const char* const* environment);

}  // namespace shim::base
