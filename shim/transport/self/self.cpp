// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/self/self.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

#include "shim/base/cache_line_isolation.hpp"
#include "shim/node/wake.hpp"
#include "shim/transport/remote_reads.hpp"
#include "shim/transport/sleeper.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;

/// Most packets delivered in one poll.
constexpr std::size_t kSelfPollBatch = 64;
/// Buffers kept for reuse.
constexpr std::size_t kSpareBuffers = 64;

/// Mostly used by one thread, like its VCI.
class alignas(base::kCacheLineIsolation) Self final : public Transport,
                                                      private RemoteReads,
                                                      private Sleeper {
 public:
  std::string_view name() const override { return "self"; }
  Reach reach() const override { return Reach::own_process; }
  std::size_t max_packet_bytes() const override { return kSelfMaxPacketBytes; }
  Bytes address() const override;
  Result<Link*> open(ConstSpan address) override;
  Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) override;
  Result<int> poll(Sink& sink) override;
  bool is_flushed() const override { return queue_.empty(); }
  const Counts& counts() const override { return counts_; }
  RemoteReads* remote_reads() override { return this; }
  Sleeper* sleeper() override { return this; }

 private:
  // --- RemoteReads
  Result<Attempt> try_read(Link& link, std::uint64_t remote_address,
                           std::span<std::byte> into) override;
  // --- Sleeper
  void sleep(std::int64_t nanoseconds, const LastCheck&, std::span<const int>) override;
  bool may_wait_for_descriptors() override { return false; }
  int descriptor() const override { return -1; }

  Bytes take_buffer();

  Link link_;
  std::deque<Bytes> queue_;
  std::vector<Bytes> spare_;
  node::WakeWords wake_{};
  std::atomic<std::size_t> queued_{
      /// Size of queue_, for sleep(), which runs outside the owner's lock.
      0};
  Counts counts_;
};

/// Return the object's address, which is unique in this process; other processes cannot use it.
Bytes Self::address() const {
  auto own = reinterpret_cast<std::uintptr_t>(this);
  Bytes bytes(sizeof own);
  std::memcpy(bytes.data(), &own, sizeof own);
  return bytes;
}

Result<Link*> Self::open(ConstSpan address) {
  if (!std::ranges::equal(address, this->address()))
    return Error(ErrorClass::arg,
                 "the address is that of another process; send to it by another transport");
  counts_.links_opened = 1;
  return &link_;
}

Bytes Self::take_buffer() {
  if (spare_.empty()) return {};
  Bytes buffer = std::move(spare_.back());
  spare_.pop_back();
  return buffer;
}

Result<Attempt> Self::try_send(Link&, ConstSpan header, ConstSpan payload) {
  if (header.size() + payload.size() > kSelfMaxPacketBytes)
    return Error(ErrorClass::intern,
                 "a packet is longer than the self transport's max_packet_bytes");
  if (queue_.size() >= kSelfMaxQueued) {
    ++counts_.sends_again;
    return Attempt::again;
  }
  Bytes buffer = take_buffer();
  buffer.assign(header.begin(), header.end());
  buffer.insert(buffer.end(), payload.begin(), payload.end());
  counts_.bytes_sent += buffer.size();
  counts_.links_used = 1;
  ++counts_.packets_sent;
  queue_.push_back(std::move(buffer));
  // seq_cst: pairs with the load in sleep(); also the barrier that node::wake_sleepers requires
  queued_.store(queue_.size(), std::memory_order_seq_cst);
  node::wake_sleepers(wake_);
  return Attempt::done;
}

Result<int> Self::poll(Sink& sink) {
  // Only packets queued at the start: a sink that answers every packet must not block this call.
  const std::size_t batch = std::min(queue_.size(), kSelfPollBatch);
  std::size_t handed_over = 0;
  for (bool wants_more = true; handed_over < batch && wants_more; ++handed_over) {
    Bytes packet = std::move(queue_.front());
    queue_.pop_front();
    queued_.store(queue_.size(),
                  std::memory_order_relaxed);  // a hint for sleep(); the push orders
    ++counts_.packets_received;
    wants_more = sink.on_packet(packet);
    if (spare_.size() < kSpareBuffers) spare_.push_back(std::move(packet));
  }
  return static_cast<int>(handed_over);
}

Result<Attempt> Self::try_read(Link&, std::uint64_t remote_address, std::span<std::byte> into) {
  if (!into.empty())
    std::memmove(into.data(), reinterpret_cast<const void*>(remote_address), into.size());
  counts_.bytes_read += into.size();
  return Attempt::done;
}

void Self::sleep(std::int64_t nanoseconds, const LastCheck& last_check, std::span<const int>) {
  std::uint32_t ticket = node::announce_sleep(wake_);
  // seq_cst after a seq_cst operation: the full barrier between announcement and check; pairs with
  // the store in try_send
  if (queued_.load(std::memory_order_seq_cst) != 0 || last_check()) return;
  node::sleep_on(wake_, ticket, nanoseconds);
}

}  // namespace

std::unique_ptr<Transport> make_self() { return std::make_unique<Self>(); }

}  // namespace shim::transport
