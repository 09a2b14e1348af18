// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/infos.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "shim/base/files.hpp"
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/objects.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::Info;
using sessions::InfoPtr;

/// The first word and the rest of the command line of this process; words cannot contain a NUL.
std::vector<std::string> command_line() {
  std::istringstream file(base::read_file("/proc/self/cmdline").value_or(std::string()));
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

void set(Info& info, const char* key, std::string value) {
  value.resize(std::min(value.size(), std::size_t{MPI_MAX_INFO_VAL}));
  static_cast<void>(info.set(key, value));  // the key is right and the value is short enough
}

base::Result<InfoPtr> copy_from_below(MPI_Info handle) {
  auto info = std::make_shared<Info>();
  int keys = 0;
  if (active_table.Info_get_nkeys(handle, &keys) != MPI_SUCCESS)
    return Error(ErrorClass::info, "the info object is not known to the MPI library below");
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

base::Result<InfoPtr> take_info(MPI_Info handle) {
  if (abi::is_unset(handle)) return Error(ErrorClass::info, "the info handle was never set: it is 0");
  if (handle == abi::predefined.info_null) return InfoPtr();
  if (abi::is_ours(handle)) {
    SHIM_TRY_ASSIGN(InfoObject * object, info_of(handle));
    return object->info->duplicate();
  }
  if (is_active()) return copy_from_below(handle);
  if (handle == abi::predefined.info_env) return environment_info();
  return Error(ErrorClass::info, "the info object was made by the MPI library below, which is not initialised at present");
}

base::Status put_into_info(MPI_Info handle, const char* key, const std::string& value) {
  if (handle == abi::predefined.info_null) return {};
  if (!abi::is_ours(handle) && is_active()) {
    active_table.Info_set(handle, key, value.c_str());  // its own error handler has heard of it
    return {};
  }
  SHIM_TRY_ASSIGN(InfoObject * object, info_of(handle));
  return object->info->set(key, value);
}

base::Result<MPI_Info> hand_out_info(const InfoPtr& info) {
  InfoObject object;
  object.info = info ? info->duplicate() : std::make_shared<Info>();
  return objects.infos.insert(std::move(object));
}

}  // namespace shim::intercept
