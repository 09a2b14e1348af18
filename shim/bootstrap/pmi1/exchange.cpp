// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/exchange.hpp"

#include <algorithm>

namespace shim::bootstrap::pmi1 {
namespace {

base::Error broken_error(const std::string& why) {
  return base::Error(base::ErrorClass::other, why);
}

/// Others may keep such a request open, so the guest may have asked it before we came, without having been seen since.
bool may_be_old(std::string_view kind) {
  return is_barrier(kind) || kind == "spawn_result";
}

constexpr std::string_view kAnswerToInit = "response_to_init";

}  // namespace

bool Exchange::must_wait(const Request& request, const std::list<Request>& ahead) const {
  const auto is_in_the_way = [&](const Request& other) {
    return other.kind == request.kind && (other.question || request.question || !other.text.empty());
  };
  // what the guest has asked unseen is a barrier, if it lasts
  if (unseen_ && request.question && is_barrier(request.kind)) return true;
  return std::any_of(open_.begin(), open_.end(), is_in_the_way) || std::any_of(ahead.begin(), ahead.end(), is_in_the_way);
}

void Exchange::send(Request request) {
  to_server += std::exchange(request.text, {});
  open_.push_back(std::move(request));
}

void Exchange::note_greeting(std::string_view line) {
  const auto answer = Line::parse(line);
  if (answer && answer->command() == kAnswerToInit && answer->is_success()) greeting_.answer = line;
}

bool Exchange::is_answered_here(const Request& request) const {
  if (request.kind != kAnswerToInit || !greeting_.answer) return false;
  return request.question || !greeting_.is_repeatable;
}

void Exchange::answer_here(const Request& request) {
  if (request.question)
    request.question->answer(Line::parse(*greeting_.answer));
  else
    to_guest.append(*greeting_.answer).append("\n");
}

void Exchange::begin(Request request) {
  if (is_answered_here(request)) return answer_here(request);
  if (must_wait(request, waiting_)) waiting_.push_back(std::move(request));
  else send(std::move(request));
}

void Exchange::send_waiting() {
  std::list<Request> waiting = std::exchange(waiting_, {});
  while (!waiting.empty()) {
    Request request = std::move(waiting.front());
    waiting.pop_front();
    const bool is_wanted = !request.question || request.question.use_count() > 1;
    if (is_wanted) begin(std::move(request));
  }
}

void Exchange::ask(QuestionPtr question) {
  if (broken_) return question->answer(broken_error(*broken_));
  begin({question->answer_kind(), question->request(), question});
}

void Exchange::guest_said(std::string_view line) {
  unseen_ = false;  // it asks one thing after the other
  const std::string text = std::string(line) + "\n";
  if (in_several_) {
    in_several_ = line != "endcmd";
    to_server += text;
    return;
  }
  const auto request = Line::parse(line);
  const auto kind = request ? answer_to(*request) : std::nullopt;
  if (!kind) {
    to_server += text;
  } else if (request->begins_several()) {
    in_several_ = true;
    to_server += text;
    const bool is_continued = std::any_of(open_.begin(), open_.end(), [&](const Request& open) { return open.kind == *kind; });
    if (!is_continued) open_.push_back({*kind, {}, nullptr});
  } else if (request->command() == "finalize") {
    held_finalize_ = true;
    to_guest += "cmd=finalize_ack\n";
  } else if (request->command() == "init" && request->value("pmi_version") != "1") {
    // PMI-2 has another form of line; the launcher would change to it, for us too.
    to_guest += "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n";
  } else {
    begin({*kind, text, nullptr});
  }
  send_waiting();
}

void Exchange::unclaimed(const std::string& kind, std::string_view line) {
  auto guests = std::find_if(open_.begin(), open_.end(), [](const Request& open) { return !open.question; });
  if (unseen_) unseen_ = false;
  else if (!may_be_old(kind) && guests != open_.end()) open_.erase(guests);
  else if (!may_be_old(kind)) return reject(line);
  to_guest.append(line).append("\n");
}

void Exchange::reject(std::string_view line) {
  if (open_.empty()) return;
  const std::string& asked = open_.front().question->request();
  break_off("the launcher has answered \"" + shown(line) + "\" to \"" + shown({asked.data(), asked.size() - 1}) +
            "\"; it does not speak PMI-1 as it should: start the job with mpiexec.hydra or another launcher of PMI-1");
}

void Exchange::server_said(std::string_view line) {
  const auto answer = Line::parse(line);
  if (!answer)
    return break_off("the launcher has sent what is not PMI-1: \"" + shown(line) +
                     "\"; is the descriptor in PMI_FD really the launcher's?");
  note_greeting(line);
  const std::string kind = kind_of(*answer);
  auto found = std::find_if(open_.begin(), open_.end(), [&](const Request& open) { return open.kind == kind; });
  if (found == open_.end()) {
    unclaimed(kind, line);
  } else if (found->question) {
    found->question->answer(*answer);
    open_.erase(found);
  } else {
    to_guest.append(line).append("\n");
    open_.erase(found);
  }
  send_waiting();
}

void Exchange::break_off(const std::string& why) {
  if (broken_) return;
  broken_ = why;
  for (auto* requests : {&open_, &waiting_}) {
    for (const Request& request : *requests)
      if (request.question) request.question->answer(broken_error(why));
    requests->remove_if([](const Request& request) { return request.question != nullptr; });
  }
}

bool Exchange::is_idle() const {
  return open_.empty() && waiting_.empty() && !unseen_ && !in_several_ && to_server.empty() && to_guest.empty();
}

bool Exchange::guest_has_nothing_open() const {
  const auto is_guests = [](const Request& request) { return !request.question; };
  return !in_several_ && to_guest.empty() && std::none_of(open_.begin(), open_.end(), is_guests) &&
         std::none_of(waiting_.begin(), waiting_.end(), is_guests);
}

bool Exchange::may_last() const {
  const auto may = [](const Request& request) { return !request.question || is_barrier(request.kind); };
  return unseen_ || std::any_of(open_.begin(), open_.end(), may) || std::any_of(waiting_.begin(), waiting_.end(), may);
}

}  // namespace shim::bootstrap::pmi1
