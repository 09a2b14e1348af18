// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/world/served_world.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

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

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::CommunicatorPtr;

using State = ServedWorldState;

struct ServedWorld {
  std::mutex mutex;  ///< held while the communicators are made, and the state changes
  std::atomic<pthread_t> main_thread{0};
};
/// Never destroyed: programs call MPI in exit handlers.
ServedWorld& served() {
  static ServedWorld& made = *new ServedWorld;
  return made;
}

State state() { return world_comms.state.load(std::memory_order_acquire); }

struct Predefined {
  const char* name;
  const char* pset;
  std::atomic<MPI_Comm>& served;
};
Predefined world() { return {"MPI_COMM_WORLD", "mpi://WORLD", world_comms.world}; }
Predefined self() { return {"MPI_COMM_SELF", "mpi://SELF", world_comms.self}; }

/// Make the communicator that serves a predefined one, unless it is made. The caller holds the
/// mutex.
base::Status make(const Predefined& comm, const sessions::SessionPtr& session) {
  if (!abi::is_unset(comm.served.load(std::memory_order_relaxed))) return {};
  SHIM_TRY_ASSIGN(sessions::GroupPtr group, session->group_of_pset(comm.pset));
  SHIM_TRY_ASSIGN(
      CommunicatorPtr made,
      sessions::create_from_group(session, std::move(group),
                                  std::string("intersession://") + comm.name, nullptr, nullptr));
  made->set_name(comm.name);
  SHIM_TRY_ASSIGN(const MPI_Comm handle, objects.comms.insert(std::move(made)));
  comm.served.store(handle, std::memory_order_release);
  return {};
}

/// Free the communicator that serves a predefined one.
void free_served(const Predefined& comm) {
  const MPI_Comm handle = comm.served.exchange(MPI_Comm{}, std::memory_order_acq_rel);
  if (abi::is_unset(handle)) return;
  static_cast<void>(free_comm_handle(handle));  // no other code frees it
}

base::Status delete_attributes_of(const Predefined& comm) {
  const MPI_Comm handle = comm.served.load(std::memory_order_acquire);
  if (abi::is_unset(handle)) return {};
  SHIM_TRY_ASSIGN(CommunicatorPtr found, get_comm(handle));
  return delete_attributes(
      {sessions::KeyFor::communicator, abi::bits(programs_handle(handle)), found->attributes()});
}

/// Refuse a process that a native MPI_Comm_spawn has started: its parent waits for a native
/// MPI_Init.
base::Status check_not_spawned() {
  if (std::getenv(abi::kSpawnedVariable) == nullptr) return {};
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

}  // namespace

base::Status start_served_world(int level) {
  ServedWorld& model = served();
  {
    std::lock_guard lock(model.mutex);
    if (state() != State::not_started)
      return Error(ErrorClass::other, state() == State::ended
                                          ? "called after MPI_Finalize"
                                          : "MPI_Init or MPI_Init_thread was already called");
    world_comms.state.store(State::starting, std::memory_order_release);
  }
  // the state stays "starting" after an error: a second attempt is an error, too
  SHIM_TRY(check_not_spawned());
  SHIM_TRY(require_substrate());
  SHIM_TRY_ASSIGN(sessions::SessionPtr session, make_session());
  SHIM_TRY_ASSIGN(sessions::Process* const process, session->process());
  warn_if_native_library_runs(*process);
  std::lock_guard lock(model.mutex);
  SHIM_TRY(make(world(), session));
  SHIM_TRY(make(self(), session));
  world_comms.level.store(level, std::memory_order_relaxed);
  world_comms.size.store(static_cast<int>(process->bootstrap().job().size),
                         std::memory_order_relaxed);
  model.main_thread.store(pthread_self(), std::memory_order_relaxed);
  world_comms.state.store(State::started, std::memory_order_release);
  enter_served();
  return {};
}

base::Status end_served_world() {
  ServedWorld& model = served();
  if (state() != State::started)
    return Error(ErrorClass::other,
                 state() == State::ended ? "called before" : "called before MPI_Init has returned");
  SHIM_TRY(delete_attributes_of(self()));
  SHIM_TRY(delete_attributes_of(world()));
  const auto process = living_process();
  std::lock_guard lock(model.mutex);
  if (process && !process->vcis().flush(process->settings().ready_timeout))
    process->log().write(base::LogLevel::warn,
                         "MPI_Finalize: the program has unreceived sends, or unmatched receives "
                         "freed by MPI_Request_free; their data is lost");
  free_served(self());
  free_served(world());
  world_comms.state.store(State::ended, std::memory_order_release);
  return {};
}

base::Status release_served_comms_without_session() {
  ServedWorld& model = served();
  if (state() != State::not_started || any_open_session()) return {};
  SHIM_TRY(delete_attributes_of(self()));  // without the mutex: the program's functions run
  SHIM_TRY(delete_attributes_of(world()));
  std::lock_guard lock(model.mutex);
  if (state() != State::not_started || any_open_session()) return {};
  free_served(self());
  free_served(world());
  return {};
}

int make_served_comm(const Subject& subject, const char* function, MPI_Comm& comm) {
  const Predefined wanted = comm == MPI_Comm(abi::predefined.comm_world) ? world() : self();
  const auto made = [&]() -> base::Status {
    if (state() == State::ended) return {};  // the inactive table has the error
    if (!any_open_session()) return {};
    std::lock_guard lock(served().mutex);
    // of their own: MPI_Session_finalize reports the objects of the program's session
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
    *flag = state() != State::not_started || any_open_session() != nullptr;
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
  const pthread_t starter = served().main_thread.load(std::memory_order_relaxed);
  if (starter == 0) return impl_when_inactive::Is_thread_main(flag);
  return run_with_handler(Subject(), "MPI_Is_thread_main", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    *flag = pthread_equal(starter, pthread_self()) != 0;
    return {};
  });
}

}  // namespace impl_when_served
}  // namespace shim::intercept
