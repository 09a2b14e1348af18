// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/readers.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
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
Thread::State state_of(pid_t thread, int descriptor) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  long call = -1;
  std::string argument;
  if (!(file >> call >> argument)) return Thread::State::running;
  const bool is_reading = (call == SYS_read || call == SYS_recvfrom) && std::strtol(argument.c_str(), nullptr, 0) == descriptor;
  return is_reading ? Thread::State::reading : Thread::State::elsewhere;
}

/// That the signal comes after it was sent is order enough for its word of memory, and the thread sanitizer does not know it.
[[gnu::no_sanitize_thread]] void take_note(int, siginfo_t* info, void*) {
  const int kept = errno;
  // others may send this signal too
  if (info->si_code == SI_QUEUE && info->si_pid == ::getpid())
    __atomic_store_n(static_cast<pid_t*>(info->si_value.sival_ptr), ::gettid(), __ATOMIC_RELEASE);  // pairs with interrupt()
  errno = kept;
}

pid_t* make_word() {
  void* page = ::mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) pid_t(0);
}

/// The handler is in place as long as this lives.
class Handler {
 public:
  explicit Handler(int flags) {
    for (int candidate : {SIGURG, SIGWINCH})
      if (install(candidate, flags)) return;
  }
  ~Handler() {
    if (signal_ != 0) ::sigaction(signal_, &before_, nullptr);
  }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  /// 0 where the program has its own use for all of them.
  int signal() const { return signal_; }

 private:
  bool install(int candidate, int flags) {
    if (::sigaction(candidate, nullptr, &before_) != 0) return false;
    const bool is_ours = (before_.sa_flags & SA_SIGINFO) != 0 && before_.sa_sigaction == take_note;  // another's of the same moment
    const bool is_free = (before_.sa_flags & SA_SIGINFO) == 0 && (before_.sa_handler == SIG_DFL || before_.sa_handler == SIG_IGN);
    if (!is_ours && !is_free) return false;
    if (is_ours) before_ = {};  // the default, which is the same as to ignore
    struct sigaction handler {};
    handler.sa_sigaction = take_note;
    handler.sa_flags = SA_SIGINFO | flags;
    ::sigemptyset(&handler.sa_mask);
    if (::sigaction(candidate, &handler, nullptr) == 0) signal_ = candidate;
    return signal_ != 0;
  }
  int signal_ = 0;
  struct sigaction before_ {};
};

}  // namespace

bool is_single_threaded() { return threads().size() == 1; }

std::vector<Thread> other_threads(int descriptor) {
  std::vector<Thread> found;
  for (pid_t thread : threads())
    if (thread != ::gettid()) found.push_back({state_of(thread, descriptor), thread});
  return found;
}

std::vector<pid_t> readers_of(int descriptor) {
  std::vector<pid_t> found;
  for (const auto& [state, thread] : other_threads(descriptor))
    if (state == Thread::State::reading) found.push_back(thread);
  return found;
}

bool Interruption::interrupt(const Thread& thread) {
  constexpr double kSoon = 0.02;  // a thread that sleeps wakes at once, unless it blocks the signal
  // A read(2) that is begun anew inside the kernel does so unseen by tools that hold handlers back until a call returns.
  const Handler handler(thread.state == Thread::State::reading ? 0 : SA_RESTART);
  if (handler.signal() == 0) return false;
  if (last_ == nullptr) last_ = make_word();
  if (last_ == nullptr) return false;
  __atomic_store_n(last_, 0, __ATOMIC_RELAXED);
  siginfo_t info{};
  info.si_signo = handler.signal();
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = last_;
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread.id, handler.signal(), &info) != 0) return true;  // it has ended
  const auto deadline = base::Deadline::after_seconds(kSoon);
  while (__atomic_load_n(last_, __ATOMIC_ACQUIRE) != thread.id) {
    if (deadline.passed()) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace shim::bootstrap::pmi1
