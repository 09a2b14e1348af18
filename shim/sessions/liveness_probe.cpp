// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/liveness_probe.hpp"

#include <utility>

namespace shim::sessions {
namespace {
/// 1 s: once the launcher has answered one query about a process, answers to simultaneous queries
/// follow soon.
constexpr base::Nanoseconds kUnpublishedFor = 1'000'000'000;
}  // namespace

std::string end_key(std::uint32_t incarnation) {
  return "intersession.end." + std::to_string(incarnation);
}
std::string exit_key() { return "intersession.exit"; }
transport::Bytes presence_value() { return {std::byte{1}}; }

LivenessProbe::Query LivenessProbe::look_up(bootstrap::Bootstrap& bootstrap, std::uint32_t rank,
                                            const std::string& key) {
  Query query;
  auto asked = bootstrap.lookup(rank, key);
  if (asked) query.pending = *std::move(asked);
  return query;
}

LivenessProbe::LivenessProbe(bootstrap::Bootstrap& bootstrap, std::uint32_t rank,
                             std::uint32_t incarnation, double silence)
    : incarnation_(incarnation),
      silence_(base::Deadline::from_setting(silence)),
      later_(std::in_place, bootstrap, rank, incarnation, incarnation),
      published_(look_up(bootstrap, rank, address_key(incarnation))),
      incarnation_ended_(look_up(bootstrap, rank, end_key(incarnation))),
      process_ended_(look_up(bootstrap, rank, exit_key())) {
  later_->expect_newer();
}

void LivenessProbe::Query::poll() {
  if (!pending) return;
  auto answer = pending->poll();
  if (answer && !*answer) return;
  if (answer) value = **std::move(answer);
  pending.reset();
}

std::optional<PublishedAddress> LivenessProbe::newer_address() {
  if (!later_) return std::nullopt;
  auto found = later_->poll();
  if (found) return *std::move(found);
  later_.reset();
  return std::nullopt;
}

LivenessProbe::Verdict LivenessProbe::poll() {
  for (Query* query : {&published_, &incarnation_ended_, &process_ended_}) query->poll();
  if (process_ended_.value) return Verdict::has_ended;
  if (incarnation_ended_.value) return Verdict::between_sessions;
  if (!published_.value) return silence_.passed() ? Verdict::has_ended : Verdict::unknown;
  if (decode_address(incarnation_, *published_.value).kind != PublishedAddress::Kind::address)
    return Verdict::unknown;
  const base::Nanoseconds now = base::now_ns();
  if (!published_since_) published_since_ = now;
  return now - *published_since_ > kUnpublishedFor ? Verdict::has_ended : Verdict::unknown;
}

}  // namespace shim::sessions
