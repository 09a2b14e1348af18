// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/mpirun/backend.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/arguments.hpp"
#include "shim/bootstrap/exponential_backoff.hpp"
#include "shim/bootstrap/pending.hpp"
#include "shim/bootstrap/pmix/backend.hpp"

namespace shim::bootstrap::mpirun {
namespace {

constexpr double kConnectToAbortSeconds = 5;

/// 20 µs to 5 ms: shorter than the pauses between requests to a launcher, because a check for a
/// file takes a microsecond and puts no load on a server.
constexpr base::Nanoseconds kMinPollInterval = 20'000, kMaxPollInterval = 5'000'000;

/// Limits the rate at which a pending request checks for files.
class PollBackoff {
 public:
  bool is_over() {
    const base::Nanoseconds now = base::now_ns();
    if (now < next_) return false;
    next_ = now + exponential_backoff(now - begun_, kMinPollInterval, kMaxPollInterval);
    return true;
  }

 private:
  const base::Nanoseconds begun_ = base::now_ns();
  base::Nanoseconds next_ = 0;
};

class Lookup final : public Pending<Bytes> {
 public:
  Lookup(std::shared_ptr<const Files> files, Files::Name name)
      : files_(std::move(files)), name_(std::move(name)) {}
  base::Result<std::optional<Bytes>> poll() override {
    if (!backoff_.is_over()) return std::optional<Bytes>();
    return files_->find(name_);
  }

 private:
  const std::shared_ptr<const Files> files_;
  const Files::Name name_;
  PollBackoff backoff_;
};

/// Completes once all members have made their file of this name.
class Fence final : public Pending<Done> {
 public:
  Fence(std::shared_ptr<const Files> files, std::vector<std::uint32_t> missing, std::string key)
      : files_(std::move(files)), missing_(std::move(missing)), key_(std::move(key)) {}
  base::Result<std::optional<Done>> poll() override {
    if (!backoff_.is_over()) return std::optional<Done>();
    while (!missing_.empty() && files_->has({missing_.back(), key_})) missing_.pop_back();
    return missing_.empty() ? std::optional(Done{}) : std::nullopt;
  }

 private:
  const std::shared_ptr<const Files> files_;
  std::vector<std::uint32_t> missing_;
  const std::string key_;
  PollBackoff backoff_;
};

std::string value_key(std::string_view key) { return "value." + std::string(key); }

/// Return a key that is equal on all members and differs for other sets; a hash, because the list
/// of ranks may exceed the length of a file name.
std::string fence_key(std::span<const std::uint32_t> sorted) {
  std::array<std::uint64_t, 2> hashes{14695981039346656037ull,
                                      7809847782465536322ull};  // FNV-1a with two initial values
  for (const std::uint32_t rank : sorted)
    for (auto& hash : hashes) hash = (hash ^ (std::uint64_t{rank} + 1)) * 1099511628211ull;
  return "fence." + std::to_string(sorted.size()) + "." + std::to_string(hashes[0]) + "." +
         std::to_string(hashes[1]);
}

}  // namespace

Backend::Backend(MpirunEnv env) : env_(std::move(env)), parent_(::getppid()) {}

base::Status Backend::publish(std::string_view key, std::span<const std::byte> value) {
  publishes_.fetch_add(1, std::memory_order_relaxed);
  return files_->put({job().rank, value_key(key)}, value);
}

base::Result<std::unique_ptr<Pending<Bytes>>> Backend::lookup(std::uint32_t rank,
                                                              std::string_view key) {
  SHIM_TRY(check_rank(rank, job().size));
  lookups_.fetch_add(1, std::memory_order_relaxed);
  return std::make_unique<Lookup>(files_, Files::Name{rank, value_key(key)});
}

base::Result<std::unique_ptr<Pending<Done>>> Backend::fence(std::span<const std::uint32_t> ranks) {
  SHIM_TRY(check_fence(ranks, job()));
  fences_.fetch_add(1, std::memory_order_relaxed);
  if (ranks.size() == 1) return completed(Done{});
  std::vector<std::uint32_t> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  const std::string beginning = fence_key(sorted) + ".";
  std::lock_guard lock(fence_mutex_);
  // number of this fence among all fences over the set: the files of this process's earlier fences,
  // including those of earlier incarnations, still exist
  int number = 0;
  while (files_->has({job().rank, beginning + std::to_string(number)})) ++number;
  const std::string key = beginning + std::to_string(number);
  SHIM_TRY(files_->put({job().rank, key}, {}));
  return std::make_unique<Fence>(files_, std::move(sorted), key);
}

base::Status Backend::append_log(std::span<const std::byte> entry) {
  return log_.append_log(entry);
}

/// A child of mpirun gets a new parent when mpirun exits; any other process checks whether mpirun
/// still runs, in the same PID namespace.
bool Backend::has_lost_launcher() const {
  return mpirun_ ? !base::is_running(*mpirun_, *mpirun_) : ::getppid() != parent_;
}

/// Abort the job through PMIx, so that mpirun ends the other processes before they detect the end
/// of this one. If PMIx fails, the caller's exit status, which is not zero, makes mpirun end the
/// job.
void Backend::abort(int exit_code, std::string_view text) {
  const auto library = pmix::load_library();
  if (!library) return;
  if (auto connection = pmix::Backend::open(*library, {.ready_timeout_s = kConnectToAbortSeconds}))
    (*connection)->abort(exit_code, text);
}

Bootstrap::Counts Backend::counts() const {
  return {0, publishes_.load(), lookups_.load(), 0, fences_.load()};
}

}  // namespace shim::bootstrap::mpirun
