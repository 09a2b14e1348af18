// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/lifetime.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/base/background_task.hpp"
#include "shim/base/setting_suggestions.hpp"
#include "shim/base/settings.hpp"
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/environment_interlock.hpp"
#include "shim/intercept/errors.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/forked.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/handles/world_comms.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"
#include "shim/intercept/native/undefined_symbols.hpp"
#include "shim/intercept/native/world_size_check.hpp"
#include "shim/intercept/progress/progress_coupling.hpp"
#include "shim/intercept/progress/progress_thread.hpp"
#include "shim/intercept/progress/wait_reports.hpp"
#include "shim/intercept/tool_listener.hpp"

namespace shim::intercept {
namespace {

using sessions::Process;

using Started = base::Result<std::shared_ptr<Process>>;
using Starting = base::BackgroundTask<std::shared_ptr<Process>>;

/// The Process and the interposition layer's state of equal lifetime; sessions hold it.
class ProcessHolder : public sessions::ProcessSource {
 public:
  /// For a Process that has started.
  explicit ProcessHolder(std::shared_ptr<Process> process)
      : process_ptr_(process.get()), started_(std::move(process)) {}
  /// Start a Process on a background thread.
  explicit ProcessHolder(Starting::Work start) : starting_(std::in_place, std::move(start)) {
    starting_->begin();
  }
  ~ProcessHolder() override;

  base::Result<Process*> process() override {
    // pairs with the release in take_started()
    if (Process* there = process_ptr_.load(std::memory_order_acquire)) return there;
    std::lock_guard guard(mutex_);
    if (!started_) SHIM_TRY(take_started());
    if (!*started_) return started_->error().clone();
    return (*started_)->get();
  }
  /// Return null while the Process starts and after a failed start. Never blocks.
  Process* process_if_started() {
    if (starting_ && !starting_->is_over()) return nullptr;
    const auto found = process();
    return found ? *found : nullptr;
  }
  void couple_progress(bool substrate_is_active) {
    if (!substrate_is_active) return coupling_.reset();
    const auto found = process();
    if (!found || coupling_) return;
    warn_if_world_sizes_differ(**found);
    coupling_.emplace((*found)->engine(), *(*found)->vcis().all_engines(), (*found)->log());
  }
  /// Start a progress thread for the duration of the substrate's MPI_Finalize, which waits for
  /// peers: a peer may need session messages of this process before it enters MPI_Finalize.
  void before_native_finalize() {
    if (const auto found = process())
      in_finalize_ = ProgressThread::make(*(*found)->vcis().all_engines(), finalize_,
                                          (*found)->log());
  }
  std::unique_ptr<ProgressThread> after_native_finalize() { return std::move(in_finalize_); }
  /// Wait for background work that a start of the world model, or the end of the program, would
  /// disturb.
  void finish_opening() {
    if (const auto found = process()) (*found)->peers().finish_opening();
  }

 private:
  /// The caller holds the mutex. Errors: other (this is a fork of the starting process).
  base::Status take_started() {
    starting_->wait();
    if (!starting_->is_over())
      return base::Error(base::ErrorClass::other,
                         "fork() was called while MPI_Session_init ran in the background "
                         "(INTERSESSION_START_BESIDE); the session belongs to the parent");
    started_.emplace(starting_->take());
    if (*started_)
      process_ptr_.store((*started_)->get(), std::memory_order_release);  // pairs with process()
    return {};
  }

  std::optional<Starting> starting_;
  std::atomic<Process*> process_ptr_{nullptr};  ///< set once taken
  std::mutex mutex_;                            ///< guards take_started()
  std::optional<Started> started_;
  std::optional<ProgressCoupling> coupling_;
  NativeCallCounts finalize_{.inside = 1};  ///< constant: one call, MPI_Finalize, is in progress
  std::unique_ptr<ProgressThread> in_finalize_;
};

/// Never destroyed: sessions may end during exit.
struct ProcessRegistry {
  std::mutex mutex;
  std::condition_variable ended;
  std::weak_ptr<ProcessHolder> holder;
  /// Set at the end of the program, so that the holder is never destroyed: that would wait for
  /// other threads.
  std::shared_ptr<ProcessHolder> holder_at_end;
  std::vector<std::weak_ptr<sessions::Session>> sessions;
  std::optional<sessions::Factories> factories;  ///< set by the first Process
  /// True once run_at_exit() has taken factories->lifetime to destroy it, because its launcher
  /// client ends with the exit handlers (PMIx). No Process can start after that.
  bool launcher_client_ended = false;
  int owner = 0;  ///< process id, to detect forks
  /// From the substrate's start until just before its end; it does not end while the mutex is held.
  bool world_is_up = false;
  /// From before the start of a Process until after its end, when the next one may start.
  bool exists = false;
  /// Closed with the mutex held, so that no start is in progress then; opened without, because a
  /// start that has waited in vain may hold it.
  EnvironmentInterlock environment;
};
ProcessRegistry& process_registry() {
  static ProcessRegistry& registry = []() -> ProcessRegistry& {
    auto& made = *new ProcessRegistry;
    made.world_is_up = on_activity_detected([] { couple_progress(true); });
    return made;
  }();
  return registry;
}

ProcessHolder::~ProcessHolder() {
  coupling_.reset();
  in_finalize_.reset();
  starting_.reset();  // waits for the start to end
  started_.reset();
  ProcessRegistry& registry = process_registry();
  std::lock_guard lock(registry.mutex);
  registry.exists = false;
  registry.ended.notify_all();
}

/// Publish this process's regular exit to the launcher. Ignore failures: no session is left that
/// could report them.
void publish_exit(const sessions::Factories& factories) {
  if (const auto settings = base::read_settings())
    (void)sessions::publish_exit(*settings, factories);
}

/// Exit handler. If there is a Process, finish opening its fabric, because later exit handlers may
/// unload libraries that the fabric uses. If there is none, publish this process's regular exit to
/// the launcher. Sessions remain usable until the program's destructors have run (end_of_program),
/// unless the launcher's client ends here.
void run_at_exit() {
  std::shared_ptr<ProcessHolder> holder;  // both are destroyed after the lock
  std::unique_ptr<bootstrap::ProcessLifetime> of_launcher;
  if (is_forked_child()) return;
  ProcessRegistry& registry = process_registry();
  std::lock_guard lock(registry.mutex);
  holder = registry.holder.lock();
  if (holder) holder->finish_opening();
  if (!holder && registry.owner == ::getpid()) publish_exit(*registry.factories);
  auto& kept_lifetime = *registry.factories->lifetime;
  if (!kept_lifetime || !kept_lifetime->ends_with_exit_handlers()) return;
  registry.launcher_client_ended = true;
  of_launcher = std::move(kept_lifetime);
}

/// Name the sessions that the program has not finalized. The caller holds the mutex.
void warn_about_open_sessions(const ProcessRegistry& registry, const Process& process) {
  std::size_t open = 0;
  std::string living;
  for (const auto& weak : registry.sessions) {
    const auto session = weak.lock();
    if (!session || !session->is_open()) continue;
    ++open;
    for (const auto& object : session->living_objects())
      living += (living.empty() ? "" : ", ") + object;
  }
  if (open == 0) return;
  process.log().write(base::LogLevel::warn, "the program ends without MPI_Session_finalize of " +
                                                std::to_string(open) +
                                                (open == 1 ? " session" : " sessions") +
                                                (living.empty() ? "" : "; not freed: " + living));
}

/// Exit status of the program, for the library's destructor; pairs with nothing.
std::atomic<int> exit_status{0};

/// End the job with an error if the program ends between MPI_Init and MPI_Finalize, as the
/// substrate's launchers do for a native world model. The launcher sees the status of the process.
void check_world_is_finalized() {
  const bool is_open = world_comms.state.load(std::memory_order_acquire) ==
                       ServedWorldState::started;
  if (!is_open || !abi::kExitBeforeFinalizeIsAnError || is_forked_child()) return;
  if (exit_status.load(std::memory_order_relaxed) == 0)
    end_process("the program ends between MPI_Init and MPI_Finalize", 1);
}

std::atomic<bool> has_factories{false};  // this library has begun work; pairs with nothing

/// Leave the job. Runs after the program's destructors, which need this library. Does not wait for
/// other threads, which may be blocked in MPI calls. The kernel frees all resources except the
/// node's shared memory, which has a name.
[[gnu::destructor]] void end_of_program() {
  if (!has_factories.load(std::memory_order_relaxed)) return;
  ProcessRegistry& registry = process_registry();
  if (registry.owner != ::getpid()) return;  // a child of a system call that no handler has seen
  check_world_is_finalized();
  std::unique_lock lock(registry.mutex, std::try_to_lock);
  if (!lock) return;
  registry.holder_at_end = registry.holder.lock();
  Process* process = registry.holder_at_end ? registry.holder_at_end->process_if_started()
                                            : nullptr;
  if (process != nullptr) {
    warn_about_open_sessions(registry, *process);
    process->node().leave_at_once();
  }
  registry.factories->lifetime->reset();
}

/// The caller holds the mutex.
sessions::Factories& factories_of(ProcessRegistry& registry) {
  if (!registry.factories) {
    registry.factories = sessions::Factories::standard();
    registry.factories->phases = tool_listener();
    registry.factories->reports = wait_reports();
    registry.owner = ::getpid();
    watch_forks();
    has_factories.store(true, std::memory_order_relaxed);
    std::atexit(run_at_exit);
    ::on_exit([](int status, void*) { exit_status.store(status, std::memory_order_relaxed); },
              nullptr);
  }
  return *registry.factories;
}

/// Return the state kept for the launcher; null if the launcher needs none, or no longer. The
/// caller holds the mutex.
bootstrap::ProcessLifetime* lifetime_of(ProcessRegistry& registry) {
  const auto& factories = factories_of(registry);
  auto& lifetime = *factories.lifetime;
  if (lifetime == nullptr && !registry.launcher_client_ended)
    lifetime = bootstrap::make_process_lifetime(*factories.launch_env);
  return lifetime.get();
}

/// Return the error after the launcher's client has ended in the exit handlers.
base::Error error_after_exit() {
  return base::Error(base::ErrorClass::other,
                     "the exit handlers of the program have closed the connection to the launcher "
                     "(PMIx_Finalize); begin the session before exit() or the return of main()");
}

/// True if a session has existed, or the program refers to a function that makes one.
bool may_open_sessions() {
  constexpr std::array kFunctions = {"MPI_Session_init",
                                     "PMPI_Session_init",
                                     "MPI_Comm_create_from_group",
                                     "PMPI_Comm_create_from_group",
                                     "MPI_Intercomm_create_from_groups",
                                     "PMPI_Intercomm_create_from_groups"};
  return any_object_made() ||
         std::ranges::any_of(kFunctions, [](const char* name) { return program_refers_to(name); });
}

/// Return the time limit in seconds for a world model call that waits for the launcher.
double launcher_seconds() {
  const auto settings = base::read_settings();
  return settings ? settings->ready_timeout : base::Settings().ready_timeout;
}

/// Warn once in a program.
void warn_about_unknown_settings(const base::Log& log) {
  static std::atomic<bool> has_looked{false};  // pairs with nothing
  if (has_looked.exchange(true, std::memory_order_relaxed)) return;
  for (const auto& name : base::suggest_settings(environ))
    log.write(
        base::LogLevel::warn,
        name.variable +
            (name.is_old_name ? " is a deprecated setting, which the next release ignores; use "
                              : " is an unknown setting and is ignored; the closest one is ") +
            name.suggestion);
}

Started start(const base::Settings& settings, sessions::Factories factories) {
  SHIM_TRY_ASSIGN(std::shared_ptr<Process> process, Process::start(settings, std::move(factories)));
  if (process->bootstrap().job().rank == 0) warn_about_unknown_settings(process->log());
  report_on_signal(base::report_signal_of(settings));
  return process;
}

/// Start a Process. If the world model is active, start synchronously: the launcher is known and
/// answers at once, so that a background start gains nothing.
base::Result<std::shared_ptr<ProcessHolder>> start_process(ProcessRegistry& registry,
                                                           std::optional<bool> in_background) {
  SHIM_TRY_ASSIGN(base::Settings settings, base::read_settings());
  sessions::Factories& factories = factories_of(registry);
  if (registry.launcher_client_ended) return error_after_exit();
  if (registry.world_is_up)
    if (auto* of_launcher = lifetime_of(registry)) of_launcher->on_mpi_detected(abi::kSpeaksPmi1);
  if (in_background.value_or(settings.start_beside) && !registry.world_is_up) {
    bootstrap::prepare_environment(*factories.launch_env);
    return std::make_shared<ProcessHolder>(
        [settings, factories] { return start(settings, factories); });
  }
  SHIM_TRY_ASSIGN(std::shared_ptr<Process> process, start(settings, factories));
  return std::make_shared<ProcessHolder>(std::move(process));
}

/// True on a thread in MPI_Init or MPI_Finalize of the native library. A callback there may begin a
/// session, for which the thread must not wait for itself.
thread_local constinit bool closes_environment = false;

}  // namespace

base::Result<std::shared_ptr<sessions::ProcessSource>> acquire_process(
    std::optional<bool> in_background) {
  if (is_forked_child()) return forked_error(base::ErrorClass::other, "MPI");
  ProcessRegistry& registry = process_registry();
  detect_activity();
  std::unique_lock lock(registry.mutex);
  for (;;) {
    if (auto holder = registry.holder.lock())
      return std::shared_ptr<sessions::ProcessSource>(std::move(holder));
    if (registry.exists) {
      registry.ended.wait(lock);
    } else if (registry.environment.is_closed() && !closes_environment) {
      lock.unlock();
      registry.environment.wait_until_open();
      lock.lock();
    } else {
      break;
    }
  }
  SHIM_TRY_ASSIGN(std::shared_ptr<ProcessHolder> holder, start_process(registry, in_background));
  registry.exists = true;
  registry.holder = holder;
  if (registry.world_is_up) holder->couple_progress(true);
  return std::shared_ptr<sessions::ProcessSource>(std::move(holder));
}

// In a child of fork() a thread that exists only in the parent may have held the mutex: do not lock
// it.

std::shared_ptr<Process> living_process() noexcept {
  if (is_forked_child()) return nullptr;
  std::shared_ptr<ProcessHolder> holder;  // destroyed after the lock
  ProcessRegistry& registry = process_registry();
  std::lock_guard lock(registry.mutex);
  holder = registry.holder.lock();
  Process* process = holder ? holder->process_if_started() : nullptr;
  // shares ownership of the ProcessHolder
  return process ? std::shared_ptr<Process>(std::move(holder), process) : nullptr;
}

sessions::SessionPtr any_session() noexcept {
  if (is_forked_child()) return nullptr;
  ProcessRegistry& registry = process_registry();
  std::lock_guard lock(registry.mutex);
  for (const auto& weak : registry.sessions)
    if (auto session = weak.lock()) return session;
  return nullptr;
}

sessions::SessionPtr any_open_session() noexcept {
  if (is_forked_child()) return nullptr;
  ProcessRegistry& registry = process_registry();
  std::lock_guard lock(registry.mutex);
  for (const auto& weak : registry.sessions)
    if (auto session = weak.lock(); session && session->is_open()) return session;
  return nullptr;
}

base::Result<sessions::SessionPtr> session_for_world() {
  if (auto session = any_session()) return session;
  return make_session();
}

void warn_about_unknown_settings_in_world() {
  if (base::suggest_settings(environ).empty() || !require_substrate()) return;
  int rank = 0;
  active_table.Comm_rank(abi::predefined.comm_world, &rank);
  if (rank != 0) return;
  const auto level = base::from_environment("INTERSESSION_LOG").value_or("warn");
  warn_about_unknown_settings(base::Log(base::Log::level_of(level), process_label()));
}

base::Result<sessions::SessionPtr> make_session() {
  SHIM_TRY_ASSIGN(auto process, acquire_process(std::nullopt));
  auto made = std::make_shared<sessions::Session>(std::move(process), sessions::SessionOptions(),
                                                  nullptr);
  remember_session(made);
  return sessions::SessionPtr(std::move(made));
}

void remember_session(const sessions::SessionPtr& session) {
  ProcessRegistry& registry = process_registry();
  std::lock_guard lock(registry.mutex);
  std::erase_if(registry.sessions, [](const auto& weak) { return weak.expired(); });
  registry.sessions.push_back(session);
}

void couple_progress(bool substrate_is_active) {
  if (is_forked_child()) return;
  std::shared_ptr<ProcessHolder> holder;  // destroyed after the lock: may be the last reference
  ProcessRegistry& registry = process_registry();
  std::lock_guard lock(registry.mutex);
  registry.world_is_up = substrate_is_active;
  holder = registry.holder.lock();
  if (holder) holder->couple_progress(substrate_is_active);
}

namespace {
thread_local constinit bool in_native_init = false;
}  // namespace

bool is_in_native_init() noexcept { return in_native_init; }

NativeInitScope::NativeInitScope() {
  in_native_init = closes_environment = true;
  if (is_forked_child()) return;
  std::shared_ptr<ProcessHolder> holder;  // destroyed after the lock
  ProcessRegistry& registry = process_registry();
  std::lock_guard lock(registry.mutex);
  holder = registry.holder.lock();
  if (holder) holder->finish_opening();
  registry.environment.close_for(bootstrap::ProcessLifetime::kWorldStartSeconds);
  auto* of_launcher = lifetime_of(registry);
  if (of_launcher == nullptr) return;
  lifetime_ = {factories_of(registry).lifetime, of_launcher};
  lifetime_->before_mpi_init({.speaks_pmi1 = abi::kSpeaksPmi1,
                              .may_open_sessions = may_open_sessions(),
                              .seconds = launcher_seconds()});
}

NativeInitScope::~NativeInitScope() {
  in_native_init = closes_environment = false;
  if (!is_forked_child()) process_registry().environment.reopen();
  if (lifetime_) lifetime_->after_mpi_init();
}

void before_native_finalize() {
  closes_environment = true;
  if (is_forked_child()) return;
  std::shared_ptr<ProcessHolder> holder;  // destroyed after the lock
  ProcessRegistry& registry = process_registry();
  std::lock_guard lock(registry.mutex);
  registry.environment.close_for(bootstrap::ProcessLifetime::kWorldStartSeconds);
  if (!may_open_sessions()) return;
  if (auto* of_launcher = lifetime_of(registry))
    of_launcher->before_mpi_finalize(launcher_seconds());
  holder = registry.holder.lock();
  if (holder) holder->before_native_finalize();
}

void after_native_finalize() {
  closes_environment = false;
  if (is_forked_child()) return;
  std::shared_ptr<ProcessHolder> holder;  // destroyed after the lock, and after the thread
  std::unique_ptr<ProgressThread> thread;
  ProcessRegistry& registry = process_registry();
  registry.environment.reopen();
  std::lock_guard lock(registry.mutex);
  if (auto* of_launcher = lifetime_of(registry)) of_launcher->after_mpi_finalize();
  holder = registry.holder.lock();
  if (holder) thread = holder->after_native_finalize();
}

}  // namespace shim::intercept
