// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/world/served_world.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <string>
#include <type_traits>

#include "shim/base/settings.hpp"
#include "shim/coll/coll.hpp"
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/world_comms.hpp"
#include "shim/intercept/impl/attributes.hpp"
#include "shim/intercept/impl/comm/communicator.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"
#include "shim/sessions/creation_text.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::CommunicatorPtr;

using State = ServedWorldState;

/// The thread that has called MPI_Init; 0 before. Relaxed: pairs with nothing.
constinit std::atomic<pthread_t> thread_of_init{0};

State state() { return world_comms.state.load(std::memory_order_acquire); }

/// A predefined communicator, and the handle of the one that serves it.
struct Predefined {
  const char* name;
  const char* pset;
  std::atomic<MPI_Comm>& handle;
  /// Held while the communicator is made or freed. Each has its own: making that of mpi://WORLD
  /// waits for other processes, and calls on MPI_COMM_SELF must not wait for them.
  std::mutex& mutex;
};
// programs call MPI in exit handlers
static_assert(std::is_trivially_destructible_v<std::mutex>);
constinit std::mutex mutex_of_world, mutex_of_self;

Predefined world() { return {"MPI_COMM_WORLD", "mpi://WORLD", world_comms.world, mutex_of_world}; }
Predefined self() { return {"MPI_COMM_SELF", "mpi://SELF", world_comms.self, mutex_of_self}; }

/// Make the communicator that serves a predefined one, unless it is made. The caller holds its
/// mutex.
base::Status make(const Predefined& comm, const sessions::SessionPtr& session) {
  if (!abi::is_unset(comm.handle.load(std::memory_order_relaxed))) return {};
  SHIM_TRY_ASSIGN(sessions::GroupPtr group, session->group_of_pset(comm.pset));
  SHIM_TRY_ASSIGN(CommunicatorPtr made,
                  sessions::create_from_group(session, std::move(group),
                                              std::string(sessions::kPredefinedTag) + comm.name,
                                              nullptr, nullptr));
  made->set_name(comm.name);
  SHIM_TRY_ASSIGN(const MPI_Comm handle, objects.comms.insert(std::move(made)));
  comm.handle.store(handle, std::memory_order_release);
  return {};
}

/// Free the communicator that serves a predefined one. The caller holds its mutex.
void free_served(const Predefined& comm) {
  const MPI_Comm handle = comm.handle.exchange(MPI_Comm{}, std::memory_order_acq_rel);
  if (abi::is_unset(handle)) return;
  static_cast<void>(free_comm_handle(handle));  // no other code frees it
}

base::Status delete_attributes_of(const Predefined& comm) {
  const MPI_Comm handle = comm.handle.load(std::memory_order_acquire);
  if (abi::is_unset(handle)) return {};
  SHIM_TRY_ASSIGN(CommunicatorPtr found, get_comm(handle));
  return delete_attributes(
      {sessions::KeyFor::communicator, abi::bits(programs_handle(handle)), found->attributes()});
}

/// Refuse a process that a native MPI_Comm_spawn has started: its parent waits for a native
/// MPI_Init.
base::Status check_not_spawned() {
  const auto spawned = base::from_environment(abi::kSpawnedVariable);
  if (!spawned || *spawned == "0") return {};
  return Error(ErrorClass::unsupported_operation,
               "INTERSESSION_WORLD=sessions in a process that MPI_Comm_spawn has started, whose "
               "parent waits for the native MPI library; remove the variable from the environment "
               "of spawned processes");
}

/// Warn if other code than MPI_Init has initialised the native library (OpenSHMEM, for example).
void warn_if_native_library_runs(const sessions::Process& process) {
  int initialized = 0, finalized = 0;
  active_table.Initialized(&initialized);
  active_table.Finalized(&finalized);
  if (initialized != 0 && finalized == 0)
    process.log().write(base::LogLevel::warn,
                        "other code than MPI_Init has initialised the native MPI library; with "
                        "INTERSESSION_WORLD=sessions its objects cannot be used in MPI calls");
}

/// Make both communicators for MPI_Init.
base::Status make_both() {
  SHIM_TRY(check_not_spawned());
  SHIM_TRY(require_substrate());
  SHIM_TRY(require_link_order());
  SHIM_TRY_ASSIGN(sessions::SessionPtr session, make_session());
  SHIM_TRY_ASSIGN(sessions::Process* const process, session->process());
  warn_if_native_library_runs(*process);
  for (const Predefined& comm : {world(), self()}) {
    std::lock_guard lock(comm.mutex);
    SHIM_TRY(make(comm, session));
  }
  world_comms.size.store(static_cast<int>(process->bootstrap().job().size),
                         std::memory_order_relaxed);
  return {};
}

/// A program that has not called MPI_Init may call MPI_Finalize while a session is open, because
/// MPI_Initialized has been true: libraries do that.
base::Status check_can_end() {
  const State now = state();
  if (now == State::started || (now == State::not_started && any_open_session() != nullptr))
    return {};
  return Error(ErrorClass::other, now == State::ended      ? "called before"
                                  : now == State::starting ? "called before MPI_Init has returned"
                                                           : "called without MPI_Init");
}

/// Wait until all processes of the job have called MPI_Finalize: it is collective (MPI-4.1
/// §11.2.3), and until then receives from each of them may be tested or cancelled. Continue if a
/// process has died.
void wait_for_all_processes() {
  const MPI_Comm handle = world().handle.load(std::memory_order_acquire);
  if (abi::is_unset(handle)) return;
  auto found = get_comm(handle);
  if (!found) return;
  const auto ended = coll::run((*found)->coll(), coll::barrier((*found)->coll()));
  if (!ended)
    if (const auto process = living_process())
      process->log().write(base::LogLevel::info,
                           "MPI_Finalize does not wait for all processes: " + ended.error().text());
}

void free_both() {
  for (const Predefined& comm : {self(), world()}) {
    std::lock_guard lock(comm.mutex);
    free_served(comm);
  }
}

}  // namespace

base::Status start_served_world(int level) {
  State found = State::not_started;
  if (!world_comms.state.compare_exchange_strong(found, State::starting, std::memory_order_acq_rel))
    return Error(ErrorClass::other, found == State::ended ? "called after MPI_Finalize"
                                    : found == State::failed
                                        ? "an earlier MPI_Init or MPI_Init_thread has failed"
                                        : "MPI_Init or MPI_Init_thread was already called");
  if (auto made = make_both(); !made) {
    free_both();
    world_comms.state.store(State::failed, std::memory_order_release);
    return made;
  }
  world_comms.level.store(level, std::memory_order_relaxed);
  thread_of_init.store(pthread_self(), std::memory_order_relaxed);
  world_comms.state.store(State::started, std::memory_order_release);
  switch_to_served_table();
  return {};
}

base::Status end_served_world() {
  SHIM_TRY(check_can_end());
  base::Status deleted = delete_attributes_of(self());
  if (auto of_world = delete_attributes_of(world()); deleted) deleted = std::move(of_world);
  wait_for_all_processes();
  const auto process = living_process();
  if (process && !process->vcis().flush(process->settings().ready_timeout))
    process->log().write(base::LogLevel::warn,
                         "MPI_Finalize: the program has unreceived sends, or unmatched receives "
                         "freed by MPI_Request_free; their data is lost");
  world_comms.state.store(State::ended, std::memory_order_release);
  free_both();
  return deleted;
}

base::Status delete_served_attributes_without_session() {
  if (state() != State::not_started || any_open_session() != nullptr) return {};
  SHIM_TRY(delete_attributes_of(self()));
  return delete_attributes_of(world());
}

int make_served_comm(const Subject& subject, const char* function, MPI_Comm& comm) {
  const Predefined wanted = comm == MPI_Comm(abi::predefined.comm_world) ? world() : self();
  const auto made = [&]() -> base::Status {
    std::lock_guard lock(wanted.mutex);
    // the inactive table has the error
    if (state() == State::ended || any_open_session() == nullptr) return {};
    // a separate session, because MPI_Session_finalize reports the objects of the program's session
    SHIM_TRY_ASSIGN(const sessions::SessionPtr session, make_session());
    return make(wanted, session);
  }();
  if (!made) return fail(subject, function, made.error());
  comm = served_comm_if_made(comm);
  return MPI_SUCCESS;
}

namespace impl_when_served {

/// True if the program may use MPI_COMM_WORLD, or has used it after MPI_Init. Not after the last
/// session of a program without MPI_Init: its libraries would use MPI_COMM_SELF in exit handlers.
int Initialized(int* flag) {
  return run_with_handler(Subject(), "MPI_Initialized", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    const bool was_called = state() != State::not_started && state() != State::failed;
    *flag = was_called || any_open_session() != nullptr;
    return {};
  });
}

int Finalized(int* flag) {
  return run_with_handler(Subject(), "MPI_Finalized", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    *flag = state() == State::ended;
    return {};
  });
}

/// Return the level of MPI_Init; without it that of sessions.
int Query_thread(int* provided) {
  return run_with_handler(Subject(), "MPI_Query_thread", [&]() -> base::Status {
    SHIM_TRY(check_output(provided, "thread level"));
    *provided = world_comms.level.load(std::memory_order_relaxed);
    return {};
  });
}

int Is_thread_main(int* flag) {
  const pthread_t starter = thread_of_init.load(std::memory_order_relaxed);
  if (starter == 0) return impl_when_inactive::Is_thread_main(flag);
  return run_with_handler(Subject(), "MPI_Is_thread_main", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    *flag = pthread_equal(starter, pthread_self()) != 0;
    return {};
  });
}

}  // namespace impl_when_served
}  // namespace shim::intercept
