// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/partitions.hpp"

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
constexpr std::uint32_t kTags = 0x1fffffff;  ///< those after kPlanTag; used again from the first on when all have been

types::Buffer bytes_at(void* address, std::uint64_t bytes) { return {address, bytes, &types::byte_type()}; }

Error not_persistent(const char* why) { return Error(ErrorClass::request, why); }

struct Boards {
  std::mutex mutex;
  std::unordered_map<const sessions::Communicator*, PartitionBoardPtr> by_comm;
};
Boards& boards() {
  static Boards& all = *new Boards;
  return all;
}

}  // namespace

PartitionBoardPtr partition_board(sessions::Communicator& comm) {
  std::lock_guard lock(boards().mutex);
  PartitionBoardPtr& board = boards().by_comm[&comm];
  if (!board) board = std::make_shared<PartitionBoard>(comm);
  return board;
}

void forget_partition_board(const sessions::Communicator* comm) {
  PartitionBoardPtr gone;  // goes without the lock
  std::lock_guard lock(boards().mutex);
  auto at = boards().by_comm.find(comm);
  if (at == boards().by_comm.end()) return;
  gone = std::move(at->second);
  boards().by_comm.erase(at);
}

PartitionBoard::PartitionBoard(sessions::Communicator& comm)
    : comm_(comm), progress_(comm.engine().add_progress([this] { advance(); })) {}

PartitionBoard::~PartitionBoard() {
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
  if (has_later_start) return;  // whose number is final
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

void PartitionBoard::add_send(int dest, int tag, const void* send) {
  std::lock_guard lock(mutex_);
  destinations_[dest].orders[tag].add(send);
}

void PartitionBoard::add_receive(int source, int tag, PartitionedReceive* receive) {
  std::lock_guard lock(mutex_);
  sources_[source].orders[tag].add(receive);
}

void PartitionBoard::drop_send(int dest, int tag, const void* send) {
  std::lock_guard lock(mutex_);
  destinations_[dest].orders[tag].drop(send);
}

void PartitionBoard::drop_receive(int rank, int tag, const PartitionedReceive* receive,
                                  bool was_started) {
  std::lock_guard lock(mutex_);
  Source& source = sources_[rank];
  if (was_started)
    std::erase_if(source.waiting, [&](const auto& waiting) { return waiting.second == receive; });
  else source.orders[tag].drop(receive);
}

base::Result<PartitionPlan> PartitionBoard::announce(int dest, const void* send,
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
                  engine.isend_copied(comm_.context(), {word.address, word.count, word.type}, dest, kPlanTag, Plane::collective));
  p2p::Engine::release(sent);
  return plan;
}

base::Status PartitionBoard::listen(int rank, Source& source) {
  auto& engine = comm_.engine();
  SHIM_TRY_ASSIGN(source.word, engine.irecv(comm_.context(), bytes_at(&source.plan, sizeof source.plan), rank, kPlanTag, Plane::collective));
  return {};
}

base::Status PartitionBoard::expect(int rank, int tag, PartitionedReceive* receive) {
  std::lock_guard lock(mutex_);
  Source& source = sources_[rank];
  const Place place(tag, source.orders[tag].start(receive));
  if (auto at = source.unexpected.find(place); at != source.unexpected.end()) {
    receive->set_plan(at->second);
    source.unexpected.erase(at);
    return {};
  }
  if (source.word == nullptr) SHIM_TRY(listen(rank, source));
  source.waiting[place] = receive;
  return {};
}

void PartitionBoard::match(Source& source, const PartitionPlan& plan) {
  const Place place(plan.user_tag, plan.number);
  auto at = source.waiting.find(place);
  if (at == source.waiting.end()) {
    source.unexpected[place] = plan;
    return;
  }
  at->second->set_plan(plan);
  source.waiting.erase(at);
}

void PartitionBoard::advance() {
  std::lock_guard lock(mutex_);
  for (auto& [rank, source] : sources_) {
    base::Status heard;
    while (heard && source.word != nullptr && source.word->is_done()) {
      if (const Error* error = source.word->error()) heard = error->clone();
      p2p::Engine::release(std::exchange(source.word, nullptr));
      if (!heard) break;
      match(source, source.plan);
      if (!source.waiting.empty()) heard = listen(rank, source);
    }
    if (heard) continue;
    for (auto& [place, receive] : std::exchange(source.waiting, {}))
      receive->fail(heard.error().clone());
  }
}

int PartitionedRequest::describe(MPI_Status* status) {
  abi::write_status(status, outcome());
  return MPI_SUCCESS;
}

base::Status PartitionedRequest::check_partition(int partition) const {
  if (partition >= 0 && partition < partitions_) return {};
  return Error(ErrorClass::arg, "the partition " + std::to_string(partition) + " is not in 0…" + std::to_string(partitions_ - 1));
}

bool PartitionedRequest::are_over() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const p2p::Request* part) { return part != nullptr && part->is_done(); });
}

void PartitionedRequest::end(const p2p::Outcome& outcome, std::optional<Error> error) {
  for (const p2p::Request* part : parts_)
    if (!error && part != nullptr && part->error() != nullptr) error = part->error()->clone();
  release_parts();
  complete(outcome, std::move(error));
}

void PartitionedRequest::release_parts() {
  for (p2p::Request* part : parts_) p2p::Engine::release(part);
  parts_.clear();
}

PartitionedSend::PartitionedSend(PartitionBoardPtr board, types::ConstBuffer data, int partitions,
                                 int dest, int tag)
    : PartitionedRequest(std::move(board), *data.type, partitions, dest), data_(data), tag_(tag) {
  if (dest != p2p::kProcNull) board_->add_send(dest, tag, this);
}

PartitionedSend::~PartitionedSend() {
  if (!was_started_ && peer_ != p2p::kProcNull) board_->drop_send(peer_, tag_, this);
}

base::Status PartitionedSend::on_start() {
  std::lock_guard lock(mutex_);
  if (first_tag_ == 0 && peer_ != p2p::kProcNull) {
    if (std::exchange(was_started_, true))
      return not_persistent("the partitioned send failed at its first start: free it");
    const std::uint64_t bytes =
        partitions_ > 0 ? data_.bytes() / static_cast<std::uint64_t>(partitions_) : 0;
    SHIM_TRY_ASSIGN(const PartitionPlan plan,
                    board_->announce(peer_, this, {tag_, 0, partitions_, bytes}));
    first_tag_ = plan.first_tag;
  }
  was_started_ = true;
  marked_ = 0;
  parts_.assign(static_cast<std::size_t>(partitions_), nullptr);
  return {};
}

base::Status PartitionedSend::send(int partition) {
  p2p::Request*& part = parts_[static_cast<std::size_t>(partition)];
  if (part != nullptr) return Error(ErrorClass::arg, "the partition " + std::to_string(partition) + " was marked as ready before");
  const std::uint64_t count = data_.count / static_cast<std::uint64_t>(partitions_);
  const auto offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(partition) * count) * data_.type->extent;
  const types::ConstBuffer data{static_cast<const std::byte*>(data_.address) + offset, count, data_.type};
  SHIM_TRY_ASSIGN(part, engine().isend(board_->comm().context(), data, peer_, first_tag_ + partition, p2p::Mode::standard, Plane::collective));
  ++marked_;
  return {};
}

base::Status PartitionedSend::ready(int low, int high) {
  SHIM_TRY(check_partition(low));
  SHIM_TRY(check_partition(high));
  std::lock_guard lock(mutex_);
  if (!is_active() || is_done()) return not_persistent("the partitioned send is not active: start it first (MPI_Start)");
  for (int partition = low; partition <= high; ++partition) SHIM_TRY(send(partition));
  return {};
}

base::Result<bool> PartitionedSend::has_arrived(int) {
  return not_persistent("the request is a partitioned send: only receives know what has arrived");
}

void PartitionedSend::advance() {
  std::lock_guard lock(mutex_);
  if (!is_done() && marked_ == partitions_ && are_over()) end(p2p::Outcome{}, std::nullopt);
}

PartitionedReceive::PartitionedReceive(PartitionBoardPtr board, types::Buffer into, int partitions,
                                       int source, int tag)
    : PartitionedRequest(std::move(board), *into.type, partitions, source), into_(into), tag_(tag) {
  if (source != p2p::kProcNull) board_->add_receive(source, tag, this);
}

PartitionedReceive::~PartitionedReceive() {
  if (peer_ != p2p::kProcNull) board_->drop_receive(peer_, tag_, this, was_started_);
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
    base::Status expected = board_->expect(peer_, tag_, this);
    if (!expected) fail(expected.error().clone());
  }
  board_->advance();
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
    SHIM_TRY_ASSIGN(parts_[i], engine().irecv(board_->comm().context(), into, peer_, plan_->first_tag + static_cast<int>(i), Plane::collective));
  }
  posted_ = true;
  return {};
}

/// What has come to where it belongs; what is beyond the receive buffer is lost (MPI_ERR_TRUNCATE).
void PartitionedReceive::unpack() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (unpacked_[i] || !parts_[i]->is_done()) continue;
    unpacked_[i] = true;
    const std::uint64_t first = i * plan_->bytes, end = std::min(first + plan_->bytes, into_.bytes());
    if (first < end) types::unpack(*into_.type, {staged_.data() + first, static_cast<std::size_t>(end - first)}, first, into_.address);
  }
}

void PartitionedReceive::advance() {
  board_->advance();
  std::lock_guard lock(mutex_);
  if (is_done() || !is_active()) return;
  if (no_plan_) return end({.source = peer_, .tag = tag_}, no_plan_->clone());
  if (!plan_) return;
  if (!posted_) {
    if (base::Status posted = post(); !posted) return end({.source = peer_, .tag = tag_}, std::move(posted).error());
  }
  unpack();
  if (!are_over()) return;
  std::optional<Error> error;
  if (total() > into_.bytes())
    error = Error(ErrorClass::truncate, "partitions of " + std::to_string(total()) + " bytes in all came into a receive buffer of " +
                                            std::to_string(into_.bytes()) + " bytes");
  end({peer_, tag_, std::min(total(), into_.bytes())}, std::move(error));
}

/// True if a partition of the sender brings data of one of ours. Of partitions without bytes: if it
/// lies at the same part of the whole.
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
  return not_persistent("the request is a partitioned receive: only sends have partitions to mark as ready");
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
