// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/shared_copies.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace shim::p2p {

namespace {

/// Long enough to amortize a part's fixed cost, short enough that waiting for the last part is
/// short.
constexpr std::uint64_t kPartBytes = 32 * 1024;
constexpr std::uint64_t kMinShared = 2 * kPartBytes;
constexpr int kWritesPerRound = 4;

std::uint32_t parts_of(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + kPartBytes - 1) / kPartBytes);
}

/// Location of a part in a message.
struct ByteRange {
  std::uint64_t offset, bytes;
  ByteRange(const transport::CooperativeCopy::ClaimedParts& parts, std::uint64_t message)
      : offset(parts.first * kPartBytes),
        bytes(std::min(parts.count * kPartBytes, message - offset)) {}
};

}  // namespace

/// True if copying together is worth it. False if processes outnumber cores, because others need
/// the sender's core, or if this process sends long messages, too: then usually all do, no core is
/// idle, and many small parts would take longer.
bool SharedCopies::is_for_two(const ReceiveRequest& request, bool sends_long) const {
  return request.wanted >= kMinShared && request.into.is_one_run() && request.peer->can_write &&
         !sends_long && !collaborators_.load.is_oversubscribed();
}

/// Return false if the two processes share no memory. Otherwise the request may be gone.
bool SharedCopies::begin(ReceiveRequest& request) {
  Peer& from = *request.peer;
  transport::CooperativeWrites* const writes = from.interfaces->cooperative_writes;
  request.shared_copy = writes == nullptr ? nullptr : writes->cooperative_copy_from(*from.link);
  if (request.shared_copy == nullptr) return from.can_write = false;
  request.parts = parts_of(request.wanted);
  request.generation = request.shared_copy->open(request.parts, base::now_ns());
  from.shared = &request;
  wire::Share wanted;
  wanted.generation = request.generation;
  wanted.send = request.remote_send;
  wanted.address = reinterpret_cast<std::uintptr_t>(request.into.window(0, 1).data());
  wanted.bytes = request.wanted;
  collaborators_.output.transmit(from, wanted);
  return true;
}

/// Copy one part, or check whether the sender has finished its parts. The request may be gone if
/// data has moved.
SharedCopies::State SharedCopies::copy(ReceiveRequest& request) {
  Peer& from = *request.peer;
  if (const auto parts = request.shared_copy->claim(request.generation); parts.count != 0) {
    request.parts -= parts.count;
    const ByteRange own(parts, request.wanted);
    auto read = from.interfaces->remote_reads->try_read(*from.link,
                                                        request.remote_address + own.offset,
                                                        request.into.window(own.offset, own.bytes));
    if (!read && read.error().error_class() == base::ErrorClass::proc_aborted) {
      collaborators_.failures.fail_link(from, read.error());
      return State::moved;
    }
    request.shared_copy->heartbeat(base::now_ns());
    // After a failed read, stop sharing: once the sender has finished its parts, this process reads
    // the whole message alone, and that read handles the error.
    if (!read || *read != transport::Attempt::done) {
      request.is_read_alone = true;
      request.parts -= request.shared_copy->close(request.generation);
    }
    return State::moved;
  }
  if (!request.shared_copy->is_complete(request.parts)) return State::waits;
  const bool is_whole = !request.is_read_alone && !request.shared_copy->was_refused();
  end(request);
  if (is_whole)
    request.received = request.wanted;
  else
    from.can_write = false;  // read again from the beginning, alone
  return State::over;
}

/// Release the shared copy, and reserve it for the next message that waits for it. That message may
/// still be read alone (give_up_sharing). While messages wait, Peer::shared is not null.
void SharedCopies::end(ReceiveRequest& request) {
  Peer& from = *request.peer;
  request.shared_copy = nullptr;
  from.shared = nullptr;
  const auto next = std::find_if(
      from.incoming.begin(), from.incoming.end(),
      [](const ReceiveRequest& other) { return other.waits_for_shared_copy; });
  if (next == from.incoming.end()) return;
  from.shared = &*next;
  collaborators_.reads.read_now(*next);
}

/// Cancel the reservation of the shared copy: the message that has it and all that wait for it are
/// read alone.
void SharedCopies::give_up(Peer& from) {
  from.shared = nullptr;
  for (ReceiveRequest& request : from.incoming)
    if (request.waits_for_shared_copy) collaborators_.reads.read_now(request);
}

/// Release the shared copy of a receive that ends early. First wait until a sender that is writing
/// a part has finished: afterwards the program may reuse the buffer.
void SharedCopies::stop(ReceiveRequest& request) {
  request.waits_for_shared_copy = false;
  if (request.peer->shared != &request) return;
  if (request.shared_copy != nullptr) {
    request.parts -= request.shared_copy->close(request.generation);
    wait_for_writes(request);
  }
  end(request);
}

/// Wait for the parts that the sender has claimed: microseconds once it runs. A stopped sender
/// makes this call wait, which is then reported.
void SharedCopies::wait_for_writes(const ReceiveRequest& request) {
  constexpr int kYields = 1000;
  constexpr auto kSleep = std::chrono::milliseconds(1);
  WaitFor subject("the sender of a message to finish its part of the copy");
  const bool is_gone = request.peer->failure.has_value();
  for (int round = 0; !is_gone && !request.shared_copy->is_complete(request.parts) &&
                      !collaborators_.router->has_died(request.peer->process);
       ++round) {
    if (round < kYields) {
      sched_yield();
      continue;
    }
    collaborators_.reporter.report_if_due(subject);
    std::this_thread::sleep_for(kSleep);
  }
}

void SharedCopies::on_share(const wire::Share& header) {
  SendRequest* request = collaborators_.send_ids.find(header.send);
  if (request == nullptr || request->streaming || header.bytes > request->data.bytes()) {
    ++collaborators_.counts.stale_dropped;
    return;
  }
  shares_.push_back(header);
}

/// Write only if no messages are to be read: two processes that write into each other's memory at
/// once take longer than two that only read.
int SharedCopies::write_some(bool has_reads) {
  int written = 0;
  while (written < kWritesPerRound && !shares_.empty() && !has_reads) {
    if (write_parts(shares_.front()))
      ++written;
    else
      shares_.pop_front();
  }
  return written;
}

/// Return false if nothing is left to write, or the part is not ours.
bool SharedCopies::write_parts(const wire::Share& share) {
  SendRequest* request = collaborators_.send_ids.find(share.send);
  if (request == nullptr || request->peer == nullptr || request->peer->link == nullptr)
    return false;
  transport::CooperativeWrites* const writes = request->peer->interfaces->cooperative_writes;
  if (writes == nullptr) return false;
  transport::Link& link = *request->peer->link;
  transport::CooperativeCopy* copy = writes->cooperative_copy_to(link);
  const auto may = writes->try_write(link, 0, {});  // only checks whether writing is possible
  if (copy == nullptr || !may || *may != transport::Attempt::done ||
      !copy->has_recent_heartbeat(base::now_ns()))
    return false;
  const auto parts = copy->claim(share.generation);
  if (parts.count == 0) return false;
  const ByteRange ours(parts, share.bytes);
  const auto written = writes->try_write(link, share.address + ours.offset,
                                         request->data.window(ours.offset, ours.bytes));
  const bool is_written = written && *written == transport::Attempt::done;
  if (is_written) {
    copy->report_written(share.generation, parts.count);
    collaborators_.counts.parts_written += parts.count;
  } else {
    copy->report_refused(share.generation, parts.count);
  }
  return is_written;
}

}  // namespace shim::p2p
