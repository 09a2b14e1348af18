// SPDX-License-Identifier: BSD-3-Clause
// Implements functions on info objects (MPI-4.1 §10). Objects made while the substrate is inactive
// are and remain Intersession's. Inquiries that an older library lacks are implemented here for
// objects of both.
#include <algorithm>
#include <cstring>
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::InfoPtr;

/// Return an info for reading. Errors: info (also for MPI_INFO_NULL).
base::Result<InfoPtr> readable(MPI_Info handle) {
  if (InfoObject* object = objects.infos.find(handle)) return object->info;
  SHIM_TRY_ASSIGN(InfoPtr info, copy_info(handle));
  if (!info) return std::move(info_of(handle)).error();
  return info;
}

base::Status check_key(const char* key) {
  if (key == nullptr) return Error(ErrorClass::info_key, "the key is a null pointer");
  std::size_t length = std::strlen(key);
  if (length == 0) return Error(ErrorClass::info_key, "the key is empty");
  // users have buffers of the size in the substrate's header
  if (length > MPI_MAX_INFO_KEY)
    return Error(ErrorClass::info_key,
                 "the key is longer than MPI_MAX_INFO_KEY, " + std::to_string(MPI_MAX_INFO_KEY));
  return {};
}

base::Status check_value(const char* value) {
  if (value == nullptr) return Error(ErrorClass::info_value, "the value is a null pointer");
  if (std::strlen(value) > MPI_MAX_INFO_VAL)
    return Error(ErrorClass::info_value,
                 "the value is longer than MPI_MAX_INFO_VAL, " + std::to_string(MPI_MAX_INFO_VAL));
  return {};
}

/// Copy at most `room` characters and a NUL.
void put_text(const std::string& text, std::size_t capacity, char* to) {
  std::size_t copied = std::min(text.size(), capacity);
  std::memcpy(to, text.data(), copied);
  to[copied] = '\0';
}

int get(MPI_Info info, const char* key, int valuelen, char* value, int* flag) {
  return run_with_handler(Subject(), "MPI_Info_get", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(InfoPtr from, readable(info));
    SHIM_TRY(check_key(key));
    SHIM_TRY(check_output(value, "value"));
    SHIM_TRY(check_output(flag, "flag"));
    if (valuelen < 0)
      return Error(ErrorClass::arg, "the length " + std::to_string(valuelen) + " is negative");
    auto found = from->get(key);
    *flag = found.has_value();
    if (found) put_text(*found, static_cast<std::size_t>(valuelen), value);
    return {};
  });
}

int make(const char* function, MPI_Info* newinfo, const InfoPtr& contents) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(newinfo, "info object"));
    SHIM_TRY_ASSIGN(*newinfo, make_info_handle(contents));
    return {};
  });
}

/// Change an object of ours (not MPI_INFO_ENV, not the substrate's).
base::Status change(MPI_Info handle, const char* key, const char* value) {
  SHIM_TRY_ASSIGN(InfoObject * object, info_of(handle));
  SHIM_TRY(check_key(key));
  MPI_Info native_handle = is_active() ? object->native_handle.get() : MPI_Info{};  // updated, too
  if (value == nullptr) {
    SHIM_TRY(object->info->erase(key));
    if (!abi::is_unset(native_handle)) active_table.Info_delete(native_handle, key);
    return {};
  }
  SHIM_TRY(check_value(value));
  SHIM_TRY(object->info->set(key, value));
  if (!abi::is_unset(native_handle)) active_table.Info_set(native_handle, key, value);
  return {};
}

}  // namespace

namespace impl {

int Info_set(MPI_Info info, const char* key, const char* value) {
  if (is_valid_in_substrate(info)) return active_table.Info_set(info, key, value);
  return run_with_handler(Subject(), "MPI_Info_set", [&]() -> base::Status {
    SHIM_TRY(check_value(value));
    return change(info, key, value);
  });
}

int Info_delete(MPI_Info info, const char* key) {
  if (is_valid_in_substrate(info)) return active_table.Info_delete(info, key);
  return run_with_handler(Subject(), "MPI_Info_delete", [&] { return change(info, key, nullptr); });
}

int Info_get(MPI_Info info, const char* key, int valuelen, char* value, int* flag) {
  return get(info, key, valuelen, value, flag);
}

int Info_get_valuelen(MPI_Info info, const char* key, int* valuelen, int* flag) {
  return run_with_handler(Subject(), "MPI_Info_get_valuelen", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(InfoPtr from, readable(info));
    SHIM_TRY(check_key(key));
    SHIM_TRY(check_output(valuelen, "length"));
    SHIM_TRY(check_output(flag, "flag"));
    auto found = from->get(key);
    *flag = found.has_value();
    if (found) *valuelen = static_cast<int>(found->size());
    return {};
  });
}

int Info_get_nkeys(MPI_Info info, int* nkeys) {
  return run_with_handler(Subject(), "MPI_Info_get_nkeys", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(InfoPtr from, readable(info));
    SHIM_TRY(check_output(nkeys, "number of keys"));
    *nkeys = static_cast<int>(from->size());
    return {};
  });
}

int Info_get_nthkey(MPI_Info info, int n, char* key) {
  return run_with_handler(Subject(), "MPI_Info_get_nthkey", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(InfoPtr from, readable(info));
    SHIM_TRY(check_output(key, "key"));
    SHIM_TRY_ASSIGN(std::string found, from->nth_key(n));
    put_text(found, MPI_MAX_INFO_KEY, key);
    return {};
  });
}

int Info_dup(MPI_Info info, MPI_Info* newinfo) {
  return run_with_handler(Subject(), "MPI_Info_dup", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(InfoPtr from, readable(info));
    SHIM_TRY(check_output(newinfo, "info object"));
    SHIM_TRY_ASSIGN(*newinfo, make_info_handle(from));
    return {};
  });
}

int Info_free(MPI_Info* info) {
  if (info != nullptr && is_valid_in_substrate(*info)) return active_table.Info_free(info);
  return run_with_handler(Subject(), "MPI_Info_free", [&]() -> base::Status {
    SHIM_TRY(check_output(info, "info object"));
    if (is_of_substrate(*info)) {  // MPI_Finalize has freed it
      *info = abi::predefined.info_null;
      return {};
    }
    auto taken = objects.infos.take(*info);
    if (!taken) return std::move(info_of(*info)).error();
    MPI_Info native_handle = taken->native_handle.get();
    if (!abi::is_unset(native_handle) && is_active()) active_table.Info_free(&native_handle);
    *info = abi::predefined.info_null;
    return {};
  });
}

/// buflen: in, size of the buffer with NUL; out, size that the value needs (MPI-4.1 §10).
int Info_get_string(MPI_Info info, const char* key, int* buflen, char* value, int* flag) {
  return run_with_handler(Subject(), "MPI_Info_get_string", [&]() -> base::Status {
    SHIM_TRY(require_substrate());
    SHIM_TRY_ASSIGN(InfoPtr from, readable(info));
    SHIM_TRY(check_key(key));
    SHIM_TRY(check_output(buflen, "length"));
    SHIM_TRY(check_output(flag, "flag"));
    if (*buflen < 0)
      return Error(ErrorClass::arg, "the length " + std::to_string(*buflen) + " is negative");
    if (*buflen > 0) SHIM_TRY(check_output(value, "value"));
    auto found = from->get(key);
    *flag = found.has_value();
    if (!found) return {};
    if (*buflen > 0) put_text(*found, static_cast<std::size_t>(*buflen - 1), value);
    *buflen = static_cast<int>(found->size()) + 1;
    return {};
  });
}

int Info_create_env(int, char**, MPI_Info* info) {
  return make("MPI_Info_create_env", info, environment_info());
}

}  // namespace impl

namespace impl_when_inactive {

int Info_create(MPI_Info* info) { return make("MPI_Info_create", info, nullptr); }

}  // namespace impl_when_inactive
}  // namespace shim::intercept
