// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/p2p/partitions.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "shim/intercept/abi/status.hpp"

namespace shim::intercept {

using base::Error;
using base::ErrorClass;
using p2p::Plane;

namespace {

constexpr int kPlanTag = p2p::kFirstPartitionTag;
/// Number of tags after kPlanTag; reused from the first when all have been used.
constexpr std::uint32_t kTags = 0x1fffffff;

types::Buffer bytes_at(void* address, std::uint64_t bytes) {
  return {address, bytes, &types::byte_type()};
}

Error not_persistent(const char* why) { return Error(ErrorClass::request, why); }

struct PartitionMatchers {
  std::mutex mutex;
  std::unordered_map<const sessions::Communicator*, PartitionMatcherPtr> by_comm;
};
PartitionMatchers& partition_matchers() {
  static PartitionMatchers& all = *new PartitionMatchers;
  return all;
}

}  // namespace

PartitionMatcherPtr partition_matcher(sessions::Communicator& comm) {
  std::lock_guard lock(partition_matchers().mutex);
  PartitionMatcherPtr& matcher = partition_matchers().by_comm[&comm];
  if (!matcher) matcher = std::make_shared<PartitionMatcher>(comm);
  return matcher;
}

void forget_partition_matcher(const sessions::Communicator* comm) {
  PartitionMatcherPtr gone;  // destroyed without the lock
  std::lock_guard lock(partition_matchers().mutex);
  auto at = partition_matchers().by_comm.find(comm);
  if (at == partition_matchers().by_comm.end()) return;
  gone = std::move(at->second);
  partition_matchers().by_comm.erase(at);
}

PartitionMatcher::PartitionMatcher(sessions::Communicator& comm)
    : comm_(comm), progress_(comm.engine().add_progress([this] { advance(); })) {}

PartitionMatcher::~PartitionMatcher() {
  comm_.engine().remove_progress(progress_);
  for (auto& [rank, source] : sources_) {
    if (source.word == nullptr) continue;
    static_cast<void>(p2p::Engine::cancel(*source.word));
    p2p::Engine::release(source.word);
  }
}

void PartitionOrder::drop(const void* request) {
  auto at = std::ranges::find(unstarted_, request, &Unstarted::request);
  const bool has_later_start = at->number < started_end_;
  at = unstarted_.erase(at);
  if (has_later_start) return;  // its number is final
  for (; at != unstarted_.end(); ++at) --at->number;
  --next_;
}

std::uint64_t PartitionOrder::start(const void* request) {
  auto at = std::ranges::find(unstarted_, request, &Unstarted::request);
  const std::uint64_t number = at->number;
  started_end_ = std::max(started_end_, number + 1);
  unstarted_.erase(at);
  return number;
}

void PartitionMatcher::add_send(int dest, int tag, const void* send) {
  std::lock_guard lock(mutex_);
  destinations_[dest].orders[tag].add(send);
}

void PartitionMatcher::add_receive(int source, int tag, PartitionedReceive* receive) {
  std::lock_guard lock(mutex_);
  sources_[source].orders[tag].add(receive);
}

void PartitionMatcher::drop_send(int dest, int tag, const void* send) {
  std::lock_guard lock(mutex_);
  destinations_[dest].orders[tag].drop(send);
}

void PartitionMatcher::drop_receive(int rank, int tag, const PartitionedReceive* receive,
                                    bool was_started) {
  std::lock_guard lock(mutex_);
  Source& source = sources_[rank];
  if (was_started)
    std::erase_if(source.waiting, [&](const auto& waiting) { return waiting.second == receive; });
  else
    source.orders[tag].drop(receive);
}

base::Result<PartitionPlan> PartitionMatcher::announce(int dest, const void* send,
                                                       PartitionPlan plan) {
  {
    std::lock_guard lock(mutex_);
    Destination& destination = destinations_[dest];
    std::uint32_t& taken = destination.tags_taken;
    const auto wanted = static_cast<std::uint32_t>(plan.partitions);
    if (kTags - taken < wanted) taken = 0;
    plan.first_tag = static_cast<int>(static_cast<std::uint32_t>(kPlanTag) + 1 + taken);
    taken += wanted;
    plan.number = destination.orders[plan.user_tag].start(send);
  }
  auto& engine = comm_.engine();
  types::Buffer word = bytes_at(&plan, sizeof plan);
  SHIM_TRY_ASSIGN(p2p::Request * sent,
                  engine.isend_copied(comm_.context(), {word.address, word.count, word.type}, dest,
                                      kPlanTag, Plane::collective));
  p2p::Engine::release(sent);
  return plan;
}

base::Status PartitionMatcher::listen(int rank, Source& source) {
  auto& engine = comm_.engine();
  SHIM_TRY_ASSIGN(source.word,
                  engine.irecv(comm_.context(), bytes_at(&source.plan, sizeof source.plan), rank,
                               kPlanTag, Plane::collective));
  return {};
}

base::Status PartitionMatcher::expect(int rank, int tag, PartitionedReceive* receive) {
  std::lock_guard lock(mutex_);
  Source& source = sources_[rank];
  const SequenceKey key(tag, source.orders[tag].start(receive));
  if (auto at = source.unexpected.find(key); at != source.unexpected.end()) {
    receive->set_plan(at->second);
    source.unexpected.erase(at);
    return {};
  }
  if (source.word == nullptr) SHIM_TRY(listen(rank, source));
  source.waiting[key] = receive;
  return {};
}

void PartitionMatcher::match(Source& source, const PartitionPlan& plan) {
  const SequenceKey key(plan.user_tag, plan.number);
  auto at = source.waiting.find(key);
  if (at == source.waiting.end()) {
    source.unexpected[key] = plan;
    return;
  }
  at->second->set_plan(plan);
  source.waiting.erase(at);
}

void PartitionMatcher::advance() {
  std::lock_guard lock(mutex_);
  for (auto& [rank, source] : sources_) {
    base::Status received;
    while (received && source.word != nullptr && source.word->is_done()) {
      if (const Error* error = source.word->error()) received = error->clone();
      p2p::Engine::release(std::exchange(source.word, nullptr));
      if (!received) break;
      match(source, source.plan);
      if (!source.waiting.empty()) received = listen(rank, source);
    }
    if (received) continue;
    for (auto& [key, receive] : std::exchange(source.waiting, {}))
      receive->fail(received.error().clone());
  }
}

int PartitionedRequest::describe(MPI_Status* status) {
  abi::write_status(status, outcome());
  return MPI_SUCCESS;
}

base::Status PartitionedRequest::check_partition(int partition) const {
  if (partition >= 0 && partition < partitions_) return {};
  return Error(ErrorClass::arg, "the partition " + std::to_string(partition) + " is not in 0…" +
                                    std::to_string(partitions_ - 1));
}

bool PartitionedRequest::are_over() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const p2p::Request* part) { return part != nullptr && part->is_done(); });
}

void PartitionedRequest::end(const p2p::MessageStatus& outcome, std::optional<Error> error) {
  for (const p2p::Request* part : parts_)
    if (!error && part != nullptr && part->error() != nullptr) error = part->error()->clone();
  release_parts();
  complete(outcome, std::move(error));
}

void PartitionedRequest::release_parts() {
  for (p2p::Request* part : parts_) p2p::Engine::release(part);
  parts_.clear();
}

PartitionedSend::PartitionedSend(PartitionMatcherPtr matcher, types::ConstBuffer data,
                                 int partitions, int dest, int tag)
    : PartitionedRequest(std::move(matcher), *data.type, partitions, dest), data_(data), tag_(tag) {
  if (dest != p2p::kProcNull) matcher_->add_send(dest, tag, this);
}

PartitionedSend::~PartitionedSend() {
  if (!was_started_ && peer_ != p2p::kProcNull) matcher_->drop_send(peer_, tag_, this);
}

base::Status PartitionedSend::on_start() {
  std::lock_guard lock(mutex_);
  if (first_tag_ == 0 && peer_ != p2p::kProcNull) {
    if (std::exchange(was_started_, true))
      return not_persistent("the partitioned send failed at its first start; free it");
    const std::uint64_t bytes = partitions_ > 0
                                    ? data_.bytes() / static_cast<std::uint64_t>(partitions_)
                                    : 0;
    SHIM_TRY_ASSIGN(const PartitionPlan plan,
                    matcher_->announce(peer_, this, {tag_, 0, partitions_, bytes}));
    first_tag_ = plan.first_tag;
  }
  was_started_ = true;
  marked_ = 0;
  parts_.assign(static_cast<std::size_t>(partitions_), nullptr);
  return {};
}

base::Status PartitionedSend::send(int partition) {
  p2p::Request*& part = parts_[static_cast<std::size_t>(partition)];
  if (part != nullptr)
    return Error(ErrorClass::arg,
                 "the partition " + std::to_string(partition) + " is already marked as ready");
  const std::uint64_t count = data_.count / static_cast<std::uint64_t>(partitions_);
  const auto offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(partition) * count) *
                      data_.type->extent;
  const types::ConstBuffer data{static_cast<const std::byte*>(data_.address) + offset, count,
                                data_.type};
  SHIM_TRY_ASSIGN(part,
                  engine().isend(matcher_->comm().context(), data, peer_, first_tag_ + partition,
                                 p2p::SendMode::standard, Plane::collective));
  ++marked_;
  return {};
}

base::Status PartitionedSend::ready(int low, int high) {
  SHIM_TRY(check_partition(low));
  SHIM_TRY(check_partition(high));
  std::lock_guard lock(mutex_);
  if (!is_active() || is_done())
    return not_persistent("the partitioned send is not active; start it first (MPI_Start)");
  for (int partition = low; partition <= high; ++partition) SHIM_TRY(send(partition));
  return {};
}

base::Result<bool> PartitionedSend::has_arrived(int) {
  return not_persistent("the request is a partitioned send; MPI_Parrived needs a receive");
}

void PartitionedSend::advance() {
  std::lock_guard lock(mutex_);
  if (!is_done() && marked_ == partitions_ && are_over()) end(p2p::MessageStatus{}, std::nullopt);
}

PartitionedReceive::PartitionedReceive(PartitionMatcherPtr matcher, types::Buffer into,
                                       int partitions, int source, int tag)
    : PartitionedRequest(std::move(matcher), *into.type, partitions, source),
      into_(into),
      tag_(tag) {
  if (source != p2p::kProcNull) matcher_->add_receive(source, tag, this);
}

PartitionedReceive::~PartitionedReceive() {
  if (peer_ != p2p::kProcNull) matcher_->drop_receive(peer_, tag_, this, was_started_);
}

void PartitionedReceive::set_plan(const PartitionPlan& plan) {
  std::lock_guard lock(mutex_);
  plan_ = plan;
}

void PartitionedReceive::fail(Error error) {
  std::lock_guard lock(mutex_);
  no_plan_ = std::move(error);
}

base::Status PartitionedReceive::on_start() {
  {
    std::lock_guard lock(mutex_);
    posted_ = false;
    if (peer_ == p2p::kProcNull) {
      end({.source = p2p::kProcNull}, std::nullopt);
      return {};
    }
  }
  if (!std::exchange(was_started_, true)) {
    base::Status expected = matcher_->expect(peer_, tag_, this);
    if (!expected) fail(expected.error().clone());
  }
  matcher_->advance();
  std::lock_guard lock(mutex_);
  return plan_ ? post() : base::Status{};
}

base::Status PartitionedReceive::post() {
  const auto partitions = static_cast<std::size_t>(plan_->partitions);
  auto* begin = static_cast<std::byte*>(into_.address);
  if (!is_direct()) {
    staged_.resize(total());
    begin = staged_.data();
  }
  unpacked_.assign(partitions, is_direct());
  parts_.assign(partitions, nullptr);
  for (std::size_t i = 0; i < partitions; ++i) {
    types::Buffer into = bytes_at(begin + i * plan_->bytes, plan_->bytes);
    SHIM_TRY_ASSIGN(parts_[i],
                    engine().irecv(matcher_->comm().context(), into, peer_,
                                   plan_->first_tag + static_cast<int>(i), Plane::collective));
  }
  posted_ = true;
  return {};
}

/// Unpack the messages that have arrived; data beyond the receive buffer is lost
/// (MPI_ERR_TRUNCATE).
void PartitionedReceive::unpack() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (unpacked_[i] || !parts_[i]->is_done()) continue;
    unpacked_[i] = true;
    const std::uint64_t first = i * plan_->bytes,
                        end = std::min(first + plan_->bytes, into_.bytes());
    if (first < end)
      types::unpack(*into_.type, {staged_.data() + first, static_cast<std::size_t>(end - first)},
                    first, into_.address);
  }
}

void PartitionedReceive::advance() {
  matcher_->advance();
  std::lock_guard lock(mutex_);
  if (is_done() || !is_active()) return;
  if (no_plan_) return end({.source = peer_, .tag = tag_}, no_plan_->clone());
  if (!plan_) return;
  if (!posted_) {
    if (base::Status posted = post(); !posted)
      return end({.source = peer_, .tag = tag_}, std::move(posted).error());
  }
  unpack();
  if (!are_over()) return;
  std::optional<Error> error;
  if (total() > into_.bytes())
    error = Error(ErrorClass::truncate, "partitions of " + std::to_string(total()) +
                                            " bytes in total exceed the receive buffer of " +
                                            std::to_string(into_.bytes()) + " bytes");
  end({peer_, tag_, std::min(total(), into_.bytes())}, std::move(error));
}

/// True if a partition of the sender carries data of one of our partitions. For partitions without
/// bytes, true if both are at equal fractions of the whole.
bool PartitionedReceive::does_overlap(std::size_t part, int partition) const {
  const std::uint64_t ours = into_.bytes() / static_cast<std::uint64_t>(partitions_),
                      theirs = plan_->bytes;
  const auto p = static_cast<std::uint64_t>(partition);
  if (ours > 0 && theirs > 0 && p * ours < total())
    return part * theirs < (p + 1) * ours && (part + 1) * theirs > p * ours;
  const auto our_count = static_cast<std::uint64_t>(partitions_),
             their_count = static_cast<std::uint64_t>(plan_->partitions);
  return part * our_count < (p + 1) * their_count && (part + 1) * our_count > p * their_count;
}

base::Status PartitionedReceive::ready(int, int) {
  return not_persistent(
      "the request is a partitioned receive; only partitions of sends can be marked as ready");
}

base::Result<bool> PartitionedReceive::has_arrived(int partition) {
  SHIM_TRY(check_partition(partition));
  if (!is_active() || is_done()) return true;
  SHIM_TRY(engine().progress());
  advance();
  std::lock_guard lock(mutex_);
  if (is_done()) return true;
  if (!posted_) return false;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (does_overlap(i, partition) && (!parts_[i]->is_done() || !unpacked_[i])) return false;
  return true;
}

}  // namespace shim::intercept
