// SPDX-License-Identifier: BSD-3-Clause
// Detects a program of another MPI family than this library's.
#pragma once

namespace shim::intercept {

/// End the process with a message that names Intersession's right library if the program contains a
/// member of another family and none of this family: handles and constants differ, so no call would
/// work. `scope`: lookup scope, dlsym(3)'s RTLD_NEXT, or null for libraries that are loaded but not
/// in the lookup order.
void refuse_other_family(void* scope) noexcept;

}  // namespace shim::intercept
