// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/shm/peer_memory.hpp"

#include <sys/random.h>
#include <sys/uio.h>

#include <cerrno>
#include <string>

#include "shim/base/clock.hpp"

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Origin;
using base::Result;

namespace {

/// Reads it all, in as many calls as the kernel likes; answers 0 or errno.
int read_all(pid_t pid, std::uint64_t address, std::span<std::byte> into) {
  while (!into.empty()) {
    iovec local{into.data(), into.size()};
    iovec remote{reinterpret_cast<void*>(address), into.size()};
    ssize_t count = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EFAULT;
    into = into.subspan(static_cast<std::size_t>(count));
    address += static_cast<std::uint64_t>(count);
  }
  return 0;
}

}  // namespace

Probe::Probe(SlotMemory& own) {
  // Without randomness (before the pool is ready, early in boot) the address alone still tells processes apart mostly.
  if (::getrandom(&value_, sizeof value_, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof value_))
    value_ = reinterpret_cast<std::uintptr_t>(this) ^ static_cast<std::uint64_t>(base::now_ns());
  own.probe_address = reinterpret_cast<std::uintptr_t>(&value_);
  own.probe_value = value_;
}

Result<Attempt> PeerMemory::read(pid_t pid, const SlotMemory& slot, std::uint64_t address, std::span<std::byte> into) {
  if (state_ == State::unknown) {
    std::uint64_t value = 0;
    int failure = read_all(pid, slot.probe_address, std::as_writable_bytes(std::span(&value, 1)));
    state_ = failure == 0 && value == slot.probe_value ? State::allowed : State::refused;
  }
  if (state_ == State::refused) return Attempt::unsupported;
  int failure = read_all(pid, address, into);
  if (failure == 0) return Attempt::done;
  if (failure == EPERM || failure == ENOSYS) {
    state_ = State::refused;  // a sandbox or a setting that changed under us
    return Attempt::unsupported;
  }
  if (failure == ESRCH)
    return Error(ErrorClass::proc_aborted, Origin::system, failure, "process " + std::to_string(pid) + " ended while its message was read");
  return base::system_error(failure, "reading " + std::to_string(into.size()) + " bytes of a message out of process " +
                                         std::to_string(pid) + " (process_vm_readv)");
}

}  // namespace shim::transport
