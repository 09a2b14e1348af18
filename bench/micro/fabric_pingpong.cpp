// SPDX-License-Identifier: BSD-3-Clause
// Measures blocking sends and receives over a libfabric provider, between two pinned processes.
//
//  fabric_pingpong message-bytes provider [packets | reads [interface]]
//
// Prints the best and the median batch and, for long messages, the bandwidth: with packets alone,
// with long messages read from the sender's memory, or by default as the library chooses.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/lib/two_rank_engine.hpp"
#include "bench/micro/pinning.hpp"
#include "shim/base/clock.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace {

using namespace shim;
using base::now_ns;
using bench::need;
using bench::pin_to;

constexpr int kBatches = 40;

/// Addresses of the two processes, in shared memory.
struct SharedAddresses {
  struct Entry {
    std::atomic<std::size_t> size;
    std::byte bytes[512];
  } entries[2];
  std::atomic<int> done;
};

class FabricEnd {
 public:
  FabricEnd(SharedAddresses& shared_addresses, int rank, const transport::OfiSettings& settings,
            std::size_t bytes)
      : transport_(need(transport::make_ofi(settings))),
        two_(
            *transport_,
            [&shared_addresses](std::uint32_t other) {
              return address_in(shared_addresses.entries[other]);
            },
            rank, bytes) {
    const transport::Bytes address = transport_->address();
    std::copy(address.begin(), address.end(), shared_addresses.entries[rank].bytes);
    shared_addresses.entries[rank].size.store(
        address.size(), std::memory_order_release);  // pairs with the acquire in address_in()
  }
  void send() { two_.send(); }
  void receive() { two_.receive(); }
  /// Wait until both have called this: a process that exits earlier must not take data that the
  /// other waits for.
  void wait_for_both(SharedAddresses& shared_addresses) {
    ++shared_addresses.done;
    while (shared_addresses.done < 2) need(two_.engine().progress());
  }
  std::uint64_t bytes_read() const { return transport_->counts().bytes_read; }

 private:
  static transport::Bytes address_in(const SharedAddresses::Entry& note) {
    while (note.size.load(std::memory_order_acquire) == 0) sched_yield();
    return transport::Bytes(note.bytes, note.bytes + note.size);
  }

  std::unique_ptr<transport::Transport> transport_;
  bench::TwoRankEngine two_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "fabric_pingpong message-bytes provider [packets | reads [interface]]\n");
    return 2;
  }
  const std::size_t bytes = std::strtoul(argv[1], nullptr, 10);
  transport::OfiSettings settings{.provider = argv[2], .interface = argc > 4 ? argv[4] : ""};
  if (argc > 3) settings.tuning.reads = std::strcmp(argv[3], "reads") == 0;
  void* shared = mmap(nullptr, sizeof(SharedAddresses), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  SharedAddresses& shared_addresses = *new (shared) SharedAddresses{};
  const pid_t child = fork();
  const int rank = child == 0 ? 1 : 0, rounds = bytes < 10'000 ? 1000 : 20;
  pin_to(rank);
  FabricEnd end(shared_addresses, rank, settings, bytes);
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = now_ns();
    for (int i = 0; i < rounds; ++i) {
      if (rank == 0) end.send();
      end.receive();
      if (rank == 1) end.send();
    }
    times.push_back(static_cast<double>(now_ns() - start) / rounds / 2);
  }
  end.wait_for_both(shared_addresses);
  if (rank == 1) return 0;
  std::sort(times.begin(), times.end());
  const char* how = end.bytes_read() != 0 ? "read   " : "packets";
  std::printf("%9zu bytes over %-12s %s best %10.2f   median %10.2f us one way", bytes, argv[2],
              how, times.front() / 1e3, times[times.size() / 2] / 1e3);
  if (bytes >= 4096)
    std::printf("   %5.2f GB/s", static_cast<double>(bytes) / times[times.size() / 2]);
  std::printf("\n");
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
