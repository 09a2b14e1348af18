// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/progress_thread.hpp"

#include <chrono>
#include <system_error>

#include "shim/base/signals_blocked.hpp"
#include "shim/intercept/sharing.hpp"

namespace shim::intercept {
namespace {

/// Between two looks. A call that takes longer may be waiting for a message of ours.
constexpr std::chrono::microseconds kTick{100};
/// Rounds at a time: what a peer sends comes in several.
constexpr int kRoundsPerTick = 8;
/// Ticks without a call after which the thread sleeps until there is one.
constexpr int kQuietTicks = 1000;

}  // namespace

std::unique_ptr<ProgressThread> ProgressThread::make(p2p::Engines& engines, CallsBelow& calls, const base::Log& log) try {
  return std::unique_ptr<ProgressThread>(new ProgressThread(engines, calls));
} catch (const std::system_error& error) {
  log.write(base::LogLevel::warn,
            std::string("no thread can be made to move messages of sessions while this process waits in a call of the MPI below: ") +
                error.what() + "; others may wait for them until it is back in a call on a session. See ulimit -u and ulimit -s");
  return nullptr;
}

ProgressThread::ProgressThread(p2p::Engines& engines, CallsBelow& calls) : engines_(engines), calls_(calls) {
  base::SignalsBlocked blocked;  // the new thread begins with the mask of its maker
  thread_ = std::thread([this] { run(); });
}

ProgressThread::~ProgressThread() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
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
  keep_to_ours();
  int quiet = 0;
  unsigned last = calls_.begun.load();
  while (sleep()) {
    const unsigned call = calls_.begun.load();
    const bool is_waiting = call == last && calls_.inside.load() > 0;
    for (int round = 0; is_waiting && round < kRoundsPerTick; ++round) static_cast<void>(engines_.progress());
    quiet = call == last && !is_waiting ? quiet + 1 : 0;
    last = call;
    if (quiet < kQuietTicks) continue;
    park(call);
    quiet = 0;
  }
}

void ProgressThread::park(unsigned call) {
  std::unique_lock lock(mutex_);
  is_parked_.store(true);
  changed_.wait(lock, [&] { return is_over_ || calls_.begun.load() != call; });
  is_parked_.store(false);
}

}  // namespace shim::intercept
