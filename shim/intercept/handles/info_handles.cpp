// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/info_handles.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "shim/base/files.hpp"
#include "shim/base/parsing.hpp"
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::Info;
using sessions::InfoPtr;

/// Return the words of this process's command line; words cannot contain a NUL.
std::vector<std::string> command_line() {
  const std::string file = base::read_file("/proc/self/cmdline").value_or(std::string());
  std::vector<std::string> words;
  for (std::string_view rest = file; !rest.empty();)
    words.emplace_back(base::take_until(rest, '\0'));
  return words;
}

void set(Info& info, const char* key, std::string value) {
  value.resize(std::min(value.size(), std::size_t{MPI_MAX_INFO_VAL}));
  static_cast<void>(info.set(key, value));  // key valid, value short enough
}

base::Result<InfoPtr> copy_from_native(MPI_Info handle) {
  auto info = std::make_shared<Info>();
  int keys = 0;
  if (active_table.Info_get_nkeys(handle, &keys) != MPI_SUCCESS)
    return Error(ErrorClass::info, "the info object is unknown to the native MPI library");
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {}, value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    active_table.Info_get_nthkey(handle, i, key);
    active_table.Info_get(handle, key, MPI_MAX_INFO_VAL, value, &found);
    if (found != 0) SHIM_TRY(info->set(key, value));
  }
  return info;
}

}  // namespace

InfoPtr environment_info() {
  auto info = std::make_shared<Info>();
  auto words = command_line();
  if (!words.empty()) set(*info, "command", words[0]);
  if (words.size() > 1) {
    std::string arguments = words[1];
    for (std::size_t i = 2; i < words.size(); ++i) arguments += " " + words[i];
    set(*info, "argv", arguments);
  }
  char text[4096];
  if (getcwd(text, sizeof text) != nullptr) set(*info, "wdir", text);
  if (gethostname(text, 256) == 0) set(*info, "host", text);
  if (const char* size = std::getenv(abi::kWorldSizeVariable)) set(*info, "maxprocs", size);
  set(*info, "thread_level", "MPI_THREAD_MULTIPLE");
  return info;
}

bool is_of_substrate(MPI_Info handle) {
  const auto& known = abi::predefined;
  return !abi::is_unset(handle) && !abi::is_ours(handle) && handle != known.info_null &&
         handle != known.info_env;
}

bool is_valid_in_substrate(MPI_Info handle) {
  if (!is_of_substrate(handle)) return false;
  if (is_active()) return true;
  int version = 0, subversion = 0;
  return has_substrate() && active_table.Get_version(&version, &subversion) == MPI_SUCCESS &&
         version >= 4;
}

base::Result<InfoPtr> copy_info(MPI_Info handle) {
  if (abi::is_unset(handle))
    return Error(ErrorClass::info, "the info handle was never set: it is 0");
  if (handle == abi::predefined.info_null) return InfoPtr();
  if (abi::is_ours(handle)) {
    SHIM_TRY_ASSIGN(InfoObject * object, info_of(handle));
    return object->info->duplicate();
  }
  if (is_active() || is_valid_in_substrate(handle)) return copy_from_native(handle);
  if (handle == abi::predefined.info_env) return environment_info();
  return Error(ErrorClass::info,
               "the info object belongs to the native MPI library, which is not initialized");
}

base::Status put_into_info(MPI_Info handle, const char* key, const std::string& value) {
  if (handle == abi::predefined.info_null) return {};
  if (is_valid_in_substrate(handle)) {
    // on failure the substrate calls its own error handler
    active_table.Info_set(handle, key, value.c_str());
    return {};
  }
  SHIM_TRY_ASSIGN(InfoObject * object, info_of(handle));
  return object->info->set(key, value);
}

base::Result<MPI_Info> make_info_handle(const InfoPtr& info) {
  InfoObject object;
  object.info = info ? info->duplicate() : std::make_shared<Info>();
  return objects.infos.insert(std::move(object));
}

}  // namespace shim::intercept
