// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/shm/peer_memory.hpp"

#include <sys/random.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <string>

#include "shim/base/clock.hpp"
#include "shim/base/copy.hpp"

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Origin;
using base::Result;

namespace {

/// Pieces of ours that one call of the kernel's takes, of the 1024 that it would.
constexpr std::size_t kPiecesAtOnce = 64;

/// Leaves out the first bytes of these pieces.
std::span<iovec> behind(std::span<iovec> pieces, std::size_t bytes) {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (bytes != 0) pieces.front() = {static_cast<std::byte*>(pieces.front().iov_base) + bytes, pieces.front().iov_len - bytes};
  return pieces;
}

/// Moves it all, in as many calls as the kernel likes; answers 0 or errno.
int move_all(decltype(::process_vm_readv)* move, pid_t pid, std::uint64_t address, std::span<iovec> own) {
  for (own = behind(own, 0); !own.empty();) {
    std::size_t bytes = 0;
    for (const iovec& piece : own) bytes += piece.iov_len;
    iovec remote{reinterpret_cast<void*>(address), bytes};
    ssize_t count = move(pid, own.data(), own.size(), &remote, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EFAULT;
    own = behind(own, static_cast<std::size_t>(count));
    address += static_cast<std::uint64_t>(count);
  }
  return 0;
}

int read_straight(pid_t pid, std::uint64_t address, std::span<const std::span<std::byte>> into) {
  std::array<iovec, kPiecesAtOnce> own;
  while (!into.empty()) {
    const auto next = into.first(std::min(into.size(), own.size()));
    into = into.subspan(next.size());
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < next.size(); ++i) {
      own[i] = {next[i].data(), next[i].size()};
      bytes += next[i].size();
    }
    if (const int failure = move_all(::process_vm_readv, pid, address, std::span(own).first(next.size())); failure != 0) return failure;
    address += bytes;
  }
  return 0;
}

int write_straight(pid_t pid, std::uint64_t address, ConstSpan from) {
  iovec own{const_cast<std::byte*>(from.data()), from.size()};  // which is only read
  return move_all(::process_vm_writev, pid, address, {&own, 1});
}

// What the kernel would copy to just behind of where it is, pages left aside, goes roundabout: by way of a place that is half a page off.

/// From here on a second copy is less than what it saves.
constexpr std::size_t kWorthACopy = 4096;

bool is_slow(const void* to, const void* from, std::size_t bytes) { return bytes >= kWorthACopy && base::is_just_behind(to, from); }
const void* pointer_to(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

int read_roundabout(pid_t pid, std::uint64_t address, std::span<std::byte> into, RoundaboutRoom& room) {
  std::byte* const beside = room.beside(address);
  if (beside == nullptr) return read_straight(pid, address, {&into, 1});
  for (std::size_t at = 0; at < into.size(); at += RoundaboutRoom::kBytes) {
    const std::span<std::byte> part(beside, std::min(RoundaboutRoom::kBytes, into.size() - at));
    if (const int failure = read_straight(pid, address + at, {&part, 1}); failure != 0) return failure;
    base::copy_long(into.data() + at, part.data(), part.size());
  }
  return 0;
}

int write_roundabout(pid_t pid, std::uint64_t address, ConstSpan from, RoundaboutRoom& room) {
  std::byte* const beside = room.beside(address);
  if (beside == nullptr) return write_straight(pid, address, from);
  for (std::size_t at = 0; at < from.size(); at += RoundaboutRoom::kBytes) {
    const std::span<std::byte> part(beside, std::min(RoundaboutRoom::kBytes, from.size() - at));
    base::copy_long(part.data(), from.data() + at, part.size());
    if (const int failure = write_straight(pid, address + at, part); failure != 0) return failure;
  }
  return 0;
}

/// Each of the pieces that are slow by itself, and those between them together.
int read_all(pid_t pid, std::uint64_t address, std::span<const std::span<std::byte>> into, RoundaboutRoom& room) {
  std::uint64_t of_straight = address;
  std::size_t straight = 0;
  for (std::size_t i = 0; i < into.size(); address += into[i++].size()) {
    if (!is_slow(into[i].data(), pointer_to(address), into[i].size())) continue;
    if (const int failure = read_straight(pid, of_straight, into.subspan(straight, i - straight)); failure != 0) return failure;
    if (const int failure = read_roundabout(pid, address, into[i], room); failure != 0) return failure;
    straight = i + 1;
    of_straight = address + into[i].size();
  }
  return read_straight(pid, of_straight, into.subspan(straight));
}

int write_all(pid_t pid, std::uint64_t address, ConstSpan from, RoundaboutRoom& room) {
  return is_slow(pointer_to(address), from.data(), from.size()) ? write_roundabout(pid, address, from, room) : write_straight(pid, address, from);
}

}  // namespace

std::byte* RoundaboutRoom::beside(std::uint64_t address) {
  constexpr std::size_t kOffsets = 4096;  // that a page has
  if (memory_ == nullptr) memory_.reset(new (std::nothrow) std::byte[kBytes + kOffsets]);
  if (memory_ == nullptr) return nullptr;
  return memory_.get() + (address + kOffsets / 2 - reinterpret_cast<std::uintptr_t>(memory_.get())) % kOffsets;
}

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
    const std::span<std::byte> into = std::as_writable_bytes(std::span(&value, 1));
    int failure = read_straight(pid, slot.probe_address, {&into, 1});
    state_ = failure == 0 && value == slot.probe_value ? State::allowed : State::refused;
  }
  return state_ == State::allowed;
}

Result<Attempt> PeerMemory::read(pid_t pid, const SlotMemory& slot, std::uint64_t address, std::span<const std::span<std::byte>> into,
                                 RoundaboutRoom& room) {
  if (!is_allowed(pid, slot)) return Attempt::unsupported;
  std::size_t bytes = 0;
  for (const std::span<std::byte> piece : into) bytes += piece.size();
  return outcome(read_all(pid, address, into, room), pid, bytes);
}

Result<Attempt> PeerMemory::write(pid_t pid, const SlotMemory& slot, std::uint64_t address, ConstSpan from, RoundaboutRoom& room) {
  if (!is_allowed(pid, slot)) return Attempt::unsupported;
  return outcome(write_all(pid, address, from, room), pid, from.size());
}

Result<Attempt> PeerMemory::outcome(int failure, pid_t pid, std::size_t bytes) {
  if (failure == 0) return Attempt::done;
  if (failure == EPERM || failure == ENOSYS) {
    state_ = State::refused;  // a sandbox or a setting that changed under us
    return Attempt::unsupported;
  }
  if (failure == ESRCH)
    return Error(ErrorClass::proc_aborted, Origin::system, failure, "it ended while a message was copied (its process id was " + std::to_string(pid) + ")");
  return base::system_error(failure, "copying " + std::to_string(bytes) + " bytes of a message from or to process " +
                                         std::to_string(pid) + " (process_vm_readv, process_vm_writev)");
}

}  // namespace shim::transport
