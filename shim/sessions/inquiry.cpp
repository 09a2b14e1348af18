// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/inquiry.hpp"

#include <utility>

namespace shim::sessions {
namespace {
/// After the launcher has answered one question about a process, the answers to others that it was asked together with it are not far.
constexpr base::Nanoseconds kUnpublishedFor = 1'000'000'000;
}  // namespace

std::string end_key(std::uint32_t life) { return "intersession.end." + std::to_string(life); }
std::string exit_key() { return "intersession.exit"; }
transport::Bytes mark() { return {std::byte{1}}; }

Inquiry::Question Inquiry::about(bootstrap::Bootstrap& bootstrap, std::uint32_t rank, const std::string& key) {
  Question question;
  auto asked = bootstrap.lookup(rank, key);
  if (asked) question.pending = *std::move(asked);
  return question;
}

Inquiry::Inquiry(bootstrap::Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t life, double silence)
    : life_(life),
      silence_(base::Deadline::from_setting(silence)),
      later_(std::in_place, bootstrap, rank, life, life),
      published_(about(bootstrap, rank, address_key(life))),
      life_ended_(about(bootstrap, rank, end_key(life))),
      process_ended_(about(bootstrap, rank, exit_key())) {
  later_->look_for_newer();
}

void Inquiry::Question::poll() {
  if (!pending) return;
  auto answer = pending->poll();
  if (answer && !*answer) return;
  if (answer) value = **std::move(answer);
  pending.reset();
}

std::optional<NetworkAddress> Inquiry::newer() {
  if (!later_) return std::nullopt;
  auto found = later_->poll();
  if (found) return *std::move(found);
  later_.reset();
  return std::nullopt;
}

Inquiry::Finding Inquiry::poll() {
  for (Question* question : {&published_, &life_ended_, &process_ended_}) question->poll();
  if (process_ended_.value) return Finding::has_ended;
  if (life_ended_.value) return Finding::between_sessions;
  if (!published_.value) return silence_.passed() ? Finding::has_ended : Finding::none_yet;
  if (*published_.value == no_address()) return Finding::none_yet;
  const base::Nanoseconds now = base::now_ns();
  if (!published_since_) published_since_ = now;
  return now - *published_since_ > kUnpublishedFor ? Finding::has_ended : Finding::none_yet;
}

}  // namespace shim::sessions
