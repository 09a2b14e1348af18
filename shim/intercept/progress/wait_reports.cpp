// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/progress/wait_reports.hpp"

#include <signal.h>

#include <atomic>
#include <string>
#include <string_view>

#include "shim/base/call_site.hpp"
#include "shim/intercept/progress/entry_names.hpp"

namespace shim::intercept {
namespace {

/// Number of report signals so far; blocked threads compare it before each sleep.
constinit std::atomic<std::uint32_t> requests{0};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);  // for the handler

/// The handler that the program, or a library like MPICH, had installed; called after ours.
struct sigaction previous_action {};

void on_signal(int signal, siginfo_t* info, void* context) {
  requests.fetch_add(1, std::memory_order_relaxed);
  if ((previous_action.sa_flags & SA_SIGINFO) != 0)
    previous_action.sa_sigaction(signal, info, context);
  else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
    previous_action.sa_handler(signal);
}

/// Return the name of the MPI function that the calling thread is in. Only for slow paths: reads
/// the stack.
std::string current_call() {
  for (void* address : base::current_call_site()) {
    std::string_view name = name_of_entry(base::function_of(address));
    if (name.empty()) name = base::exported_name_of(address);  // of a function without overload
    if (name.starts_with("PMPI")) name.remove_prefix(1);       // both names have one address
    if (name.starts_with("MPI_") || name.starts_with("MPIX_")) return std::string(name);
  }
  return {};
}

}  // namespace

p2p::WaitReports wait_reports() { return {.requests = &requests, .current_call = current_call}; }

void report_on_signal(int signal) {
  if (signal == 0) return;
  struct sigaction present {};
  if (::sigaction(signal, nullptr, &present) != 0) return;  // no such signal: settings check it
  if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == on_signal) return;
  previous_action = present;
  struct sigaction wanted {};
  wanted.sa_sigaction = on_signal;
  wanted.sa_flags = SA_RESTART | SA_SIGINFO;
  // the previous action runs inside this one
  wanted.sa_flags |= present.sa_flags & SA_ONSTACK;
  wanted.sa_mask = present.sa_mask;
  ::sigaction(signal, &wanted, nullptr);
}

}  // namespace shim::intercept
