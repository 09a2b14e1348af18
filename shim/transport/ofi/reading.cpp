// SPDX-License-Identifier: BSD-3-Clause
// Reads of other processes' memory, without their program's help (though some providers want the other process to poll).
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

/// Of one message at once: the next are on their way while one arrives.
constexpr std::size_t kReadWindow = 8;
/// A provider that has not ended a read by then, though we poll, never will: the endpoint is closed, since the memory is somebody
/// else's afterwards.
constexpr base::Nanoseconds kSettleNs = 2'000'000'000;

}  // namespace

class OfiOffered final : public Offer {
 public:
  OfiOffered(const Ofi& of, Registration registration, ConstSpan memory) : of_(of), registration_(std::move(registration)) {
    memory_ = {reinterpret_cast<std::uintptr_t>(memory.data()), ::fi_mr_key(registration_.get())};
  }
  ~OfiOffered() override {
    if (!of_.mark_.is_own_process()) (void)registration_.release();
  }
  RemoteMemory memory() const override { return memory_; }

 private:
  const Ofi& of_;
  Registration registration_;
  RemoteMemory memory_;
};

class OfiRead final : public Read {
 public:
  OfiRead(Ofi& of, OfiLink& link, const RemoteMemory& from, std::span<std::byte> into, Registration local)
      : of_(of), link_(link), from_(from), into_(into), local_(std::move(local)),
        description_(local_ ? ::fi_mr_desc(local_.get()) : nullptr) {}
  ~OfiRead() override {
    of_.settle(*this);
    if (!of_.mark_.is_own_process()) (void)local_.release();
  }

  Result<std::size_t> progress() override;
  /// One of the reads that this one consists of is over.
  void end_one(std::size_t bytes, int code) {
    --under_way;
    if (code == 0) arrived_ += bytes;
    else if (code_ == 0) code_ = code;
  }

  std::size_t under_way = 0;

 private:
  Result<Attempt> begin_next();

  Ofi& of_;
  OfiLink& link_;
  const RemoteMemory from_;
  const std::span<std::byte> into_;
  Registration local_;
  void* description_;
  std::size_t begun_ = 0, arrived_ = 0;  ///< bytes
  int code_ = 0;                         ///< libfabric's, of the first that failed
};

/// An error is told when nothing is under way any more, so that nothing comes into the memory after it.
Result<std::size_t> OfiRead::progress() {
  SHIM_TRY(of_.check());
  while (code_ == 0 && begun_ != into_.size() && under_way != kReadWindow) {
    SHIM_TRY_ASSIGN(const Attempt attempt, begin_next());
    if (attempt != Attempt::done) break;
  }
  if (code_ != 0 && under_way == 0)
    return of_.library_.error(code_, "reading another process's memory over " + of_.endpoint_.provider());
  return arrived_;
}

Result<Attempt> OfiRead::begin_next() {
  SHIM_TRY_ASSIGN(const Attempt ready, of_.make_ready(link_));
  if (ready != Attempt::done) return ready;
  Operation* read = of_.reads_.take();
  if (!read) return Attempt::again;
  read->read = this;
  read->length = std::min(into_.size() - begun_, of_.traits_.read_bytes);
  const std::uint64_t from = (of_.traits_.reads_by_address ? from_.address : 0) + begun_;
  const ssize_t code = ::fi_read(of_.endpoint_.ep(), into_.data() + begun_, read->length, description_, link_.address, from, from_.key,
                                 &read->context);
  if (code != 0) {
    of_.reads_.give_back(read);
    if (!is_passing(code)) code_ = static_cast<int>(-code);
    return Attempt::again;
  }
  ++under_way;
  begun_ += read->length;
  return Attempt::done;
}

std::unique_ptr<Offer> Ofi::offer(Link&, ConstSpan memory) {
  if (traits_.read_bytes == 0 || memory.empty() || !check()) return nullptr;
  auto registration = endpoint_.register_memory(library_, memory, FI_REMOTE_READ);
  if (!registration) return nullptr;
  return std::make_unique<OfiOffered>(*this, *std::move(registration), memory);
}

std::unique_ptr<Read> Ofi::begin_read(Link& link, const RemoteMemory& from, std::span<std::byte> into) {
  if (traits_.read_bytes == 0 || !check()) return nullptr;
  Registration local;
  if (traits_.registers_buffers && !into.empty()) {
    auto registration = endpoint_.register_memory(library_, into, FI_READ);
    if (!registration) return nullptr;
    local = *std::move(registration);
  }
  return std::make_unique<OfiRead>(*this, static_cast<OfiLink&>(link), from, into, std::move(local));
}

void Ofi::end_read(Operation& operation, int code) {
  OfiRead* read = std::exchange(operation.read, nullptr);
  reads_.give_back(&operation);
  if (code == 0) counts_.bytes_read += operation.length;
  read->end_one(operation.length, code);
}

/// Until nothing of it is under way. What comes meanwhile waits for the next poll.
void Ofi::settle(OfiRead& read) {
  if (read.under_way == 0 || !mark_.is_own_process()) return;
  struct Holder final : Sink {
    explicit Holder(std::deque<Held>& into) : held(into) {}
    bool on_packet(ConstSpan packet) override {
      held.push_back({{packet.begin(), packet.end()}});
      return true;
    }
    void on_matched(MatchedReceive& receive, ConstSpan packet) override { held.push_back({{packet.begin(), packet.end()}, &receive}); }
    void on_withdrawn(MatchedReceive& receive) override { held.push_back({{}, &receive, true}); }
    std::deque<Held>& held;
  };
  std::deque<Held> held = std::exchange(held_, {});
  Holder holder(held);
  const base::Nanoseconds end = base::now_ns() + kSettleNs;
  while (read.under_way != 0 && !broken_ && base::now_ns() < end) (void)read_completions(1, holder);
  held_ = std::move(held);
  if (read.under_way == 0) return;
  if (!broken_) broken_ = Error(ErrorClass::other, "a read of another process's memory over " + endpoint_.provider() + " did not end");
  endpoint_.close();
}

}  // namespace shim::transport
