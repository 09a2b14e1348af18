// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/loop/loop_memory.hpp"

#include <algorithm>
#include <cstring>

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;

class LoopOffer final : public MemoryRegistration {
 public:
  LoopOffer(std::shared_ptr<LoopMemory> of, const RemoteMemory& memory)
      : of_(std::move(of)), memory_(memory) {}
  ~LoopOffer() override { of_->withdraw(memory_.key); }
  RemoteMemory memory() const override { return memory_; }

 private:
  std::shared_ptr<LoopMemory> of_;
  RemoteMemory memory_;
};

class LoopRead final : public Read {
 public:
  LoopRead(std::shared_ptr<LoopMemory> of, std::uint64_t key, std::span<std::byte> into,
           std::size_t step, std::size_t breaks_at)
      : of_(std::move(of)), key_(key), into_(into), step_(step), breaks_at_(breaks_at) {}

  Result<std::size_t> progress() override {
    const std::size_t bytes = std::min(step_, into_.size() - arrived_);
    if (arrived_ + bytes > breaks_at_)
      return Error(ErrorClass::other, "the loop network was told to let reads fail");
    if (!of_->copy(key_, arrived_, into_.subspan(arrived_, bytes)))
      return Error(ErrorClass::other, "this memory of the loop network's is not offered");
    return arrived_ += bytes;
  }

 private:
  std::shared_ptr<LoopMemory> of_;
  std::uint64_t key_;
  std::span<std::byte> into_;
  std::size_t step_, breaks_at_, arrived_ = 0;
};

}  // namespace

std::unique_ptr<MemoryRegistration> LoopMemory::offer(ConstSpan memory) {
  std::lock_guard guard(mutex_);
  offered_[++last_key_] = memory;
  return std::make_unique<LoopOffer>(
      shared_from_this(), RemoteMemory{reinterpret_cast<std::uintptr_t>(memory.data()), last_key_});
}

std::unique_ptr<Read> LoopMemory::begin_read(const RemoteMemory& from, std::span<std::byte> into,
                                             std::size_t step, std::size_t breaks_at) {
  return std::make_unique<LoopRead>(shared_from_this(), from.key, into, step, breaks_at);
}

bool LoopMemory::copy(std::uint64_t key, std::size_t offset, std::span<std::byte> into) const {
  std::lock_guard guard(mutex_);
  const auto found = offered_.find(key);
  if (found == offered_.end() || offset + into.size() > found->second.size()) return false;
  if (!into.empty()) std::memmove(into.data(), found->second.data() + offset, into.size());
  return true;
}

void LoopMemory::withdraw(std::uint64_t key) {
  std::lock_guard guard(mutex_);
  offered_.erase(key);
}

}  // namespace shim::transport
