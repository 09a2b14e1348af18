// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/readers.hpp"

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

namespace shim::bootstrap::pmi1 {
namespace {

namespace fs = std::filesystem;

std::vector<pid_t> threads() {
  std::vector<pid_t> found;
  for (const std::string& task : base::names_in("/proc/self/task")) found.push_back(std::atoi(task.c_str()));
  return found;
}

std::string path_of(pid_t thread, const char* file) { return "/proc/self/task/" + std::to_string(thread) + "/" + file; }

bool uses_its_first_argument(long call) {
  constexpr long kCalls[] = {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_recvfrom, SYS_sendto, SYS_recvmsg, SYS_sendmsg};
  return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

enum class Whereabouts { on_the_number, elsewhere, unknown };

/// The kernel shows "NUMBER ARGUMENT ..." of the call that a thread sleeps in, and "running" of one that does not sleep.
Whereabouts whereabouts(pid_t thread, int number) {
  std::istringstream file(base::read_file(path_of(thread, "syscall")).value_or(std::string()));
  long call = -1;
  std::string argument;
  if (!(file >> call)) return fs::exists(path_of(thread, "")) ? Whereabouts::unknown : Whereabouts::elsewhere;
  if (!uses_its_first_argument(call)) return Whereabouts::elsewhere;
  file >> argument;
  return std::strtol(argument.c_str(), nullptr, 0) == number ? Whereabouts::on_the_number : Whereabouts::elsewhere;
}

bool blocks(pid_t thread, int signal) {
  std::istringstream file(base::read_file(path_of(thread, "status")).value_or(std::string()));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("SigBlk:")) return (std::strtoull(line.c_str() + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
  return false;
}

/// Says which thread has run it, in the word that came with the signal. That the signal comes after it was sent is order enough for
/// the word, and the thread sanitizer does not know it.
[[gnu::no_sanitize_thread]] void take_note(int, siginfo_t* info, void*) {
  const int kept = errno;
  if (info->si_code == SI_QUEUE && info->si_pid == ::getpid())  // others may send this signal too
    __atomic_store_n(static_cast<pid_t*>(info->si_value.sival_ptr), ::gettid(), __ATOMIC_RELEASE);  // pairs with has_left()
  errno = kept;
}

// The thread sanitizer runs a handler when the call that it has interrupted returns, so there such calls must return.
#ifdef __SANITIZE_THREAD__
constexpr int kCallsGoOn = 0;
#else
constexpr int kCallsGoOn = SA_RESTART;
#endif

bool is_ours(const struct sigaction& action) { return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == take_note; }

/// A signal that the program has no handler for; 0 if there is none.
int free_signal() {
  for (int candidate : {SIGURG, SIGWINCH}) {
    struct sigaction now {};
    if (::sigaction(candidate, nullptr, &now) != 0) continue;
    const bool is_free = (now.sa_flags & SA_SIGINFO) == 0 && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
    if (is_free || is_ours(now)) return candidate;
  }
  return 0;
}

/// The signal's handler while it lives.
class Handler {
 public:
  ~Handler() {
    if (is_in_place()) ::sigaction(signal_, &before_, nullptr);
  }
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  /// 0 where the program has its own use for all of them. Another Connection may have taken the handler away with its own.
  int signal() {
    if (is_in_place()) return signal_;
    signal_ = free_signal();
    if (signal_ == 0) return 0;
    struct sigaction handler {};
    handler.sa_sigaction = take_note;
    handler.sa_flags = SA_SIGINFO | kCallsGoOn;
    ::sigemptyset(&handler.sa_mask);
    ::sigaction(signal_, &handler, &before_);
    if (is_ours(before_)) before_ = {};  // the default, which is the same as to ignore
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

/// A thread that may be with the old file.
class Suspect {
 public:
  /// note: where the thread writes its id. What it writes from now on, it writes with the change made.
  Suspect(pid_t thread, pid_t* note) : thread_(thread), note_(note) { __atomic_store_n(note_, 0, __ATOMIC_RELAXED); }

  bool was_seen_on_the_number() const { return was_seen_; }
  bool is_over(int number, int signal) {
    if (has_left()) return true;
    const Whereabouts now = whereabouts(thread_, number);
    if (now == Whereabouts::elsewhere) return true;
    was_seen_ = was_seen_ || now == Whereabouts::on_the_number;
    const bool is_deaf = signal == 0 || blocks(thread_, signal);
    if (!is_deaf) send(signal);
    return is_deaf && !was_seen_ && watched_.passed();
  }

 private:
  static constexpr double kAgainSeconds = 0.1;
  bool has_left() const { return __atomic_load_n(note_, __ATOMIC_ACQUIRE) == thread_; }  // pairs with take_note
  /// Fails where the thread has just ended, which is seen next time, or where too many signals are queued: then again.
  void send(int signal) {
    if (is_sent_ && !again_.passed()) return;
    siginfo_t info{};
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_pid = ::getpid();
    info.si_uid = ::getuid();
    info.si_value.sival_ptr = note_;
    is_sent_ = ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread_, signal, &info) == 0;
    again_ = base::Deadline::after_seconds(kAgainSeconds);
  }

  pid_t thread_;
  pid_t* note_;
  base::Deadline watched_ = base::Deadline::after_seconds(0.1), again_ = watched_;
  bool was_seen_ = false, is_sent_ = false;
};

base::Error stuck(bool on_the_number) {
  return base::Error(base::ErrorClass::other,
                     on_the_number ? "another thread of this process waits for the launcher in MPI_Init or the like, and cannot be "
                                     "interrupted because it blocks SIGURG or the program has handlers for SIGURG and SIGWINCH: begin the "
                                     "first session before or after it"
                                   : "a thread of this process has not taken a signal in time; the machine may be overloaded");
}

}  // namespace

bool is_single_threaded() { return threads().size() == 1; }

std::vector<pid_t> readers_of(int descriptor) {
  std::vector<pid_t> found;
  for (pid_t thread : threads())
    if (thread != ::gettid() && whereabouts(thread, descriptor) == Whereabouts::on_the_number) found.push_back(thread);
  return found;
}

base::Status Interruption::bring_readers_over(int number, double seconds) {
  constexpr std::size_t kBytes = 4096, kNotes = kBytes / sizeof(pid_t);
  if (notes_ == nullptr) {
    void* page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return base::system_error(errno, "no memory to interrupt threads with");
    notes_ = static_cast<pid_t*>(page);
  }
  std::set<pid_t> known = {::gettid()};
  std::vector<Suspect> suspects;
  const auto list = [&] {
    for (pid_t thread : threads())
      if (known.insert(thread).second) suspects.emplace_back(thread, notes_ + static_cast<std::size_t>(thread) % kNotes);
  };
  Handler handler;
  const auto deadline = base::Deadline::from_setting(seconds);
  // Threads that begin later begin with what the number means now. The kernel's list may leave one out when another ends meanwhile.
  for (int listing = 0; listing < 2; ++listing) {
    list();
    while (true) {
      std::erase_if(suspects, [&](Suspect& suspect) { return suspect.is_over(number, handler.signal()); });
      if (suspects.empty()) break;
      if (deadline.passed())
        return stuck(std::any_of(suspects.begin(), suspects.end(), [](const Suspect& one) { return one.was_seen_on_the_number(); }));
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return {};
}

}  // namespace shim::bootstrap::pmi1
