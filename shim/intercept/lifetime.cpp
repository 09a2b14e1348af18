// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/lifetime.hpp"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/base/misspelt.hpp"
#include "shim/base/own_thread.hpp"
#include "shim/base/settings.hpp"
#include "shim/intercept/forked.hpp"
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/launcher_of_world.hpp"
#include "shim/intercept/native/references.hpp"
#include "shim/intercept/objects.hpp"
#include "shim/intercept/progress_thread.hpp"
#include "shim/intercept/sharing.hpp"
#include "shim/intercept/substrate.hpp"
#include "shim/intercept/tool_listener.hpp"

namespace shim::intercept {
namespace {

using sessions::Process;

using Started = base::Result<std::shared_ptr<Process>>;
using Starting = base::OwnThread<Started>;

/// The Process together with what the border ties to its life; sessions hold it.
class Life : public sessions::ProcessSource {
 public:
  /// Of a Process that is there.
  explicit Life(std::shared_ptr<Process> process) : there_(process.get()), started_(std::move(process)) {}
  /// Of one that starts beside the program, from now on.
  explicit Life(Starting::Work start) : starting_(std::in_place, std::move(start)) { starting_->begin(); }
  ~Life() override;

  base::Result<Process*> process() override {
    // acquire: pairs with the release in take_started(), so that all of it is seen
    if (Process* there = there_.load(std::memory_order_acquire)) return there;
    std::lock_guard guard(mutex_);
    if (!started_) SHIM_TRY(take_started());
    if (!*started_) return started_->error().clone();
    return (*started_)->get();
  }
  /// Null while it starts, and where that has failed. Waits for nobody.
  Process* process_if_there() {
    if (starting_ && !starting_->is_over()) return nullptr;
    const auto found = process();
    return found ? *found : nullptr;
  }
  void share_progress(bool substrate_is_active) {
    if (!substrate_is_active) return sharing_.reset();
    const auto found = process();
    if (!found || sharing_) return;
    warn_where_worlds_differ(**found);
    sharing_.emplace((*found)->engine(), *(*found)->all_engines(), (*found)->log());
  }
  /// From here on a thread is in the substrate's MPI_Finalize: others may wait for messages of ours before they come there, too.
  void world_ends() {
  if (is_forked_child()) return;
    if (const auto found = process()) in_finalize_ = ProgressThread::make(*(*found)->all_engines(), finalize_, (*found)->log());
  }
  std::unique_ptr<ProgressThread> world_ended() { return std::move(in_finalize_); }
  /// Nothing goes on beside the program any more that a start of the world model, or an end of the program, would disturb.
  void finish_opening() {
    if (const auto found = process()) (*found)->finish_opening();
  }

 private:
  /// With the mutex held. Errors: other (this is a fork of the process that starts).
  base::Status take_started() {
    starting_->wait();
    if (!starting_->is_over())
      return base::Error(base::ErrorClass::other, "fork() was called while MPI_Session_init went on beside the program "
                                                  "(INTERSESSION_START_BESIDE); its session is the parent's");
    started_.emplace(starting_->take());
    if (*started_) there_.store((*started_)->get(), std::memory_order_release);  // pairs with process()
    return {};
  }

  std::optional<Starting> starting_;
  std::atomic<Process*> there_{nullptr};  ///< once it has been taken
  std::mutex mutex_;                      ///< guards the taking
  std::optional<Started> started_;
  std::optional<ProgressSharing> sharing_;
  CallsBelow finalize_{.inside = 1};
  std::unique_ptr<ProgressThread> in_finalize_;
};

/// Never destroyed: sessions may end while the program does.
struct Keeper {
  std::mutex mutex;
  std::condition_variable ended;
  std::weak_ptr<Life> life;
  std::vector<std::weak_ptr<sessions::Session>> sessions;
  std::optional<sessions::Factories> factories;  ///< from the first Process on
  bool has_let_go = false;  ///< the exit handlers have run, and with them what the launcher's
                            ///< client can not outlive has ended
  int owner = 0;  ///< process id of that program, which its forks are not
  bool world_is_up = false;  ///< from the substrate's start until it is about to end: it does not end while the mutex is held
  bool exists = false;  ///< from before the start of a Process to after its end, when the next may begin
};
Keeper& keeper() {
  static Keeper& kept = *new Keeper;
  return kept;
}

Life::~Life() {
  sharing_.reset();
  in_finalize_.reset();
  starting_.reset();  // waits for its end
  started_.reset();
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  kept.exists = false;
  kept.ended.notify_all();
}

/// Nobody is there any more whom it could be told that this fails.
void say_exit(const sessions::Factories& factories) {
  if (const auto settings = base::read_settings()) (void)sessions::say_exit(*settings, factories);
}

/// As an exit handler: the launcher learns that this process ends as it should. A fabric that is
/// still being opened would meet libraries that are already gone. Sessions may live, begin and end
/// until the destructors of the program have run (end_of_program), unless the launcher's client
/// ends here.
void let_go() {
  std::shared_ptr<Life> life;  // these two are dropped after the lock
  std::unique_ptr<bootstrap::ProcessLife> of_launcher;
  if (is_forked_child()) return;
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  life = kept.life.lock();
  if (life) life->finish_opening();
  if (!life && kept.owner == ::getpid()) say_exit(*kept.factories);
  auto& kept_life = *kept.factories->life;
  if (!kept_life || !kept_life->ends_with_exit_handlers()) return;
  kept.has_let_go = true;
  of_launcher = std::move(kept_life);
}

std::atomic<bool> has_factories{false};  // this library has begun something; pairs with nothing

/// After the destructors of the program, which need this library. Waits for no thread: one that is
/// inside a call of MPI stays there. What still lives is left to the kernel, but for the node's
/// shared memory, which has a name.
[[gnu::destructor]] void end_of_program() {
  if (!has_factories.load(std::memory_order_relaxed)) return;
  Keeper& kept = keeper();
  std::unique_lock lock(kept.mutex, std::try_to_lock);
  if (!lock || kept.owner != ::getpid()) return;
  auto& life =
      *new std::shared_ptr<Life>(kept.life.lock());  // never dropped: its end would wait for others
  Process* process = life ? life->process_if_there() : nullptr;
  if (process != nullptr) process->leave_at_once();
  kept.factories->life->reset();
}

/// The caller holds the mutex.
sessions::Factories& factories_of(Keeper& kept) {
  if (!kept.factories) {
    kept.factories = sessions::Factories::standard();
    kept.factories->phases = tool_listener();
    kept.owner = ::getpid();
    watch_forks();
    has_factories.store(true, std::memory_order_relaxed);
    std::atexit(let_go);
  }
  return *kept.factories;
}

/// What is kept for the launcher; null where it needs nothing, or no more. The caller holds the
/// mutex.
bootstrap::ProcessLife* life_of(Keeper& kept) {
  const auto& factories = factories_of(kept);
  auto& life = *factories.life;
  if (life == nullptr && !kept.has_let_go)
    life = bootstrap::make_process_life(*factories.launch_env);
  return life.get();
}

/// The launcher's client has ended with the exit handlers.
base::Error too_late() {
  return base::Error(
      base::ErrorClass::other,
      "the program's exit handlers have run, and with them this process's connection to the "
      "launcher has ended (PMIx_Finalize); begin the session before exit() or the return of "
      "main()");
}

/// A session has been there, or the program refers to them.
bool sessions_may_come() {
  return any_object_made() || program_refers_to("MPI_Session_init") ||
         program_refers_to("PMPI_Session_init");
}

/// How long a call of the world model waits for the launcher.
double launcher_seconds() {
  const auto settings = base::read_settings();
  return settings ? settings->ready_timeout : base::Settings().ready_timeout;
}

void warn_of_misspelt_settings(Process& process) {
  static std::atomic<bool> has_looked{false};  // once a program; pairs with nothing
  if (process.bootstrap().job().rank != 0 || has_looked.exchange(true, std::memory_order_relaxed)) return;
  for (const auto& name : base::misspelt_settings(environ))
    process.log().write(base::LogLevel::warn, name.given + " is no setting and has no effect; meant is " + name.meant);
}

Started start(const base::Settings& settings, sessions::Factories factories) {
  SHIM_TRY_ASSIGN(std::shared_ptr<Process> process, Process::start(settings, std::move(factories)));
  warn_of_misspelt_settings(*process);
  return process;
}

/// Where the world model is up the launcher is known, and its messages may be waited for at once: nothing to gain beside it.
base::Result<std::shared_ptr<Life>> begin_life(Keeper& kept, std::optional<bool> beside) {
  SHIM_TRY_ASSIGN(base::Settings settings, base::read_settings());
  sessions::Factories& factories = factories_of(kept);
  if (kept.has_let_go) return too_late();
  if (beside.value_or(settings.start_beside) && !kept.world_is_up) {
    bootstrap::settle_environment(*factories.launch_env);
    return std::make_shared<Life>([settings, factories] { return start(settings, factories); });
  }
  SHIM_TRY_ASSIGN(std::shared_ptr<Process> process, start(settings, factories));
  return std::make_shared<Life>(std::move(process));
}

}  // namespace

base::Result<std::shared_ptr<sessions::ProcessSource>> acquire_process(std::optional<bool> beside) {
  if (is_forked_child()) return forked_error(base::ErrorClass::other, "MPI");
  Keeper& kept = keeper();
  notice_activity();
  std::unique_lock lock(kept.mutex);
  for (;;) {
    if (auto life = kept.life.lock()) return std::shared_ptr<sessions::ProcessSource>(std::move(life));
    if (!kept.exists) break;
    kept.ended.wait(lock);
  }
  SHIM_TRY_ASSIGN(std::shared_ptr<Life> life, begin_life(kept, beside));
  kept.exists = true;
  kept.life = life;
  if (kept.world_is_up) life->share_progress(true);
  return std::shared_ptr<sessions::ProcessSource>(std::move(life));
}

// A child made by fork() comes here without its parent's threads, one of which may have held the mutex.

std::shared_ptr<Process> living_process() noexcept {
  if (is_forked_child()) return nullptr;
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  auto life = kept.life.lock();
  Process* process = life ? life->process_if_there() : nullptr;
  return process ? std::shared_ptr<Process>(std::move(life), process) : nullptr;  // what it keeps alive is the Life
}

sessions::SessionPtr any_session() noexcept {
  if (is_forked_child()) return nullptr;
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  for (const auto& weak : kept.sessions)
    if (auto session = weak.lock()) return session;
  return nullptr;
}

void remember_session(const sessions::SessionPtr& session) {
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  std::erase_if(kept.sessions, [](const auto& weak) { return weak.expired(); });
  kept.sessions.push_back(session);
}

void share_progress(bool substrate_is_active) {
  if (is_forked_child()) return;
  std::shared_ptr<Life> life;  // dropped after the lock: ours may be the last reference
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  kept.world_is_up = substrate_is_active;
  life = kept.life.lock();
  if (life) life->share_progress(substrate_is_active);
}

WorldStart::WorldStart() {
  if (is_forked_child()) return;
  std::shared_ptr<Life> life;  // dropped after the lock
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  life = kept.life.lock();
  if (life) life->finish_opening();
  auto* of_launcher = life_of(kept);
  if (of_launcher == nullptr) return;
  life_ = {factories_of(kept).life, of_launcher};
  life_->before_world_starts({.speaks_pmi1 = abi::kSpeaksPmi1,
                              .sessions_may_come = sessions_may_come(),
                              .seconds = launcher_seconds()});
}

WorldStart::~WorldStart() {
  if (life_) life_->after_world_started();
}

void world_ends() {
  std::shared_ptr<Life> life;  // dropped after the lock
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  if (!sessions_may_come()) return;
  if (auto* of_launcher = life_of(kept)) of_launcher->before_world_ends(launcher_seconds());
  life = kept.life.lock();
  if (life) life->world_ends();
}

void world_ended() {
  if (is_forked_child()) return;
  std::shared_ptr<Life> life;  // dropped after the lock, and the thread before the life
  std::unique_ptr<ProgressThread> thread;
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  if (auto* of_launcher = life_of(kept)) of_launcher->after_world_ended();
  life = kept.life.lock();
  if (life) thread = life->world_ended();
}

}  // namespace shim::intercept
