// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/wait_reporter.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "shim/p2p/context.hpp"

namespace shim::p2p {
namespace {

/// Awaited events that a report names; the rest is counted.
constexpr std::size_t kMaxNamed = 8;

std::string seconds_text(base::Nanoseconds duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", static_cast<double>(duration) * 1e-9);
  return text;
}

std::string tag_text(int tag) { return tag == kAnyTag ? "any tag" : "tag " + std::to_string(tag); }

/// Return the texts of the items, separated by commas; count those behind kMaxNamed.
template <typename TextOf>
std::string list_text(const std::vector<Awaited>& items, const TextOf& text_of_item) {
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), kMaxNamed); ++i)
    text += (i ? ", " : "") + text_of_item(items[i]);
  if (items.size() > kMaxNamed)
    text += " and " + std::to_string(items.size() - kMaxNamed) + " more";
  return text;
}

}  // namespace

void WaitReporter::report_if_due(WaitSubject& subject) const {
  const auto* const requested = reports_.requests;
  const std::uint32_t requests = requested != nullptr ? requested->load(std::memory_order_relaxed)
                                                      : 0;
  const base::Nanoseconds now = base::now_ns();
  const auto next = report_after_ > 0 ? now + static_cast<base::Nanoseconds>(report_after_ * 1e9)
                                      : std::numeric_limits<base::Nanoseconds>::max();
  if (subject.since_ == 0) {  // the first sleep, a few milliseconds after the call's begin
    subject.since_ = now;
    subject.next_report_ = next;
    subject.requests_seen_ = requests;
    return;
  }
  const bool is_requested = requests != subject.requests_seen_;
  if (!is_requested && now < subject.next_report_) return;
  subject.requests_seen_ = requests;
  subject.next_report_ = next;
  WaitDescription description;
  subject.describe(description);
  if (description.is_only_on_request && !is_requested) return;
  const std::string call = reports_.current_call ? reports_.current_call() : "";
  if (log_ != nullptr && log_->wants(base::LogLevel::warn))
    log_->write(base::LogLevel::warn, (call.empty() ? "a call" : call) + " has waited " +
                                          seconds_text(now - subject.since_) +
                                          text_of(description));
}

/// Return " for <events>; <communicator>".
std::string WaitReporter::text_of(const WaitDescription& description) const {
  const auto& awaited = description.awaited;
  const Context* context = description.context;
  if (context == nullptr && !awaited.empty()) context = awaited.front().context;
  std::string text;
  if (!description.text.empty()) {
    text = " for " + description.text;
  } else if (context != nullptr && !awaited.empty() && awaited.front().plane == Plane::collective) {
    text = " for " +
           list_text(awaited,
                     [&](const Awaited& each) { return text_of_rank(*context, each.rank); }) +
           " in a collective operation";
  } else if (!awaited.empty()) {
    text = " for " + list_text(awaited, [&](const Awaited& each) {
             if (each.context == nullptr) return std::string("the rest of a matched message");
             const std::string rank = text_of_rank(*each.context, each.rank);
             if (each.kind == Awaited::Kind::receipt)
               return rank + " to receive a message with " + tag_text(each.tag);
             return "a message with " + tag_text(each.tag) + " from " + rank;
           });
  }
  if (context != nullptr && context->spec.label) text += "; " + context->spec.label->text();
  return text;
}

std::string WaitReporter::text_of_rank(const Context& context, int rank) const {
  if (rank < 0 || rank >= context.size) return "any member";
  return "rank " + std::to_string(rank) + " (" + router_->describe(context.spec.members->at(rank)) +
         ")";
}

}  // namespace shim::p2p
