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

constexpr std::array<std::string_view, 4> kLevelNames = {
    "MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
/// Memory kinds of buffers (MPI-4.1 §12.4.3): allocated by MPI, and by the system.
constexpr std::string_view kMemoryKinds = "mpi,system";

Error bad_value(std::string_view key, const std::string& value, std::string_view expected) {
  return Error(ErrorClass::info_value, "info key " + std::string(key) + "=\"" + value +
                                           "\": invalid value; use " + std::string(expected));
}

base::Result<std::optional<bool>> truth_in(const Info& info, std::string_view key) {
  const auto value = info.get(key);
  if (!value) return std::optional<bool>();
  const std::string word = lowered(*value);
  if (word == "true" || word == "1") return std::optional(true);
  if (word == "false" || word == "0") return std::optional(false);
  return bad_value(key, *value, "true or false");
}

class Complete : public ProcessSource {
 public:
  explicit Complete(std::shared_ptr<Process> process) : process_(std::move(process)) {}
  base::Result<Process*> process() override { return process_.get(); }

 private:
  const std::shared_ptr<Process> process_;
};

}  // namespace

std::string_view name_of(ThreadLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

base::Result<SessionOptions> read_session_options(const InfoPtr& info) {
  SessionOptions options;
  if (!info) return options;
  if (auto level = info->get("thread_level")) {
    auto found = std::find(kLevelNames.begin(), kLevelNames.end(), *level);
    if (found == kLevelNames.end())
      return bad_value("thread_level", *level,
                       "the name of a thread level (MPI_THREAD_MULTIPLE, …)");
    options.level = static_cast<ThreadLevel>(found - kLevelNames.begin());
  }
  SHIM_TRY_ASSIGN(const auto strict, truth_in(*info, "strict_finalize"));
  options.strict_finalize = strict.value_or(false);
  SHIM_TRY_ASSIGN(options.starts_beside, truth_in(*info, "mpix_start_beside"));
  return options;
}

std::shared_ptr<ProcessSource> source_of(std::shared_ptr<Process> process) {
  return std::make_shared<Complete>(std::move(process));
}

base::Result<Process*> Session::process() const {
  auto found = source_->process();
  // relaxed: registering twice is harmless
  if (found && !is_registered_.load(std::memory_order_relaxed) &&
      !is_registered_.exchange(true, std::memory_order_relaxed))
    (*found)->threads().register_session(options_.level, opener_);
  return found;
}

base::Result<std::uint32_t> Session::vci() {
  SHIM_TRY_ASSIGN(Process* const process, this->process());
  std::lock_guard guard(mutex_);
  if (!vci_) vci_ = process->vcis().of_thread(opener_);
  return *vci_;
}

ErrorHandlerPtr Session::error_handler() const {
  std::lock_guard guard(mutex_);
  return handler_;
}

void Session::set_error_handler(ErrorHandlerPtr handler) {
  std::lock_guard guard(mutex_);
  handler_ = std::move(handler);
}

base::Result<int> Session::pset_count() {
  SHIM_TRY_ASSIGN(Process* const process, this->process());
  std::vector<std::string> now = process->sets().names();
  std::lock_guard guard(mutex_);
  // Names never disappear, so that indices stay valid (MPI-4.1 §11.3.2).
  for (std::string& name : now)
    if (known_pset_names_.insert(canonical_pset_name(name)).second)
      pset_names_.push_back(std::move(name));
  return static_cast<int>(pset_names_.size());
}

base::Result<std::string> Session::nth_pset(int n) {
  {
    std::lock_guard guard(mutex_);
    if (n >= 0 && static_cast<std::size_t>(n) < pset_names_.size())
      return pset_names_[static_cast<std::size_t>(n)];
  }
  SHIM_TRY_ASSIGN(int count, pset_count());
  if (n < 0 || n >= count)
    return Error(ErrorClass::arg, "process set number " + std::to_string(n) +
                                      " does not exist; there are " + std::to_string(count) +
                                      ", numbered from 0");
  std::lock_guard guard(mutex_);
  return pset_names_[static_cast<std::size_t>(n)];
}

base::Result<GroupPtr> Session::group_of_pset(const std::string& name) {
  SHIM_TRY_ASSIGN(Process* const process, this->process());
  return process->sets().find(name);
}

base::Result<InfoPtr> Session::pset_info(const std::string& name) {
  SHIM_TRY_ASSIGN(GroupPtr group, group_of_pset(name));
  auto info = std::make_shared<Info>();
  SHIM_TRY(info->set("mpi_size", std::to_string(group->size())));
  return info;
}

base::Status Session::publish_pset(const std::string& name, const GroupPtr& group) {
  SHIM_TRY_ASSIGN(Process* const process, this->process());
  return process->sets().publish(name, group);
}

InfoPtr Session::info() const {
  auto info = std::make_shared<Info>();
  for (auto [key, value] :
       {std::pair<std::string_view, std::string_view>{"thread_level", name_of(options_.level)},
        {"strict_finalize", options_.strict_finalize ? "true" : "false"},
        {"mpi_memory_alloc_kinds", kMemoryKinds}})
    (void)info->set(key, value);  // cannot fail: these keys and values fit
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
  // called without the lock: an object and its session may be released meanwhile
  std::vector<std::string> descriptions;
  for (const auto& object : living) descriptions.push_back(object->description_with_origin());
  return descriptions;
}

}  // namespace shim::sessions
