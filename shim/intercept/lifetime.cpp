// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/lifetime.hpp"

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

#include "shim/base/settings.hpp"
#include "shim/intercept/sharing.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using sessions::Process;

/// The Process together with what the border ties to its life. Sessions hold it through pointers to the Process.
class Life {
 public:
  explicit Life(std::shared_ptr<Process> process) : process_(std::move(process)) {}
  ~Life();
  Process& process() { return *process_; }
  void share_progress(bool substrate_is_active) {
    if (!substrate_is_active) sharing_.reset();
    else if (!sharing_) sharing_.emplace(process_->engine());
  }

 private:
  std::shared_ptr<Process> process_;
  std::optional<ProgressSharing> sharing_;
};

/// Never destroyed: sessions may end while the program does.
struct Keeper {
  std::mutex mutex;
  std::condition_variable ended;
  std::weak_ptr<Life> life;
  std::vector<std::weak_ptr<sessions::Session>> sessions;
  std::optional<sessions::Factories> factories;  ///< from the first Process to the end of the program
  bool exists = false;  ///< from before the start of a Process to after its end, when the next may begin
};
Keeper& keeper() {
  static Keeper& kept = *new Keeper;
  return kept;
}

Life::~Life() {
  sharing_.reset();
  process_.reset();
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  kept.exists = false;
  kept.ended.notify_all();
}

/// Sessions and all below see the Process; what they keep alive is the Life.
std::shared_ptr<Process> process_of(std::shared_ptr<Life> life) {
  Process* process = &life->process();
  return {std::move(life), process};
}

/// At the end of the program: the launcher learns that this process ends as it should.
void let_go() {
  Keeper& kept = keeper();
  std::optional<sessions::Factories> last;  // dropped after the lock
  std::lock_guard lock(kept.mutex);
  last.swap(kept.factories);
}

base::Result<std::shared_ptr<Life>> start(Keeper& kept) {
  SHIM_TRY_ASSIGN(base::Settings settings, base::read_settings());
  if (!kept.factories) {
    kept.factories = sessions::Factories::standard();
    std::atexit(let_go);
  }
  SHIM_TRY_ASSIGN(std::shared_ptr<Process> process, Process::start(settings, *kept.factories));
  return std::make_shared<Life>(std::move(process));
}

}  // namespace

base::Result<std::shared_ptr<Process>> acquire_process() {
  Keeper& kept = keeper();
  bool active = notice_activity();
  std::unique_lock lock(kept.mutex);
  for (;;) {
    if (auto life = kept.life.lock()) return process_of(std::move(life));
    if (!kept.exists) break;
    kept.ended.wait(lock);
  }
  SHIM_TRY_ASSIGN(std::shared_ptr<Life> life, start(kept));
  kept.exists = true;
  kept.life = life;
  life->share_progress(active);
  return process_of(std::move(life));
}

std::shared_ptr<Process> living_process() noexcept {
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  auto life = kept.life.lock();
  return life ? process_of(std::move(life)) : nullptr;
}

sessions::SessionPtr any_session() noexcept {
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
  std::shared_ptr<Life> life;  // dropped after the lock: ours may be the last reference
  Keeper& kept = keeper();
  std::lock_guard lock(kept.mutex);
  life = kept.life.lock();
  if (life) life->share_progress(substrate_is_active);
}

}  // namespace shim::intercept
