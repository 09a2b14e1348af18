// SPDX-License-Identifier: BSD-3-Clause
// Measures copying from one core to another through shared memory, with stores and loads.
//
//  copies_between_cores [bytes of shared memory [offset in bytes of the destination in its page]]
//
// One thread copies pieces of at most 16 KiB into the memory, used as a ring; a thread on another
// core copies each piece out once it is published. Prints microseconds per length until both are
// done, in brackets those of storing and of loading, and the core-to-core latency in nanoseconds
// before and after, because cores of a virtual machine migrate.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "bench/micro/pinning.hpp"
#include "shim/base/clock.hpp"
#include "shim/base/copy_between_cores.hpp"

namespace {

using shim::base::Nanoseconds;
using shim::base::now_ns;

constexpr std::size_t kLine = 64, kPage = 4096, kPiece = 16 * 1024, kLongest = 1024 * 1024;

using Copy = void (*)(void* to, const void* from, std::size_t length);
struct Way {
  const char* name;
  Copy store, load;
};
constexpr Way kWays[] = {
    {"usual stores, copied out", shim::base::copy_long, shim::base::copy_long},
    {"usual stores, asked for ahead", shim::base::copy_long, shim::base::copy_from_other_core},
    {"past the caches, copied out", shim::base::copy_past_caches, shim::base::copy_long},
    {"past the caches, asked for ahead", shim::base::copy_past_caches,
     shim::base::copy_from_other_core}};

struct alignas(kLine) Counter {
  std::atomic<std::uint64_t> value{0};
};

/// Page-aligned memory.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : size_(bytes),
        data_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kPage}))) {
    std::memset(data_, 1, bytes);
  }
  ~Pages() { ::operator delete (data_, std::align_val_t{kPage}); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::byte* data_;
};

struct Shared {
  explicit Shared(std::size_t bytes) : memory(bytes) {}
  Pages memory;
  Counter stored, loaded;  ///< bytes
};

struct Work {
  std::size_t length = 0;
  int rounds = 0;
  Copy store = nullptr, load = nullptr;
};

/// All three values are powers of two.
std::size_t chunk_of(const Work& work, const Shared& shared) {
  return std::min({work.length, kPiece, shared.memory.size()});
}

Nanoseconds store(const Work& work, Shared& shared, const std::byte* data) {
  const std::size_t piece = chunk_of(work, shared), size = shared.memory.size();
  std::uint64_t position = shared.stored.value.load(std::memory_order_relaxed);
  Nanoseconds took = 0;
  for (int round = 0; round < work.rounds; ++round) {
    for (std::size_t at = 0; at < work.length; at += piece) {
      while (shared.loaded.value.load(std::memory_order_acquire) + size < position + piece) {
      }
      const Nanoseconds begin = now_ns();
      work.store(shared.memory.data() + position % size, data + at, piece);
      shared.stored.value.store(
          position += piece, std::memory_order_seq_cst);  // as in a broadcast ring: with a barrier
      took += now_ns() - begin;
    }
    while (shared.loaded.value.load(std::memory_order_acquire) != position) {
    }
  }
  return took;
}

Nanoseconds load(const Work& work, Shared& shared, std::byte* data) {
  const std::size_t piece = chunk_of(work, shared), size = shared.memory.size();
  std::uint64_t position = shared.loaded.value.load(std::memory_order_relaxed);
  Nanoseconds took = 0;
  for (int round = 0; round < work.rounds; ++round)
    for (std::size_t at = 0; at < work.length; at += piece) {
      while (shared.stored.value.load(std::memory_order_acquire) < position + piece) {
      }
      const Nanoseconds begin = now_ns();
      work.load(data + at, shared.memory.data() + position % size, piece);
      took += now_ns() - begin;
      shared.loaded.value.store(position += piece, std::memory_order_seq_cst);
    }
  return took;
}

/// Two threads that run one step at once.
class Pair {
 public:
  Pair(std::size_t bytes, std::size_t further)
      : shared_(bytes), further_(further), other_([this] { serve(); }) {
    bench::pin_to(0);
  }
  ~Pair() {
    work_.rounds = 0;
    step_.arrive_and_wait();
    other_.join();
  }

  void measure(const Way& way, std::size_t length) {
    work_ = {length, length < kLongest ? 600 : 60, way.store, way.load};
    shared_.stored.value = shared_.loaded.value = 0;
    step_.arrive_and_wait();
    const Nanoseconds begin = now_ns(), storing = store(work_, shared_, from_.data()),
                      took = now_ns() - begin;
    step_.arrive_and_wait();
    const auto microseconds = [&](Nanoseconds ns) {
      return static_cast<double>(ns) / work_.rounds / 1e3;
    };
    std::printf("  %-34s %9.2f  (%.2f, %.2f)\n", way.name, microseconds(took),
                microseconds(storing), microseconds(loading_));
  }
  /// Return the one-way core-to-core latency in nanoseconds.
  double core_latency() {
    constexpr std::uint64_t kTrips = 5000;
    work_ = {0, 1, nullptr, nullptr};
    shared_.stored.value = shared_.loaded.value = 0;
    step_.arrive_and_wait();
    const Nanoseconds begin = now_ns();
    for (std::uint64_t trip = 1; trip <= kTrips; ++trip) {
      shared_.stored.value.store(trip, std::memory_order_release);
      while (shared_.loaded.value.load(std::memory_order_acquire) != trip) {
      }
    }
    const Nanoseconds took = now_ns() - begin;
    shared_.stored.value.store(kEnd, std::memory_order_release);
    step_.arrive_and_wait();
    return static_cast<double>(took) / kTrips / 2;
  }

 private:
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};

  void serve() {
    bench::pin_to(1);
    const Pages to(kLongest + kPage);
    for (;;) {
      step_.arrive_and_wait();
      if (work_.rounds == 0) return;
      if (work_.load != nullptr)
        loading_ = load(work_, shared_, to.data() + further_);
      else
        hand_back();
      step_.arrive_and_wait();
    }
  }
  void hand_back() {
    for (std::uint64_t seen = 0, now = 0; seen != kEnd; seen = now) {
      while ((now = shared_.stored.value.load(std::memory_order_acquire)) == seen) {
      }
      shared_.loaded.value.store(now, std::memory_order_release);
    }
  }

  Shared shared_;
  const std::size_t further_;
  const Pages from_{kLongest};
  Work work_;
  Nanoseconds loading_ = 0;
  std::barrier<> step_{2};
  std::thread other_;
};

}  // namespace

int main(int argc, char** argv) {
  const unsigned long bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256 * 1024;
  const long further = argc > 2 ? std::atol(argv[2]) : 16;  // offset of an array from malloc
  if (bytes < kLine || !std::has_single_bit(bytes) || further < 0 ||
      further > static_cast<long>(kPage)) {
    std::fprintf(stderr,
                 "usage: copies_between_cores [bytes of shared memory, a power of two, %zu at "
                 "least [bytes further in a page]]\n",
                 kLine);
    return 2;
  }
  Pair pair(bytes, static_cast<std::size_t>(further));
  for (const std::size_t length :
       {std::size_t{1024}, std::size_t{4096}, kPiece, 4 * kPiece, kLongest}) {
    std::printf("%zu bytes, core-to-core latency before: %.0f ns\n", length, pair.core_latency());
    for (const Way& way : kWays) pair.measure(way, length);
    std::printf("  core-to-core latency after: %.0f ns\n", pair.core_latency());
  }
}
