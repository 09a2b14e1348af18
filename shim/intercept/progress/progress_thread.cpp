// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/progress/progress_thread.hpp"

#include <chrono>
#include <system_error>

#include "shim/base/signals_blocked.hpp"
#include "shim/intercept/progress/progress_coupling.hpp"

namespace shim::intercept {
namespace {

/// Polling period. A call that takes longer may be waiting for a message of ours.
constexpr std::chrono::microseconds kTick{100};
/// Rounds in each period, because a peer's message needs several.
constexpr int kRoundsPerTick = 8;
/// Periods without a call after which the thread sleeps until the next call.
constexpr int kQuietTicks = 1000;

}  // namespace

std::unique_ptr<ProgressThread> ProgressThread::make(p2p::Engines& engines, NativeCallCounts& calls,
                                                     const base::Log& log) try {
  return std::unique_ptr<ProgressThread>(new ProgressThread(engines, calls));
} catch (const std::system_error& error) {
  log.write(base::LogLevel::warn, std::string("cannot create the progress thread of sessions: ") +
                                      error.what() +
                                      "; while this process is in a native MPI call, session "
                                      "messages make no progress. Check ulimit -u and ulimit -s");
  return nullptr;
}

ProgressThread::ProgressThread(p2p::Engines& engines, NativeCallCounts& calls)
    : engines_(engines), calls_(calls) {
  std::lock_guard lock(mutex_);  // the new thread may replace itself at once
  thread_ = make_thread();
}

std::thread ProgressThread::make_thread() {
  base::SignalsBlocked blocked;  // the new thread inherits the signal mask
  return std::thread([this] { run(); });
}

ProgressThread::~ProgressThread() {
  std::thread last;
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
    last = std::move(thread_);
  }
  changed_.notify_one();
  last.join();
}

/// Exists on the thread's stack while the thread runs.
class ProgressThread::ReplacedOnUnwind {
 public:
  explicit ReplacedOnUnwind(ProgressThread& owner) : owner_(owner) {}
  ~ReplacedOnUnwind() {
    if (!has_returned) owner_.start_replacement();
  }
  ReplacedOnUnwind(const ReplacedOnUnwind&) = delete;
  ReplacedOnUnwind& operator=(const ReplacedOnUnwind&) = delete;
  bool has_returned = false;

 private:
  ProgressThread& owner_;
};

void ProgressThread::start_replacement() noexcept {
  std::lock_guard lock(mutex_);
  if (is_over_) return;
  try {
    std::thread replacement = make_thread();
    // The calling thread does not access the object after it has released the lock.
    thread_.detach();
    thread_ = std::move(replacement);
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): no thread can be created
  }
}

void ProgressThread::wake() noexcept {
  std::lock_guard lock(mutex_);
  changed_.notify_one();
}

bool ProgressThread::sleep() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kTick, [this] { return is_over_; });
  return !is_over_;
}

void ProgressThread::run() {
  ReplacedOnUnwind guard(*this);
  disable_native_polling();
  int quiet = 0;
  unsigned last = calls_.begun.load();
  while (sleep()) {
    const unsigned call = calls_.begun.load();
    const bool is_waiting = call == last && calls_.inside.load() > 0;
    for (int round = 0; is_waiting && round < kRoundsPerTick; ++round)
      static_cast<void>(engines_.progress());
    quiet = call == last && !is_waiting ? quiet + 1 : 0;
    last = call;
    if (quiet < kQuietTicks) continue;
    sleep_until_call(call);
    quiet = 0;
  }
  guard.has_returned = true;
}

void ProgressThread::sleep_until_call(unsigned call) {
  std::unique_lock lock(mutex_);
  is_sleeping_.store(true);
  changed_.wait(lock, [&] { return is_over_ || calls_.begun.load() != call; });
  is_sleeping_.store(false);
}

}  // namespace shim::intercept
