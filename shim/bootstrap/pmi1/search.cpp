// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/search.hpp"

#include <algorithm>

#include "shim/bootstrap/exponential_backoff.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

// One mpiexec serves all names, so the searches of a process share a rate: the pauses are
// multiplied by the number of searches divided by this number. Once the back-off has reached
// kMaxBackoff, a process sends at most 140 requests per second (7 searches); about 80 with many.
constexpr std::uint32_t kMaxFastSearches = 4;

}  // namespace

bool is_not_there(const PmiLine& response) {
  const auto code = response.value("rc");
  return !code || code == "1" ||
         response.value("msg").value_or("").find("not_found") != std::string_view::npos;
}

Search::Search(std::shared_ptr<SearchContext> context, std::string world, std::uint32_t rank,
               std::string key)
    : context_(std::move(context)), world_(std::move(world)), rank_(rank), key_(std::move(key)) {}

Search::~Search() {
  if (is_waiting_) context_->waiting.fetch_sub(1, std::memory_order_relaxed);
}

std::string Search::where() const {
  return "cannot look up \"" + key_ + "\" of process " + std::to_string(rank_) + " of job " +
         world_;
}

base::Status Search::send() {
  const auto use = context_->use.lock();
  if (!use) return base::Error(base::ErrorClass::other, "the connection to the launcher is closed");
  pending_ = std::make_shared<PendingRequest>(request(
      "lookup_name", {{"service", part_name(world_, rank_, key_, assembler_.next_part())}}));
  use->submit(pending_);
  return {};
}

void Search::pause() {
  if (!std::exchange(is_waiting_, true)) context_->waiting.fetch_add(1, std::memory_order_relaxed);
  const base::Nanoseconds now = base::now_ns();
  const std::uint32_t waiting_factor = std::max(
      1u, context_->waiting.load(std::memory_order_relaxed) / kMaxFastSearches);
  next_try_ = now + exponential_backoff(now - begun_) * waiting_factor;
}

base::Result<std::optional<Bytes>> Search::take(const PmiLine& line) {
  if (!line.is_success()) {
    if (!is_not_there(line))
      return base::Error(
          base::ErrorClass::other,
          where() + ": the launcher returned rc=" + std::string(line.value("rc").value_or("?")) +
              ", " + std::string(line.value("msg").value_or("no reason given")));
    pause();
    return std::optional<Bytes>();
  }
  const std::string_view port = line.value("port").value_or("");
  std::optional<Bytes> value;
  const bool is_ours = assembler_.add(port) &&
                       (!assembler_.is_whole() || (value = assembler_.value()).has_value());
  if (!is_ours)
    return base::Error(
        base::ErrorClass::other,
        where() + ": the value that the launcher holds was not written by Intersession: \"" +
            shown(port) + "\"");
  if (!value) SHIM_TRY(send());
  return value;
}

base::Result<std::optional<Bytes>> Search::poll() {
  if (!pending_) {
    if (base::now_ns() < next_try_) return std::optional<Bytes>();
    if (next_try_ != 0) context_->retries.fetch_add(1, std::memory_order_relaxed);
    if (auto sent = send(); !sent) return std::move(sent).error().within(where());
  }
  auto response = pending_->take();
  if (!response) return std::optional<Bytes>();
  pending_.reset();
  if (!*response) return std::move(*response).error().within(where());
  return take(**response);
}

}  // namespace shim::bootstrap::pmi1
