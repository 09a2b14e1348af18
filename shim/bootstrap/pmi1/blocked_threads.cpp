// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/blocked_threads.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "shim/base/clock.hpp"
#include "shim/base/files.hpp"
#include "shim/base/parsing.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

namespace fs = std::filesystem;

std::vector<pid_t> threads() {
  std::vector<pid_t> found;
  for (const std::string& task : base::names_in("/proc/self/task"))
    if (const auto thread = base::number_in<pid_t>(task)) found.push_back(*thread);
  return found;
}

std::string path_of(pid_t thread, const char* file) {
  return "/proc/self/task/" + std::to_string(thread) + "/" + file;
}

bool uses_its_first_argument(long call) {
  constexpr long kCalls[] = {SYS_read,     SYS_write,  SYS_readv,   SYS_writev,
                             SYS_recvfrom, SYS_sendto, SYS_recvmsg, SYS_sendmsg};
  return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

enum class BlockedOn { on_descriptor, elsewhere, unknown };

/// Parse /proc's "NUMBER ARGUMENT ..." of the call that a thread sleeps in, or "running".
BlockedOn blocked_on(pid_t thread, int number) {
  std::istringstream file(base::read_file(path_of(thread, "syscall")).value_or(std::string()));
  long call = -1;
  std::string argument;
  if (!(file >> call))
    return fs::exists(path_of(thread, "")) ? BlockedOn::unknown : BlockedOn::elsewhere;
  if (!uses_its_first_argument(call)) return BlockedOn::elsewhere;
  file >> argument;
  return std::strtol(argument.c_str(), nullptr, 0) == number ? BlockedOn::on_descriptor
                                                             : BlockedOn::elsewhere;
}

bool blocks(pid_t thread, int signal) {
  std::istringstream file(base::read_file(path_of(thread, "status")).value_or(std::string()));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("SigBlk:"))
      return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
  return false;
}

/// Record the thread that ran the handler, in the word sent with the signal. The signal's delivery
/// orders the access, which the thread sanitizer does not know.
[[gnu::no_sanitize_thread]] void on_signal(int, siginfo_t* info, void*) {
  const int kept = errno;
  // other code may send this signal, too
  if (info->si_code == SI_QUEUE && info->si_pid == ::getpid())
    __atomic_store_n(static_cast<pid_t*>(info->si_value.sival_ptr), ::gettid(),
                     __ATOMIC_RELEASE);  // pairs with has_run_handler()
  errno = kept;
}

// The thread sanitizer runs a handler only when the interrupted call returns, so with it such calls
// must return.
#ifdef __SANITIZE_THREAD__
constexpr int kRestartFlag = 0;
#else
constexpr int kRestartFlag = SA_RESTART;
#endif

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

/// Return a signal without a handler of the program; 0 if there is none.
int free_signal() {
  for (int candidate : {SIGURG, SIGWINCH}) {
    struct sigaction now {};
    if (::sigaction(candidate, nullptr, &now) != 0) continue;
    const bool is_free = (now.sa_flags & SA_SIGINFO) == 0 &&
                         (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
    if (is_free || is_ours(now)) return candidate;
  }
  return 0;
}

/// Installs the signal's handler during its lifetime.
class Handler {
 public:
  ~Handler() {
    if (is_in_place()) ::sigaction(signal_, &before_, nullptr);
  }
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  /// Return the signal; 0 if the program uses all of them. Installs the handler again if another
  /// Connection, whose handler is the same function, has restored the old disposition.
  int signal() {
    if (is_in_place()) return signal_;
    signal_ = free_signal();
    if (signal_ == 0) return 0;
    struct sigaction handler {};
    handler.sa_sigaction = on_signal;
    handler.sa_flags = SA_SIGINFO | kRestartFlag;
    ::sigemptyset(&handler.sa_mask);
    ::sigaction(signal_, &handler, &before_);
    if (is_ours(before_)) before_ = {};  // the default action, which ignores the signal
    return signal_;
  }

 private:
  bool is_in_place() const {
    struct sigaction now {};
    return signal_ != 0 && ::sigaction(signal_, nullptr, &now) == 0 && is_ours(now);
  }
  int signal_ = 0;
  struct sigaction before_ {};
};

/// A thread that may be blocked on the old file.
class BlockedThread {
 public:
  /// @param left_flag word in which the signal handler stores the thread's id, which shows that the
  /// thread is in no call on the old file
  BlockedThread(pid_t thread, pid_t* left_flag) : thread_(thread), left_flag_(left_flag) {
    __atomic_store_n(left_flag_, 0, __ATOMIC_RELAXED);
  }

  bool was_seen_on_descriptor() const { return was_seen_; }
  bool is_redirected(int number, int signal) {
    if (has_run_handler()) return true;
    const BlockedOn now = blocked_on(thread_, number);
    if (now == BlockedOn::elsewhere) return true;
    was_seen_ = was_seen_ || now == BlockedOn::on_descriptor;
    const bool blocks_signal = signal == 0 || blocks(thread_, signal);
    if (!blocks_signal) send(signal);
    return blocks_signal && !was_seen_ && watch_until_.passed();
  }

 private:
  static constexpr double kResendSeconds = 0.1;
  bool has_run_handler() const {
    return __atomic_load_n(left_flag_, __ATOMIC_ACQUIRE) == thread_;
  }  // pairs with on_signal
  /// Send the signal. Fails if the thread has just ended, which the next check detects, or if too
  /// many signals are queued; then the caller retries.
  void send(int signal) {
    if (is_sent_ && !resend_at_.passed()) return;
    siginfo_t info{};
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_pid = ::getpid();
    info.si_uid = ::getuid();
    info.si_value.sival_ptr = left_flag_;
    is_sent_ = ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread_, signal, &info) == 0;
    resend_at_ = base::Deadline::after_seconds(kResendSeconds);
  }

  pid_t thread_;
  pid_t* left_flag_;
  base::Deadline watch_until_ = base::Deadline::after_seconds(0.1), resend_at_ = watch_until_;
  bool was_seen_ = false, is_sent_ = false;
};

base::Error redirect_error(bool on_descriptor) {
  return base::Error(
      base::ErrorClass::other,
      on_descriptor
          ? "another thread of this process waits for the launcher (for example in MPI_Init) and "
            "cannot be interrupted, because it blocks SIGURG or the program handles both SIGURG "
            "and SIGWINCH; begin the first session before or after that call"
          : "a thread of this process did not handle a signal in time; the machine may be "
            "overloaded");
}

}  // namespace

bool is_single_threaded() { return threads().size() == 1; }

std::vector<pid_t> threads_blocked_on(int descriptor) {
  std::vector<pid_t> found;
  for (pid_t thread : threads())
    if (thread != ::gettid() && blocked_on(thread, descriptor) == BlockedOn::on_descriptor)
      found.push_back(thread);
  return found;
}

base::Status ThreadInterrupter::redirect_blocked_threads(int number, double seconds) {
  constexpr std::size_t kBytes = 4096, kWords = kBytes / sizeof(pid_t);
  if (words_ == nullptr) {
    void* page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                        0);
    if (page == MAP_FAILED)
      return base::system_error(errno, "cannot allocate memory to interrupt threads");
    words_ = static_cast<pid_t*>(page);
  }
  std::set<pid_t> known = {::gettid()};
  std::vector<BlockedThread> candidates;
  const auto list = [&] {
    for (pid_t thread : threads())
      if (known.insert(thread).second)
        candidates.emplace_back(thread, words_ + static_cast<std::size_t>(thread) % kWords);
  };
  Handler handler;
  const auto deadline = base::Deadline::from_setting(seconds);
  // Later threads use the number's new file. List twice, because the kernel's list may omit a
  // thread when another one ends meanwhile.
  for (int listing = 0; listing < 2; ++listing) {
    list();
    while (true) {
      std::erase_if(candidates, [&](BlockedThread& thread) {
        return thread.is_redirected(number, handler.signal());
      });
      if (candidates.empty()) break;
      if (deadline.passed())
        return redirect_error(
            std::any_of(candidates.begin(), candidates.end(),
                        [](const BlockedThread& one) { return one.was_seen_on_descriptor(); }));
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return {};
}

}  // namespace shim::bootstrap::pmi1
