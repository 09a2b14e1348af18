// SPDX-License-Identifier: BSD-3-Clause
// Long messages that both processes copy: while the receiver reads, a sender that is in here anyway writes, each a part at a time
// (transport/copy_board.hpp). One core moves half of what two do.
#include <sched.h>

#include <algorithm>

#include "shim/p2p/core.hpp"

namespace shim::p2p {

namespace {

/// Long enough that what a part costs besides its bytes does not count, short enough that the last one is not waited for.
constexpr std::uint64_t kPartBytes = 32 * 1024;
constexpr std::uint64_t kLeastShared = 2 * kPartBytes;
constexpr int kWritesPerRound = 4;

std::uint32_t parts_of(std::uint64_t bytes) { return static_cast<std::uint32_t>((bytes + kPartBytes - 1) / kPartBytes); }

/// Where parts lie in a message.
struct Stretch {
  std::uint64_t offset, bytes;
  Stretch(const transport::CopyBoard::Parts& parts, std::uint64_t message)
      : offset(parts.first * kPartBytes), bytes(std::min(parts.count * kPartBytes, message - offset)) {}
};

}  // namespace

/// Not where processes outnumber cores: the sender's is wanted by others. Nor where this process sends long messages as well: mostly all
/// do then, so that no core is idle, and many small parts would take longer.
bool Core::is_for_two(const ReceiveRequest& request) const {
  return request.wanted >= kLeastShared && request.into.is_one_run() && request.peer->can_write && long_sends_ == 0 && !is_crowded_.load(std::memory_order_relaxed);
}

/// False where the two share no memory. Else the request may be gone.
bool Core::begin_sharing(ReceiveRequest& request) {
  Peer& from = *request.peer;
  request.board = from.transport->copy_board_from(*from.link);
  if (request.board == nullptr) return from.can_write = false;
  request.parts = parts_of(request.wanted);
  request.turn = request.board->open(request.parts, base::now_ns());
  from.shared = &request;
  wire::Share wanted;
  wanted.turn = request.turn;
  wanted.send = request.remote_send;
  wanted.address = reinterpret_cast<std::uintptr_t>(request.into.window(0, 1).data());
  wanted.bytes = request.wanted;
  transmit(from, wanted);
  return true;
}

/// One part, or a look whether the sender has ended its own. The request may be gone once something has moved.
Core::Sharing Core::copy_shared(ReceiveRequest& request) {
  Peer& from = *request.peer;
  if (const auto parts = request.board->take(request.turn); parts.count != 0) {
    request.parts -= parts.count;
    const Stretch own(parts, request.wanted);
    auto read = from.transport->try_read(*from.link, request.remote_address + own.offset, request.into.window(own.offset, own.bytes));
    if (!read && read.error().error_class() == base::ErrorClass::proc_aborted) {
      lose_way(from, read.error());
      return Sharing::moved;
    }
    request.board->beat(base::now_ns());
    if (!read || *read != transport::Attempt::done) {  // why, and what then, is for the way alone, once the sender has ended its parts
      request.goes_alone = true;
      request.parts -= request.board->close(request.turn);
    }
    return Sharing::moved;
  }
  if (!request.board->is_settled(request.parts)) return Sharing::waits;
  const bool is_whole = !request.goes_alone && !request.board->was_refused();
  end_sharing(request);
  if (is_whole) request.received = request.wanted;
  else from.can_write = false;  // once more, from the beginning and alone
  return Sharing::over;
}

void Core::read_now(ReceiveRequest& waiting) {
  waiting.waits_turn = false;
  waiting.reading = true;
  reads_.push_back(waiting);
}

/// The board is the next one's, which may yet go alone. While messages wait for it, it is always somebody's.
void Core::end_sharing(ReceiveRequest& request) {
  Peer& from = *request.peer;
  request.board = nullptr;
  from.shared = nullptr;
  const auto next = std::find_if(from.incoming.begin(), from.incoming.end(), [](const ReceiveRequest& other) { return other.waits_turn; });
  if (next == from.incoming.end()) return;
  from.shared = &*next;
  read_now(*next);
}

/// Whose turn it is reads alone, and so will those behind it.
void Core::give_up_sharing(Peer& from) {
  from.shared = nullptr;
  for (ReceiveRequest& request : from.incoming)
    if (request.waits_turn) read_now(request);
}

/// The receive ends before its message: a sender that is writing a part of it must have ended that first, which takes microseconds once
/// it runs.
void Core::stop_sharing(ReceiveRequest& request) {
  request.waits_turn = false;
  if (request.peer->shared != &request) return;
  if (request.board != nullptr) {
    request.parts -= request.board->close(request.turn);
    const bool is_gone = request.peer->failure.has_value();
    while (!is_gone && !request.board->is_settled(request.parts) && !spec.router->has_died(request.peer->process)) sched_yield();
  }
  end_sharing(request);
}

void Core::on_share(const wire::Share& header) {
  SendRequest* request = send_ids_.find(header.send);
  if (request == nullptr || request->streaming || header.bytes > request->data.bytes()) {
    ++counts.stale_dropped;
    return;
  }
  shares_.push_back(header);
}

/// Not while we have messages to read: two that write into each other's memory at once take longer than two that only read.
int Core::write_some() {
  int written = 0;
  while (written < kWritesPerRound && !shares_.empty() && reads_.empty()) {
    if (write_parts(shares_.front())) ++written;
    else shares_.pop_front();
  }
  return written;
}

/// False: nothing is left to do, or it is not ours to do.
bool Core::write_parts(const wire::Share& share) {
  SendRequest* request = send_ids_.find(share.send);
  if (request == nullptr || request->peer == nullptr || request->peer->link == nullptr) return false;
  transport::Transport& transport = *request->peer->transport;
  transport::Link& link = *request->peer->link;
  transport::CopyBoard* board = transport.copy_board_to(link);
  const auto may = transport.try_write(link, 0, {});
  if (board == nullptr || !may || *may != transport::Attempt::done || !board->is_watched(base::now_ns())) return false;
  const auto parts = board->take(share.turn);
  if (parts.count == 0) return false;
  const Stretch ours(parts, share.bytes);
  const auto written = transport.try_write(link, share.address + ours.offset, request->data.window(ours.offset, ours.bytes));
  const bool is_written = written && *written == transport::Attempt::done;
  if (is_written) {
    board->tell_written(share.turn, parts.count);
    counts.parts_written += parts.count;
  } else {
    board->tell_refused(share.turn, parts.count);
  }
  return is_written;
}

}  // namespace shim::p2p
