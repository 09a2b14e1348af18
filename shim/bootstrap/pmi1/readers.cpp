// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/readers.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "shim/base/clock.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

namespace fs = std::filesystem;

std::vector<pid_t> threads() {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator task("/proc/self/task", error); !error && task != fs::directory_iterator(); task.increment(error))
    found.push_back(std::atoi(task->path().filename().c_str()));
  return found;
}

/// "NUMBER ARGUMENT ..." of the call that a sleeping thread is in; "running" of one that does not sleep.
bool is_reading(pid_t thread, int descriptor) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  long call = -1;
  std::string argument;
  if (!(file >> call >> argument)) return false;
  return (call == SYS_read || call == SYS_recvfrom) && std::strtol(argument.c_str(), nullptr, 0) == descriptor;
}

void take_note(int, siginfo_t* info, void*) {
  if (info->si_code != SI_QUEUE || info->si_pid != ::getpid()) return;  // somebody else's
  auto* count = static_cast<std::atomic<int>*>(info->si_value.sival_ptr);
  count->fetch_add(1, std::memory_order_release);  // pairs with the acquire in interrupt()
}

/// A signal that the program has no handler for.
int free_signal() {
  for (int candidate : {SIGURG, SIGWINCH}) {
    struct sigaction now {};
    if (::sigaction(candidate, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
        (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
      return candidate;
  }
  return 0;
}

}  // namespace

bool is_single_threaded() { return threads().size() == 1; }

std::vector<pid_t> readers_of(int descriptor) {
  std::vector<pid_t> found;
  for (pid_t thread : threads())
    if (thread != ::gettid() && is_reading(thread, descriptor)) found.push_back(thread);
  return found;
}

struct Interruption::Handler {
  int signal = 0;
  struct sigaction before {};
  std::atomic<int> count{0};
};

Interruption::Interruption() : handler_(std::make_unique<Handler>()) {
  const int signal = free_signal();
  if (signal == 0) return;
  struct sigaction handler {};
  handler.sa_sigaction = take_note;
  handler.sa_flags = SA_SIGINFO;  // no SA_RESTART: that is the purpose
  ::sigemptyset(&handler.sa_mask);
  if (::sigaction(signal, &handler, &handler_->before) == 0) handler_->signal = signal;
}

Interruption::~Interruption() {
  if (handler_->signal != 0) ::sigaction(handler_->signal, &handler_->before, nullptr);
}

bool Interruption::interrupt(pid_t thread) {
  if (done_.contains(thread)) return true;
  if (handler_->signal == 0) return false;
  const int before = handler_->count.load(std::memory_order_acquire);
  siginfo_t info{};
  info.si_signo = handler_->signal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = &handler_->count;
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, handler_->signal, &info) != 0) return true;  // it has ended
  const auto deadline = base::Deadline::after_seconds(1);  // a thread that sleeps wakes at once, unless it blocks the signal
  while (handler_->count.load(std::memory_order_acquire) == before && !deadline.passed()) std::this_thread::yield();
  const bool has_left = handler_->count.load(std::memory_order_acquire) != before;
  if (has_left) done_.insert(thread);
  return has_left;
}

}  // namespace shim::bootstrap::pmi1
