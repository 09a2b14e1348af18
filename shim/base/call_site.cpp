// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/call_site.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <unwind.h>

#include <cstdint>
#include <cstdio>

namespace shim::base {
namespace {

constexpr int kMaxFrames = 64;
/// Frames of the program that a text shows; more would hide the line's message.
constexpr int kMaxShown = 4;

/// Return the object that contains an address, as dladdr(3) names it. A return address may lie
/// behind the function if its last instruction is the call, so look up the call itself.
Dl_info object_of(const void* return_address) {
  Dl_info found{};
  if (dladdr(static_cast<const char*>(return_address) - 1, &found) == 0) found = {};
  return found;
}

const void* base_of_this_library() {
  Dl_info found{};
  const auto here = reinterpret_cast<const void*>(&base_of_this_library);
  return dladdr(here, &found) != 0 ? found.dli_fbase : nullptr;
}

std::string_view file_of(const Dl_info& object) {
  const std::string_view path = object.dli_fname != nullptr ? object.dli_fname : "?";
  return path.substr(path.rfind('/') + 1);
}

bool is_c_library(const Dl_info& object) { return file_of(object).starts_with("libc.so"); }

std::string text_of_frame(void* address, const Dl_info& object) {
  std::string text(file_of(object));
  const auto* from = object.dli_sname != nullptr ? object.dli_saddr : object.dli_fbase;
  char offset[32];
  std::snprintf(
      offset, sizeof offset, "+0x%zx",
      static_cast<std::size_t>(static_cast<const char*>(address) - static_cast<const char*>(from)));
  return text + "(" + (object.dli_sname != nullptr ? object.dli_sname : "") + offset + ")";
}

}  // namespace

CallSite current_call_site() {
  CallSite site(kMaxFrames);
  site.resize(static_cast<std::size_t>(backtrace(site.data(), kMaxFrames)));
  if (!site.empty()) site.erase(site.begin());  // this function
  return site;
}

std::string text_of(const CallSite& site) {
  const void* const own = base_of_this_library();
  std::string text;
  int shown = 0;
  for (void* address : site) {
    const Dl_info object = object_of(address);
    if (object.dli_fbase == nullptr || object.dli_fbase == own) continue;
    if (is_c_library(object)) break;  // the caller of main(), or of a thread's function
    if (shown++ == kMaxShown) break;
    text += (text.empty() ? "" : " < ") + text_of_frame(address, object);
  }
  return text;
}

const void* function_of(void* return_address) {
  return _Unwind_FindEnclosingFunction(static_cast<char*>(return_address) - 1);
}

std::string_view exported_name_of(void* return_address) {
  const Dl_info object = object_of(return_address);
  const bool is_own = object.dli_fbase == base_of_this_library() && object.dli_sname != nullptr;
  return is_own ? std::string_view(object.dli_sname) : std::string_view();
}

}  // namespace shim::base
