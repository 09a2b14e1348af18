// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/session.hpp"

#include <algorithm>
#include <array>

#include "shim/sessions/process.hpp"
#include "shim/sessions/pset_names.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

constexpr std::array<std::string_view, 4> kLevelNames = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                                        "MPI_THREAD_MULTIPLE"};
/// The kinds of memory that buffers may lie in (MPI-4.1 §12.4.3): what MPI allocates and what the system does.
constexpr std::string_view kMemoryKinds = "mpi,system";

}  // namespace

std::string_view name_of(ThreadLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

base::Result<SessionOptions> read_session_options(const Info& info) {
  SessionOptions options;
  if (auto level = info.get("thread_level")) {
    auto found = std::find(kLevelNames.begin(), kLevelNames.end(), *level);
    if (found == kLevelNames.end())
      return Error(ErrorClass::info_value, "the info key thread_level has the value \"" + *level +
                                               "\", which is none of MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED, _MULTIPLE");
    options.level = static_cast<ThreadLevel>(found - kLevelNames.begin());
  }
  if (auto strict = info.get("strict_finalize")) {
    std::string word = lowered(*strict);
    if (word != "true" && word != "false" && word != "1" && word != "0")
      return Error(ErrorClass::info_value, "the info key strict_finalize has the value \"" + *strict +
                                               "\", which is neither true nor false");
    options.strict_finalize = word == "true" || word == "1";
  }
  return options;
}

Session::Session(std::shared_ptr<Process> process, ThreadLevel level, bool strict_finalize, ErrorHandlerPtr handler)
    : process_(std::move(process)), level_(level), strict_(strict_finalize), handler_(std::move(handler)) {}

ErrorHandlerPtr Session::error_handler() const {
  std::lock_guard guard(mutex_);
  return handler_;
}

void Session::set_error_handler(ErrorHandlerPtr handler) {
  std::lock_guard guard(mutex_);
  handler_ = std::move(handler);
}

base::Result<int> Session::pset_count() {
  std::vector<std::string> now = process_->sets().names();
  std::lock_guard guard(mutex_);
  if (pset_names_.empty()) {
    pset_names_ = std::move(now);
  } else {
    // names that are gone stay, so that indices stay what they are (MPI-4.1 §11.3.2)
    for (std::string& name : now) {
      auto is_it = [&](const std::string& other) { return same_pset_name(other, name); };
      if (std::none_of(pset_names_.begin(), pset_names_.end(), is_it)) pset_names_.push_back(std::move(name));
    }
  }
  return static_cast<int>(pset_names_.size());
}

base::Result<std::string> Session::nth_pset(int n) {
  {
    std::lock_guard guard(mutex_);
    if (n >= 0 && static_cast<std::size_t>(n) < pset_names_.size()) return pset_names_[static_cast<std::size_t>(n)];
  }
  SHIM_TRY_ASSIGN(int count, pset_count());
  if (n < 0 || n >= count)
    return Error(ErrorClass::arg, "process set number " + std::to_string(n) + ", but there are " + std::to_string(count) +
                                      ", numbered from 0");
  std::lock_guard guard(mutex_);
  return pset_names_[static_cast<std::size_t>(n)];
}

base::Result<GroupPtr> Session::group_of_pset(const std::string& name) { return process_->sets().find(name); }

base::Result<InfoPtr> Session::pset_info(const std::string& name) {
  SHIM_TRY_ASSIGN(GroupPtr group, group_of_pset(name));
  auto info = std::make_shared<Info>();
  SHIM_TRY(info->set("mpi_size", std::to_string(group->size())));
  return info;
}

base::Status Session::publish_pset(const std::string& name, const GroupPtr& group) { return process_->sets().publish(name, group); }

InfoPtr Session::info() const {
  auto info = std::make_shared<Info>();
  for (auto [key, value] : {std::pair<std::string_view, std::string_view>{"thread_level", name_of(level_)},
                            {"strict_finalize", strict_ ? "true" : "false"},
                            {"mpi_memory_alloc_kinds", kMemoryKinds}})
    (void)info->set(key, value);  // these keys and values fit
  return info;
}

void Session::register_object(const std::weak_ptr<const Described>& object) {
  std::lock_guard guard(mutex_);
  std::erase_if(objects_, [](const auto& other) { return other.expired(); });
  objects_.push_back(object);
}

std::vector<std::string> Session::living_objects() {
  std::vector<std::shared_ptr<const Described>> living;
  {
    std::lock_guard guard(mutex_);
    for (const auto& object : objects_)
      if (auto locked = object.lock()) living.push_back(std::move(locked));
  }
  std::vector<std::string> descriptions;  // asked for outside the lock: what lives may be given up meanwhile, with its session
  for (const auto& object : living) descriptions.push_back(object->description());
  return descriptions;
}

}  // namespace shim::sessions
