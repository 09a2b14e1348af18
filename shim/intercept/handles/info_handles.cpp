// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/info_handles.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "shim/base/files.hpp"
#include "shim/base/parsing.hpp"
#include "shim/base/settings.hpp"
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/handles/world_comms.hpp"
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

std::string host_name() {
  char text[256] = {};
  return gethostname(text, sizeof text - 1) == 0 ? text : "";
}

std::string working_directory() {
  char text[4096];
  return getcwd(text, sizeof text) != nullptr ? text : "";
}

std::string machine_name() {
  utsname names{};
  return uname(&names) == 0 ? names.machine : "";
}

std::string command() {
  const auto words = command_line();
  return words.empty() ? "" : words[0];
}

std::string arguments() {
  const auto words = command_line();
  std::string joined;
  for (std::size_t i = 1; i < words.size(); ++i) joined += (i == 1 ? "" : " ") + words[i];
  return joined;
}

std::string number_of_processes() {
  return base::from_environment(abi::kWorldSizeVariable).value_or("");
}

const char* name_of_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

/// Values that only MPI_Init sets.
struct ValuesOfInit {
  int size = 0;  ///< 0: unknown
  int level = MPI_THREAD_MULTIPLE;
};

/// Return the value of a key if the launcher passes none; empty: the key is absent.
std::string value_without_launcher(abi::InfoEnvValue value, const ValuesOfInit& of_init) {
  switch (value) {
    case abi::InfoEnvValue::command:
      return command();
    case abi::InfoEnvValue::arguments:
      return arguments();
    case abi::InfoEnvValue::processes:
      return of_init.size > 0 ? std::to_string(of_init.size) : number_of_processes();
    case abi::InfoEnvValue::host:
      return host_name();
    case abi::InfoEnvValue::machine:
      return machine_name();
    case abi::InfoEnvValue::thread_level:
      return name_of_level(of_init.level);
    case abi::InfoEnvValue::launcher:
      return "";
  }
  return "";
}

/// Return the substrate's keys and values, for a world model that Intersession serves.
InfoPtr environment_info_of_substrate(const ValuesOfInit& of_init) {
  auto info = std::make_shared<Info>();
  for (const abi::InfoEnvKey& row : abi::kInfoEnvKeys) {
    const auto passed = row.variable != nullptr ? base::from_environment(row.variable)
                                                : std::nullopt;
    const std::string value = passed ? *passed : value_without_launcher(row.value, of_init);
    if (!value.empty()) set(*info, row.key, value);
  }
  return info;
}

/// Return the contents of MPI_INFO_ENV: those of MPI_Info_create_env with the values of MPI_Init.
InfoPtr predefined_environment_info() {
  if (!is_served_table_current()) return environment_info();
  return environment_info_of_substrate({world_comms.size.load(std::memory_order_relaxed),
                                        world_comms.level.load(std::memory_order_relaxed)});
}

}  // namespace

InfoPtr environment_info() {
  if (is_served_world_selected()) return environment_info_of_substrate({});
  auto info = std::make_shared<Info>();
  const std::pair<const char*, std::string> values[] = {{"command", command()},
                                                        {"argv", arguments()},
                                                        {"wdir", working_directory()},
                                                        {"host", host_name()},
                                                        {"maxprocs", number_of_processes()},
                                                        {"thread_level", "MPI_THREAD_MULTIPLE"}};
  for (const auto& [key, value] : values)
    if (!value.empty()) set(*info, key, value);
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
  if (handle == abi::predefined.info_env) return predefined_environment_info();
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
