// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/address_lookup.hpp"

namespace shim::sessions {
namespace {
/// Without an answer to the guess, the process may have begun anew less often than the caller.
constexpr base::Nanoseconds kUnansweredFor = 10'000'000;
/// Without a further answer, the newest one so far is the newest there is.
constexpr base::Nanoseconds kSettled = 5'000'000;
/// So long an address that was found is trusted without looking for a newer one.
constexpr base::Nanoseconds kTrust = 50'000'000;
}  // namespace

std::string address_key(std::uint32_t life) { return "intersession.address." + std::to_string(life); }

transport::Bytes no_address() { return {std::byte{0}}; }

AddressLookup::AddressLookup(bootstrap::Bootstrap& bootstrap, std::uint32_t rank, std::uint32_t guess,
                             std::optional<std::uint32_t> known_life, Sought* sought)
    : bootstrap_(&bootstrap), sought_(sought), rank_(rank), guess_(guess), newest_(known_life), last_news_(base::now_ns()) {}

base::Status AddressLookup::ask(std::uint32_t life) {
  if (asked_.contains(life) || (newest_ && life <= *newest_)) return {};
  if (sought_ != nullptr) sought_->add(rank_);
  SHIM_TRY_ASSIGN(asked_[life], bootstrap_->lookup(rank_, address_key(life)));
  return {};
}

void AddressLookup::look_for_newer() { last_news_ = base::now_ns() - kTrust; }

base::Status AddressLookup::take_answers() {
  for (auto at = asked_.begin(); at != asked_.end();) {
    SHIM_TRY_ASSIGN(auto answer, at->second->poll());
    if (!answer) {
      ++at;
      continue;
    }
    newest_ = at->first;
    newest_has_address_ = *answer != no_address();
    to_hand_out_.reset();
    if (newest_has_address_) to_hand_out_ = NetworkAddress{at->first, *std::move(answer)};
    last_news_ = base::now_ns();
    at = asked_.erase(asked_.begin(), std::next(at));  // older lives are of no interest any more
  }
  return {};
}

base::Status AddressLookup::widen(base::Nanoseconds silent) {
  if (!newest_) {
    SHIM_TRY(ask(guess_));
    if (silent > kUnansweredFor) SHIM_TRY(ask(0));
  } else if (!newest_has_address_ || silent >= kTrust || (to_hand_out_ && *newest_ != guess_)) {
    SHIM_TRY(ask(*newest_ + 1));
  }
  return {};
}

base::Result<std::optional<NetworkAddress>> AddressLookup::poll() {
  SHIM_TRY(widen(base::now_ns() - last_news_));
  SHIM_TRY(take_answers());
  const bool settled = to_hand_out_ && (*newest_ == guess_ || base::now_ns() - last_news_ > kSettled);
  if (!settled) return std::optional<NetworkAddress>();
  last_news_ = base::now_ns();
  return std::exchange(to_hand_out_, std::nullopt);
}

}  // namespace shim::sessions
