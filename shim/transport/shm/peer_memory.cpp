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

/// Local pieces per system call; the kernel's limit is 1024.
constexpr std::size_t kPiecesPerCall = 64;

/// Skip the first bytes of these pieces.
std::span<iovec> without_first(std::span<iovec> pieces, std::size_t bytes) {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (bytes != 0)
    pieces.front() = {static_cast<std::byte*>(pieces.front().iov_base) + bytes,
                      pieces.front().iov_len - bytes};
  return pieces;
}

/// Transfer all pieces, in as many calls as needed; return 0 or errno.
int move_all(decltype(::process_vm_readv)* move, pid_t pid, std::uint64_t address,
             std::span<iovec> own) {
  for (own = without_first(own, 0); !own.empty();) {
    std::size_t bytes = 0;
    for (const iovec& piece : own) bytes += piece.iov_len;
    iovec remote{reinterpret_cast<void*>(address), bytes};
    ssize_t count = move(pid, own.data(), own.size(), &remote, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EFAULT;
    own = without_first(own, static_cast<std::size_t>(count));
    address += static_cast<std::uint64_t>(count);
  }
  return 0;
}

int read_direct(pid_t pid, std::uint64_t address, std::span<const std::span<std::byte>> into) {
  std::array<iovec, kPiecesPerCall> own;
  while (!into.empty()) {
    const auto next = into.first(std::min(into.size(), own.size()));
    into = into.subspan(next.size());
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < next.size(); ++i) {
      own[i] = {next[i].data(), next[i].size()};
      bytes += next[i].size();
    }
    if (const int failure = move_all(::process_vm_readv, pid, address,
                                     std::span(own).first(next.size()));
        failure != 0)
      return failure;
    address += bytes;
  }
  return 0;
}

int write_direct(pid_t pid, std::uint64_t address, ConstSpan from) {
  iovec own{const_cast<std::byte*>(from.data()), from.size()};  // only read
  return move_all(::process_vm_writev, pid, address, {&own, 1});
}

// If the destination begins 1 to 31 bytes after the source, modulo the page size, the kernel's copy
// is slow on some processors (base::is_just_behind); copy through a buffer whose page offset
// differs by half a page.

/// From this length on a second copy costs less than it saves.
constexpr std::size_t kMinBounced = 4096;

bool needs_bounce(const void* to, const void* from, std::size_t bytes) {
  return bytes >= kMinBounced && base::is_just_behind(to, from);
}
const void* pointer_to(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

int read_bounced(pid_t pid, std::uint64_t address, std::span<std::byte> into,
                 BounceBuffer& bounce) {
  std::byte* const at_other_offset = bounce.at_other_offset(address);
  if (at_other_offset == nullptr) return read_direct(pid, address, {&into, 1});
  for (std::size_t at = 0; at < into.size(); at += BounceBuffer::kBytes) {
    const std::span<std::byte> part(at_other_offset,
                                    std::min(BounceBuffer::kBytes, into.size() - at));
    if (const int failure = read_direct(pid, address + at, {&part, 1}); failure != 0)
      return failure;
    base::copy_long(into.data() + at, part.data(), part.size());
  }
  return 0;
}

int write_bounced(pid_t pid, std::uint64_t address, ConstSpan from, BounceBuffer& bounce) {
  std::byte* const at_other_offset = bounce.at_other_offset(address);
  if (at_other_offset == nullptr) return write_direct(pid, address, from);
  for (std::size_t at = 0; at < from.size(); at += BounceBuffer::kBytes) {
    const std::span<std::byte> part(at_other_offset,
                                    std::min(BounceBuffer::kBytes, from.size() - at));
    base::copy_long(part.data(), from.data() + at, part.size());
    if (const int failure = write_direct(pid, address + at, part); failure != 0) return failure;
  }
  return 0;
}

/// Read each slow piece separately, and the pieces in between together.
int read_all(pid_t pid, std::uint64_t address, std::span<const std::span<std::byte>> into,
             BounceBuffer& bounce) {
  std::uint64_t direct_address = address;
  std::size_t direct_pieces = 0;
  for (std::size_t i = 0; i < into.size(); address += into[i++].size()) {
    if (!needs_bounce(into[i].data(), pointer_to(address), into[i].size())) continue;
    if (const int failure = read_direct(pid, direct_address,
                                        into.subspan(direct_pieces, i - direct_pieces));
        failure != 0)
      return failure;
    if (const int failure = read_bounced(pid, address, into[i], bounce); failure != 0)
      return failure;
    direct_pieces = i + 1;
    direct_address = address + into[i].size();
  }
  return read_direct(pid, direct_address, into.subspan(direct_pieces));
}

int write_all(pid_t pid, std::uint64_t address, ConstSpan from, BounceBuffer& bounce) {
  return needs_bounce(pointer_to(address), from.data(), from.size())
             ? write_bounced(pid, address, from, bounce)
             : write_direct(pid, address, from);
}

}  // namespace

std::byte* BounceBuffer::at_other_offset(std::uint64_t address) {
  constexpr std::size_t kOffsets = 4096;  // offsets in a page
  if (memory_ == nullptr) memory_.reset(new (std::nothrow) std::byte[kBytes + kOffsets]);
  if (memory_ == nullptr) return nullptr;
  return memory_.get() +
         (address + kOffsets / 2 - reinterpret_cast<std::uintptr_t>(memory_.get())) % kOffsets;
}

Probe::Probe(node::SlotMemory& own) {
  // Without randomness (early in boot) the address alone still mostly distinguishes processes.
  if (::getrandom(&value_, sizeof value_, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof value_))
    value_ = reinterpret_cast<std::uintptr_t>(this) ^ static_cast<std::uint64_t>(base::now_ns());
  own.probe_address = reinterpret_cast<std::uintptr_t>(&value_);
  own.probe_value = value_;
}

bool PeerMemory::is_allowed(pid_t pid, const node::SlotMemory& slot) {
  if (permission_ == Permission::unknown) {
    std::uint64_t value = 0;
    const std::span<std::byte> into = std::as_writable_bytes(std::span(&value, 1));
    int failure = read_direct(pid, slot.probe_address, {&into, 1});
    permission_ = failure == 0 && value == slot.probe_value ? Permission::allowed
                                                            : Permission::refused;
  }
  return permission_ == Permission::allowed;
}

Result<Attempt> PeerMemory::read(pid_t pid, const node::SlotMemory& slot, std::uint64_t address,
                                 std::span<const std::span<std::byte>> into, BounceBuffer& bounce) {
  if (!is_allowed(pid, slot)) return Attempt::unsupported;
  std::size_t bytes = 0;
  for (const std::span<std::byte> piece : into) bytes += piece.size();
  return result_of(read_all(pid, address, into, bounce), pid, bytes);
}

Result<Attempt> PeerMemory::write(pid_t pid, const node::SlotMemory& slot, std::uint64_t address,
                                  ConstSpan from, BounceBuffer& bounce) {
  if (!is_allowed(pid, slot)) return Attempt::unsupported;
  return result_of(write_all(pid, address, from, bounce), pid, from.size());
}

Result<Attempt> PeerMemory::result_of(int failure, pid_t pid, std::size_t bytes) {
  if (failure == 0) return Attempt::done;
  if (failure == EPERM || failure == ENOSYS) {
    permission_ = Permission::refused;  // a sandbox or a changed setting
    return Attempt::unsupported;
  }
  if (failure == ESRCH) {
    permission_ = Permission::refused;
    return Error(ErrorClass::proc_aborted, Origin::system, failure,
                 "it exited while a message was copied (process id " + std::to_string(pid) + ")");
  }
  return base::system_error(
      failure, "copying " + std::to_string(bytes) + " bytes of a message from or to process id " +
                   std::to_string(pid) + " (process_vm_readv, process_vm_writev)");
}

}  // namespace shim::transport
