// SPDX-License-Identifier: BSD-3-Clause
// Messages over a provider of libfabric: blocking sends and receives between two processes on two cores.
//
//   fabric_pingpong message-bytes provider [packets | reads [interface]]
//
// Prints the best and the median batch and, for long messages, the bandwidth: over packets alone, or with long messages read out of
// the sender's memory; without either word, as the library would do it.
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

#include "bench/engine_of_two.hpp"
#include "bench/pinning.hpp"
#include "shim/base/clock.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace {

using namespace shim;
using base::now_ns;
using bench::need;
using bench::pin_to;

constexpr int kBatches = 40;

/// What the two find of each other, in memory that both have.
struct Meeting {
  struct Note {
    std::atomic<std::size_t> size;
    std::byte bytes[512];
  } notes[2];
  std::atomic<int> done;
};

class End {
 public:
  End(Meeting& meeting, int rank, const transport::OfiSettings& settings, std::size_t bytes)
      : transport_(need(transport::make_ofi(settings))),
        two_(*transport_, [&meeting](std::uint32_t other) { return address_in(meeting.notes[other]); }, rank, bytes) {
    const transport::Bytes address = transport_->address();
    std::copy(address.begin(), address.end(), meeting.notes[rank].bytes);
    meeting.notes[rank].size.store(address.size(), std::memory_order_release);  // pairs with the acquire in address_in()
  }
  void send() { two_.send(); }
  void receive() { two_.receive(); }
  /// Until both are here: who leaves first must not take what the other waits for.
  void meet(Meeting& meeting) {
    ++meeting.done;
    while (meeting.done < 2) need(two_.engine().progress());
  }
  std::uint64_t bytes_read() const { return transport_->counts().bytes_read; }

 private:
  static transport::Bytes address_in(const Meeting::Note& note) {
    while (note.size.load(std::memory_order_acquire) == 0) sched_yield();
    return transport::Bytes(note.bytes, note.bytes + note.size);
  }

  std::unique_ptr<transport::Transport> transport_;
  bench::EngineOfTwo two_;
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
  void* shared = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  Meeting& meeting = *new (shared) Meeting{};
  const pid_t child = fork();
  const int rank = child == 0 ? 1 : 0, rounds = bytes < 10'000 ? 1000 : 20;
  pin_to(rank);
  End end(meeting, rank, settings, bytes);
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
  end.meet(meeting);
  if (rank == 1) return 0;
  std::sort(times.begin(), times.end());
  const char* how = end.bytes_read() != 0 ? "read   " : "packets";
  std::printf("%9zu bytes over %-12s %s best %10.2f   median %10.2f us one way", bytes, argv[2], how, times.front() / 1e3,
              times[times.size() / 2] / 1e3);
  if (bytes >= 4096) std::printf("   %5.2f GB/s", static_cast<double>(bytes) / times[times.size() / 2]);
  std::printf("\n");
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}
