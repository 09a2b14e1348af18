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

/// Moves it all, in as many calls as the kernel likes; answers 0 or errno.
int move_all(decltype(::process_vm_readv)* move, pid_t pid, std::uint64_t address, std::byte* own, std::size_t bytes) {
  while (bytes != 0) {
    iovec local{own, bytes};
    iovec remote{reinterpret_cast<void*>(address), bytes};
    ssize_t count = move(pid, &local, 1, &remote, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EFAULT;
    bytes -= static_cast<std::size_t>(count);
    own += count;
    address += static_cast<std::uint64_t>(count);
  }
  return 0;
}

int read_all(pid_t pid, std::uint64_t address, std::span<std::byte> into) {
  return move_all(::process_vm_readv, pid, address, into.data(), into.size());
}
int write_all(pid_t pid, std::uint64_t address, ConstSpan from) {
  return move_all(::process_vm_writev, pid, address, const_cast<std::byte*>(from.data()), from.size());  // which only reads it
}

}  // namespace

Probe::Probe(SlotMemory& own) {
  // Without randomness (before the pool is ready, early in boot) the address alone still tells processes apart mostly.
  if (::getrandom(&value_, sizeof value_, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof value_))
    value_ = reinterpret_cast<std::uintptr_t>(this) ^ static_cast<std::uint64_t>(base::now_ns());
  own.probe_address = reinterpret_cast<std::uintptr_t>(&value_);
  own.probe_value = value_;
}

bool PeerMemory::is_allowed(pid_t pid, const SlotMemory& slot) {
  if (state_ == State::unknown) {
    std::uint64_t value = 0;
    int failure = read_all(pid, slot.probe_address, std::as_writable_bytes(std::span(&value, 1)));
    state_ = failure == 0 && value == slot.probe_value ? State::allowed : State::refused;
  }
  return state_ == State::allowed;
}

Result<Attempt> PeerMemory::read(pid_t pid, const SlotMemory& slot, std::uint64_t address, std::span<std::byte> into) {
  if (!is_allowed(pid, slot)) return Attempt::unsupported;
  return outcome(read_all(pid, address, into), pid, into.size());
}

Result<Attempt> PeerMemory::write(pid_t pid, const SlotMemory& slot, std::uint64_t address, ConstSpan from) {
  if (!is_allowed(pid, slot)) return Attempt::unsupported;
  return outcome(write_all(pid, address, from), pid, from.size());
}

Result<Attempt> PeerMemory::outcome(int failure, pid_t pid, std::size_t bytes) {
  if (failure == 0) return Attempt::done;
  if (failure == EPERM || failure == ENOSYS) {
    state_ = State::refused;  // a sandbox or a setting that changed under us
    return Attempt::unsupported;
  }
  if (failure == ESRCH)
    return Error(ErrorClass::proc_aborted, Origin::system, failure, "process " + std::to_string(pid) + " ended while a message was copied");
  return base::system_error(failure, "copying " + std::to_string(bytes) + " bytes of a message from or to process " +
                                         std::to_string(pid) + " (process_vm_readv, process_vm_writev)");
}

}  // namespace shim::transport
