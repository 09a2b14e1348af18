// SPDX-License-Identifier: BSD-3-Clause
// Reads the calling thread's stack, for reports to the user. Slow: for debugging and for calls that
// have waited for seconds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shim::base {

/// Return addresses of the callers of this function, innermost first.
using CallSite = std::vector<void*>;
CallSite current_call_site();
/// Return the program's frames of a call site, "file(function+0x12)", without the frames inside
/// this library; "" if there is none.
std::string text_of(const CallSite& site);
/// Return the start of the function that contains a return address, also of one that is not
/// exported; null if unknown.
const void* function_of(void* return_address);
/// Return the name under which this library exports the function of a return address; "" if it does
/// not.
std::string_view exported_name_of(void* return_address);

}  // namespace shim::base
