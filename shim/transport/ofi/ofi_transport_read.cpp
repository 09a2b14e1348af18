// SPDX-License-Identifier: BSD-3-Clause
// Reads of remote memory without the other program's help; some providers need the peer to poll.
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <utility>

#include "shim/transport/ofi/ofi_transport.hpp"

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

/// Concurrent reads of one message.
constexpr std::size_t kReadWindow = 8;
/// A read that the provider has not completed by then, despite polls, never completes: the endpoint
/// is stopped, because the memory is reused afterwards.
constexpr base::Nanoseconds kReadTimeoutNs = 2'000'000'000;

}  // namespace

class OfiOffered final : public MemoryRegistration {
 public:
  OfiOffered(const Ofi& of, Registration registration, ConstSpan memory)
      : of_(of), registration_(std::move(registration)) {
    memory_ = {reinterpret_cast<std::uintptr_t>(memory.data()), ::fi_mr_key(registration_.get())};
  }
  ~OfiOffered() override {
    if (!of_.fork_mark_.is_own_process()) (void)registration_.release();
  }
  RemoteMemory memory() const override { return memory_; }

 private:
  const Ofi& of_;
  Registration registration_;
  RemoteMemory memory_;
};

class OfiRead final : public Read {
 public:
  OfiRead(Ofi& of, OfiLink& link, const RemoteMemory& from, std::span<std::byte> into,
          Registration local)
      : of_(of),
        link_(link),
        from_(from),
        into_(into),
        local_(std::move(local)),
        description_(local_ ? ::fi_mr_desc(local_.get()) : nullptr) {}
  ~OfiRead() override {
    of_.wait_for_read(*this);
    if (!of_.fork_mark_.is_own_process()) (void)local_.release();
  }

  Result<std::size_t> progress() override;
  /// Record the completion of one partial read.
  void complete_one(std::size_t bytes, int code) {
    --in_flight;
    if (code == 0)
      bytes_read_ += bytes;
    else if (code_ == 0)
      code_ = code;
  }

  std::size_t in_flight = 0;

 private:
  Result<Attempt> begin_next();

  Ofi& of_;
  OfiLink& link_;
  const RemoteMemory from_;
  const std::span<std::byte> into_;
  Registration local_;
  void* description_;
  std::size_t bytes_requested_ = 0, bytes_read_ = 0;  ///< bytes
  int code_ = 0;                                      ///< libfabric's code of the first failure
};

/// Report a failed read only once no other one is in flight. An error of the endpoint or link is
/// returned at once; the destructor then waits, so that nothing is written into the memory later.
Result<std::size_t> OfiRead::progress() {
  SHIM_TRY(of_.check());
  while (code_ == 0 && bytes_requested_ != into_.size() && in_flight != kReadWindow) {
    SHIM_TRY_ASSIGN(const Attempt attempt, begin_next());
    if (attempt != Attempt::done) break;
  }
  if (code_ != 0 && in_flight == 0)
    return of_.library_.error(
        code_, "reading a peer's memory over libfabric provider " + of_.endpoint_.provider());
  return bytes_read_;
}

Result<Attempt> OfiRead::begin_next() {
  SHIM_TRY_ASSIGN(const Attempt ready, of_.prepare_send(link_));
  if (ready != Attempt::done) return ready;
  PendingOperation* read = of_.reads_.acquire();
  if (!read) return Attempt::again;
  read->read = this;
  read->length = std::min(into_.size() - bytes_requested_, of_.traits_.read_bytes);
  const std::uint64_t from = (of_.traits_.reads_by_address ? from_.address : 0) + bytes_requested_;
  const ssize_t code = ::fi_read(of_.endpoint_.ep(), into_.data() + bytes_requested_, read->length,
                                 description_, link_.address, from, from_.key, &read->context);
  if (code != 0) {
    of_.reads_.release(read);
    if (!is_transient(code)) code_ = static_cast<int>(-code);
    return Attempt::again;
  }
  ++in_flight;
  bytes_requested_ += read->length;
  return Attempt::done;
}

std::unique_ptr<MemoryRegistration> Ofi::offer(Link&, ConstSpan memory) {
  if (traits_.read_bytes == 0 || memory.empty() || !check()) return nullptr;
  auto registration = endpoint_.register_memory(library_, memory, FI_REMOTE_READ);
  if (!registration) return nullptr;
  return std::make_unique<OfiOffered>(*this, *std::move(registration), memory);
}

std::unique_ptr<Read> Ofi::begin_read(Link& link, const RemoteMemory& from,
                                      std::span<std::byte> into) {
  if (traits_.read_bytes == 0 || !check()) return nullptr;
  Registration local;
  if (traits_.registers_buffers && !into.empty()) {
    auto registration = endpoint_.register_memory(library_, into, FI_READ);
    if (!registration) return nullptr;
    local = *std::move(registration);
  }
  return std::make_unique<OfiRead>(*this, static_cast<OfiLink&>(link), from, into,
                                   std::move(local));
}

void Ofi::complete_read(PendingOperation& operation, int code) {
  OfiRead* read = std::exchange(operation.read, nullptr);
  reads_.release(&operation);
  if (code == 0) counts_.bytes_read += operation.length;
  read->complete_one(operation.length, code);
}

/// Wait until no partial read is in flight. Packets that arrive meanwhile are held for the next
/// poll.
void Ofi::wait_for_read(OfiRead& read) {
  if (read.in_flight == 0 || !fork_mark_.is_own_process()) return;
  struct Holder final : Sink {
    explicit Holder(std::deque<HeldPacket>& into) : held(into) {}
    bool on_packet(ConstSpan packet) override {
      held.push_back({{packet.begin(), packet.end()}});
      return true;
    }
    void on_matched(MatchedReceive& receive, ConstSpan packet) override {
      held.push_back({{packet.begin(), packet.end()}, &receive});
    }
    void on_cancelled(MatchedReceive& receive) override { held.push_back({{}, &receive, true}); }
    std::deque<HeldPacket>& held;
  };
  std::deque<HeldPacket> held = std::exchange(held_, {});
  Holder holder(held);
  const base::Nanoseconds end = base::now_ns() + kReadTimeoutNs;
  while (read.in_flight != 0 && !fatal_error_ && base::now_ns() < end)
    (void)read_completions(1, holder);
  held_ = std::move(held);
  if (read.in_flight == 0) return;
  if (!fatal_error_)
    fatal_error_ = Error(ErrorClass::other, "a read of a peer's memory over libfabric provider " +
                                                endpoint_.provider() + " did not complete");
  endpoint_.stop();
}

}  // namespace shim::transport
