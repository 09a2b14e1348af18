// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/activity.hpp"

#include <pthread.h>

#include <atomic>

#include "shim/base/settings.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

// Written while the substrate starts, before the table is switched (release); read after the switch
// was seen (acquire).
constinit std::atomic<int> level{MPI_THREAD_SINGLE};
/// The thread that has initialised the substrate. 0: unknown, because the substrate was initialised
/// before this library was loaded; then set by that thread's first is_main_thread().
constinit std::atomic<pthread_t> main_thread{0};

/// Called after activity was detected; null: no function.
constinit std::atomic<void (*)()> detection_listener{nullptr};

/// True for the tables that forward calls to the initialised substrate.
bool is_of_active(const Table* table) noexcept {
  return table != &inactive_table && table != &served_table;
}

void activate(int thread_level, pthread_t initialiser) {
  level.store(thread_level, std::memory_order_relaxed);
  main_thread.store(initialiser, std::memory_order_relaxed);
  current_table.store(&active_table, std::memory_order_seq_cst);
}

/// True if this thread has initialised the substrate.
bool is_main_thread() noexcept {
  const pthread_t self = pthread_self();
  if (const pthread_t known = main_thread.load(std::memory_order_relaxed); known != 0)
    return pthread_equal(known, self);
  int flag = 0;
  active_table.Is_thread_main(&flag);  // any thread may call it
  if (flag != 0) main_thread.store(self, std::memory_order_relaxed);
  return flag != 0;
}

}  // namespace

bool is_native_only() noexcept {
  static const bool chosen = [] {
    auto settings = base::read_settings();
    return settings && settings->native;
  }();
  return chosen;
}

bool is_served_world_selected() noexcept {
  static const bool chosen = base::from_environment("INTERSESSION_WORLD") == "sessions" &&
                             !is_native_only();
  return chosen;
}

base::Status check_world_setting() {
  // a program without sessions reads no other setting
  if (!base::from_environment("INTERSESSION_WORLD")) return {};
  SHIM_TRY(base::read_settings());
  return {};
}

void switch_to_served_table() { current_table.store(&served_table, std::memory_order_release); }

bool is_served_table_current() noexcept {
  return current_table.load(std::memory_order_acquire) == &served_table;
}

bool is_active() noexcept { return is_of_active(current_table.load(std::memory_order_acquire)); }

bool detect_activity() {
  if (is_active()) return true;
  if (is_native_only()) {
    current_table.store(&active_table, std::memory_order_release);
    return true;
  }
  if (is_served_world_selected() || !has_substrate()) return false;
  int initialized = 0, finalized = 0;
  active_table.Initialized(&initialized);
  active_table.Finalized(&finalized);
  if (initialized == 0 || finalized != 0) return false;
  int provided = MPI_THREAD_SINGLE;
  active_table.Query_thread(&provided);
  activate(provided, 0);
  // seq_cst, like the store of the table and both accesses in on_activity_detected(): the listener
  // is seen here, or the table there
  if (auto* const call = detection_listener.load(std::memory_order_seq_cst)) call();
  return true;
}

bool on_activity_detected(void (*call)()) {
  detection_listener.store(call, std::memory_order_seq_cst);
  return is_of_active(current_table.load(std::memory_order_seq_cst));
}

void enter_active(int thread_level) { activate(thread_level, pthread_self()); }

void enter_inactive() { current_table.store(&inactive_table, std::memory_order_release); }

bool may_call_substrate() noexcept {
  if (!is_active()) return false;
  int provided = level.load(std::memory_order_relaxed);
  if (provided == MPI_THREAD_MULTIPLE) return true;
  // MPI_THREAD_SERIALIZED: the program serialises its calls on the substrate's objects, but not
  // those on ours
  return provided <= MPI_THREAD_FUNNELED && is_main_thread();
}

}  // namespace shim::intercept
