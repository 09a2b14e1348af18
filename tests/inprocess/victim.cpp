// SPDX-License-Identifier: BSD-3-Clause
#include "victim.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "shim/sessions/address_lookup.hpp"

namespace shim::sessions::testing {

Victim::Victim(Cluster& cluster, int rank, bool publishes) {
  int ends[2];
  if (pipe(ends) != 0) ADD_FAILURE() << "pipe";
  child_ = fork();
  if (child_ == 0) {
    auto process = cluster.start(rank);
    const transport::Bytes address = process && publishes ? (*process)->peers().own_address()->bytes
                                                          : transport::Bytes(1);
    [[maybe_unused]] auto written = write(ends[1], address.data(), process ? address.size() : 0);
    if (!process) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  transport::Bytes address(512);
  const auto length = read(ends[0], address.data(), address.size());
  EXPECT_GT(length, 0);
  close(ends[0]);
  if (!publishes) return;
  // the launcher is in the memory of the parent, not of the child
  address.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  EXPECT_TRUE(
      cluster.launcher().open(static_cast<std::uint32_t>(rank))->publish(address_key(0), address));
}

void Victim::end() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  child_ = 0;
}

}  // namespace shim::sessions::testing
