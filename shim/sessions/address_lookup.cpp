// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/address_lookup.hpp"

namespace shim::sessions {
namespace {
/// 10 ms without an answer to the guess: the process may have re-initialized less often than the
/// caller.
constexpr base::Nanoseconds kUnansweredFor = 10'000'000;
/// 5 ms without a further answer: the newest answer is the newest incarnation.
constexpr base::Nanoseconds kSettled = 5'000'000;
/// 50 ms for which a found address is used without looking for a newer one.
constexpr base::Nanoseconds kTrustInterval = 50'000'000;
/// Begins a value that has a reason instead of an address. The first eight bytes of an address are
/// random.
constexpr std::string_view kReasonMark = "intersession: no address: ";
constexpr std::size_t kMaxReason = 256;
}  // namespace

std::string address_key(std::uint32_t incarnation) {
  return "intersession.address." + std::to_string(incarnation);
}

transport::Bytes no_address() { return {std::byte{0}}; }

transport::Bytes reason_without_address(std::string_view reason) {
  const std::string text = std::string(kReasonMark) +
                           std::string(reason.substr(0, kMaxReason - kReasonMark.size()));
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

PublishedAddress decode_address(std::uint32_t incarnation, transport::Bytes value) {
  using Kind = PublishedAddress::Kind;
  if (value == no_address()) return {.address = {incarnation, {}}, .kind = Kind::no_address};
  const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  if (text.starts_with(kReasonMark))
    return {.address = {incarnation, {}},
            .kind = Kind::reason,
            .reason = std::string(text.substr(kReasonMark.size()))};
  return {.address = {incarnation, std::move(value)}};
}

AddressLookup::AddressLookup(bootstrap::Bootstrap& bootstrap, std::uint32_t rank,
                             std::uint32_t guess, std::optional<std::uint32_t> known_incarnation,
                             LookupCounter* counter)
    : bootstrap_(&bootstrap),
      lookup_counter_(counter),
      rank_(rank),
      guess_(guess),
      newest_(known_incarnation),
      last_update_ns_(base::now_ns()) {}

base::Status AddressLookup::request_address(std::uint32_t incarnation) {
  if (requested_.contains(incarnation) || (newest_ && incarnation <= *newest_)) return {};
  if (lookup_counter_ != nullptr) lookup_counter_->add(rank_);
  SHIM_TRY_ASSIGN(requested_[incarnation], bootstrap_->lookup(rank_, address_key(incarnation)));
  return {};
}

void AddressLookup::expect_newer() { last_update_ns_ = base::now_ns() - kTrustInterval; }

base::Status AddressLookup::collect_responses() {
  for (auto at = requested_.begin(); at != requested_.end();) {
    SHIM_TRY_ASSIGN(auto answer, at->second->poll());
    if (!answer) {
      ++at;
      continue;
    }
    newest_ = at->first;
    undelivered_ = decode_address(at->first, *std::move(answer));
    newest_has_address_ = undelivered_->kind != PublishedAddress::Kind::no_address;
    if (!newest_has_address_) undelivered_.reset();
    last_update_ns_ = base::now_ns();
    // older incarnations no longer matter
    at = requested_.erase(requested_.begin(), std::next(at));
  }
  return {};
}

base::Status AddressLookup::extend_lookup(base::Nanoseconds silent) {
  if (!newest_) {
    SHIM_TRY(request_address(guess_));
    if (silent > kUnansweredFor) SHIM_TRY(request_address(0));
  } else if (!newest_has_address_ || silent >= kTrustInterval ||
             (undelivered_ && *newest_ != guess_)) {
    SHIM_TRY(request_address(*newest_ + 1));
  }
  return {};
}

base::Result<std::optional<PublishedAddress>> AddressLookup::poll() {
  SHIM_TRY(extend_lookup(base::now_ns() - last_update_ns_));
  SHIM_TRY(collect_responses());
  const bool settled = undelivered_ &&
                       (*newest_ == guess_ || base::now_ns() - last_update_ns_ > kSettled);
  if (!settled) return std::optional<PublishedAddress>();
  last_update_ns_ = base::now_ns();
  return std::exchange(undelivered_, std::nullopt);
}

}  // namespace shim::sessions
