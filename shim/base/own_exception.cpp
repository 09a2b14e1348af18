// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/own_exception.hpp"

#include <dlfcn.h>

#include <new>
#include <system_error>
#include <typeinfo>

namespace shim::base {
namespace {

/// Return the load address of the shared object or program that contains this address; null if
/// there is none.
const void* module_of(const void* object) {
  Dl_info info{};
  return dladdr(object, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

bool is_own_exception(const std::exception& thrown) {
  return module_of(&typeid(thrown)) == module_of(&typeid(std::exception));
}

Error error_of(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr)
    return {ErrorClass::no_mem, "out of memory"};
  if (dynamic_cast<const std::system_error*>(&thrown) != nullptr)  // such as no thread
    return {ErrorClass::other, thrown.what()};
  return {ErrorClass::intern, thrown.what()};
}

}  // namespace shim::base
