// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/loop/loop_state.hpp"

#include <algorithm>
#include <string>

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Result;

std::uint32_t LoopNetwork::State::add() {
  std::lock_guard guard(mutex_);
  processes_.emplace_back();
  return static_cast<std::uint32_t>(processes_.size() - 1);
}

void LoopNetwork::State::leave(std::uint32_t number) {
  std::lock_guard guard(mutex_);
  Process& process = processes_[number];
  if (process.condition == Process::Condition::alive) process.condition = Process::Condition::left;
  process.outbox.clear();
  process.inbox.clear();
}

void LoopNetwork::State::lose(std::uint32_t number) { lose(number, Process::Condition::lost); }

void LoopNetwork::State::cut_off(std::uint32_t number) {
  lose(number, Process::Condition::cut_off);
}

void LoopNetwork::State::lose(std::uint32_t number, Process::Condition as) {
  std::lock_guard guard(mutex_);
  processes_[number].condition = as;
  processes_[number].outbox.clear();
  processes_[number].inbox.clear();
  for (Process& other : processes_) {
    other.inbox.erase(number);
    std::erase_if(other.outbox, [&](const Outgoing& packet) { return packet.to == number; });
  }
}

bool LoopNetwork::State::is_lost(std::uint32_t number) const {
  std::lock_guard guard(mutex_);
  return processes_[number].condition == Process::Condition::lost ||
         processes_[number].condition == Process::Condition::cut_off;
}

bool LoopNetwork::State::has_cut_off() const {
  std::lock_guard guard(mutex_);
  return std::ranges::any_of(processes_, [](const Process& process) {
    return process.condition == Process::Condition::cut_off;
  });
}

bool LoopNetwork::State::is_cut_off(std::uint32_t number) const {
  std::lock_guard guard(mutex_);
  return processes_[number].condition == Process::Condition::cut_off;
}

bool LoopNetwork::State::exists(std::uint32_t number) const {
  std::lock_guard guard(mutex_);
  return number < processes_.size();
}

std::size_t LoopNetwork::State::waiting(std::uint32_t from, std::uint32_t to) const {
  const Process& receiver = processes_[to];
  auto arrived = receiver.inbox.find(from);
  const auto& outbox = processes_[from].outbox;
  auto leaving = std::ranges::count_if(outbox,
                                       [&](const Outgoing& packet) { return packet.to == to; });
  return static_cast<std::size_t>(leaving) +
         (arrived == receiver.inbox.end() ? 0 : arrived->second.size());
}

Result<Attempt> LoopNetwork::State::may_send(std::uint32_t from, std::uint32_t to) {
  std::lock_guard guard(mutex_);
  if (processes_[from].condition != Process::Condition::alive) return Attempt::done;  // discarded
  if (processes_[to].condition != Process::Condition::alive)
    return Error(ErrorClass::proc_aborted,
                 "process " + std::to_string(to) + " of the loop network is gone");
  bool refused = faults_.again_chance > 0 &&
                 static_cast<double>(below(1u << 20)) < faults_.again_chance * (1u << 20);
  return refused || waiting(from, to) >= faults_.queue_limit ? Attempt::again : Attempt::done;
}

void LoopNetwork::State::send(std::uint32_t from, std::uint32_t to, Bytes packet) {
  std::lock_guard guard(mutex_);
  Process& sender = processes_[from];
  if (sender.condition != Process::Condition::alive) return;
  ++sent_[{from, to}];
  if (faults_.outbox_polls > 0)
    sender.outbox.push_back({std::move(packet), to, sender.polls + faults_.outbox_polls});
  else
    enqueue(from, to, std::move(packet));
}

std::uint64_t LoopNetwork::State::sent(std::uint32_t from, std::uint32_t to) const {
  std::lock_guard guard(mutex_);
  const auto count = sent_.find({from, to});
  return count == sent_.end() ? 0 : count->second;
}

void LoopNetwork::State::enqueue(std::uint32_t from, std::uint32_t to, Bytes bytes) {
  Process& receiver = processes_[to];
  if (receiver.condition != Process::Condition::alive) return;
  auto& queue = receiver.inbox[from];
  std::uint64_t visible_at = receiver.polls +
                             (faults_.max_delay > 0 ? below(faults_.max_delay + 1u) : 0);
  if (!queue.empty())
    visible_at = std::max(visible_at, queue.back().visible_at);  // order within the pair
  queue.push_back({std::move(bytes), sequence_++, visible_at});
}

void LoopNetwork::State::begin_poll(std::uint32_t number) {
  std::lock_guard guard(mutex_);
  Process& process = processes_[number];
  ++process.polls;
  while (!process.outbox.empty() && process.outbox.front().leaves_at <= process.polls) {
    Outgoing packet = std::move(process.outbox.front());
    process.outbox.pop_front();
    enqueue(number, packet.to, std::move(packet.bytes));
  }
}

std::optional<Bytes> LoopNetwork::State::next_for(std::uint32_t number,
                                                  std::optional<std::uint32_t> wanted) {
  std::lock_guard guard(mutex_);
  Process& process = processes_[number];
  std::vector<std::deque<Packet>*> ready;
  for (auto& [sender, queue] : process.inbox)
    if (!queue.empty() && queue.front().visible_at <= process.polls &&
        wanted.value_or(sender) == sender)
      ready.push_back(&queue);
  if (ready.empty()) return std::nullopt;
  auto* chosen = faults_.reorder_pairs ? ready[below(ready.size())]
                                       : *std::ranges::min_element(ready, {}, [](auto* queue) {
                                           return queue->front().sequence;
                                         });
  Bytes bytes = std::move(chosen->front().bytes);
  chosen->pop_front();
  return bytes;
}

ConstSpan LoopNetwork::State::front_for(std::uint32_t number, std::uint32_t sender) const {
  std::lock_guard guard(mutex_);
  const Process& process = processes_[number];
  auto queue = process.inbox.find(sender);
  if (queue == process.inbox.end() || queue->second.empty() ||
      queue->second.front().visible_at > process.polls)
    return {};
  return queue->second.front().bytes;
}

bool LoopNetwork::State::outbox_is_empty(std::uint32_t number) const {
  std::lock_guard guard(mutex_);
  return processes_[number].outbox.empty();
}

CooperativeCopy& LoopNetwork::State::cooperative_copy(std::uint32_t from, std::uint32_t to) {
  std::lock_guard guard(mutex_);
  return cooperative_copies_[{from, to}];
}

std::size_t LoopNetwork::State::in_flight() const {
  std::lock_guard guard(mutex_);
  std::size_t count = 0;
  for (const Process& process : processes_) {
    count += process.outbox.size();
    for (const auto& [sender, queue] : process.inbox) count += queue.size();
  }
  return count;
}

}  // namespace shim::transport
