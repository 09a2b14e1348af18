// SPDX-License-Identifier: BSD-3-Clause
// Keys of attributes behind the integers that MPI knows them by, whoever made them (MPI-4.1 §7.7).
#pragma once

#include "shim/base/result.hpp"
#include "shim/intercept/border.hpp"
#include "shim/sessions/attributes.hpp"

namespace shim::intercept {

/// Keys of ours have numbers of their own, none of which is used twice; is_key_of_ours (border.hpp) tells them.
/// Errors: no_mem (16 million were made).
base::Result<int> make_key(sessions::Key key);

/// A key that the substrate made: it does not tell the functions of its keys, those that pass by here are remembered.
void remember_native_key(sessions::Key key);

/// Null for numbers that nobody knows: never made, freed, or the substrate's and not seen.
sessions::KeyPtr find_key(int number);

/// The user frees the key: its number is nobody's from here on. What is cached under it stays. A twin of it below is freed, too.
/// False where there was none.
bool forget_key(int number);

}  // namespace shim::intercept
