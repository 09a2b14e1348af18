// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/search.hpp"

#include <algorithm>

#include "shim/bootstrap/growing_pause.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

// All names are in one mpiexec, so the searches of a process share its rate: with more than a few of them the pauses are longer, and
// a process asks 80 times a second at most.
constexpr std::uint32_t kFew = 4;

}  // namespace

bool is_not_there(const Line& answer) {
  const auto code = answer.value("rc");
  return !code || code == "1" || answer.value("msg").value_or("").find("not_found") != std::string_view::npos;
}

Search::Search(std::shared_ptr<SearchGround> ground, std::string world, std::uint32_t rank, std::string key)
    : ground_(std::move(ground)), world_(std::move(world)), rank_(rank), key_(std::move(key)) {}

Search::~Search() {
  if (is_waiting_) ground_->waiting.fetch_sub(1, std::memory_order_relaxed);
}

std::string Search::where() const {
  return "cannot look up \"" + key_ + "\" of process " + std::to_string(rank_) + " of job " + world_;
}

base::Status Search::send() {
  const auto use = ground_->use.lock();
  if (!use) return base::Error(base::ErrorClass::other, "the Bootstrap that was asked is gone");
  question_ = std::make_shared<Question>(
      request("lookup_name", {{"service", name_of_part(world_, rank_, key_, collected_.next_part())}}));
  use->ask(question_);
  return {};
}

void Search::pause() {
  if (!std::exchange(is_waiting_, true)) ground_->waiting.fetch_add(1, std::memory_order_relaxed);
  const base::Nanoseconds now = base::now_ns();
  const std::uint32_t crowd = std::max(1u, ground_->waiting.load(std::memory_order_relaxed) / kFew);
  next_try_ = now + growing_pause(now - begun_) * crowd;
}

base::Result<std::optional<Bytes>> Search::take(const Line& line) {
  if (!line.is_success()) {
    if (!is_not_there(line))
      return base::Error(base::ErrorClass::other, where() + ": the launcher answers rc=" + std::string(line.value("rc").value_or("?")) +
                                                      ", " + std::string(line.value("msg").value_or("without a reason")));
    pause();
    return std::optional<Bytes>();
  }
  const std::string_view port = line.value("port").value_or("");
  std::optional<Bytes> value;
  const bool is_ours = collected_.add(port) && (!collected_.is_whole() || (value = collected_.value()).has_value());
  if (!is_ours)
    return base::Error(base::ErrorClass::other, where() + ": what the launcher has under this name was not written by Intersession: \"" +
                                                    shown(port) + "\"");
  if (!value) SHIM_TRY(send());
  return value;
}

base::Result<std::optional<Bytes>> Search::poll() {
  if (!question_) {
    if (base::now_ns() < next_try_) return std::optional<Bytes>();
    if (next_try_ != 0) ground_->retries.fetch_add(1, std::memory_order_relaxed);
    if (auto sent = send(); !sent) return std::move(sent).error().within(where());
  }
  auto answer = question_->take();
  if (!answer) return std::optional<Bytes>();
  question_.reset();
  if (!*answer) return std::move(*answer).error().within(where());
  return take(**answer);
}

}  // namespace shim::bootstrap::pmi1
