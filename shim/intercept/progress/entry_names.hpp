// SPDX-License-Identifier: BSD-3-Clause
// EntryName maps the functions that run MPI_X on our objects to the name MPI_X. Generated code puts
// the rows into one section of the library.
#pragma once

#include <string_view>

namespace shim::intercept {

/// Last parameter, without a value, of the overload of MPI_X for objects of ours.
struct OnOurObject {};

struct EntryName {
  const void* start;  ///< address of the function
  const char* name;
};

/// Return the name of the MPI function that starts at this address; "" if there is none.
std::string_view name_of_entry(const void* start);

}  // namespace shim::intercept
