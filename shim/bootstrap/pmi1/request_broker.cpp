// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/request_broker.hpp"

#include <algorithm>

namespace shim::bootstrap::pmi1 {
namespace {

base::Error connection_error(const std::string& why) {
  return base::Error(base::ErrorClass::other, why);
}

/// True if other processes may keep such a request open, so the host client may have sent it unseen
/// before the attach.
bool may_predate_attach(std::string_view kind) {
  return is_barrier(kind) || kind == "spawn_result";
}

constexpr std::string_view kInitResponse = "response_to_init";

}  // namespace

bool RequestBroker::must_wait(const QueuedRequest& request,
                              const std::list<QueuedRequest>& ahead) const {
  const auto must_come_first = [&](const QueuedRequest& other) {
    return other.kind == request.kind && (other.pending || request.pending || !other.text.empty());
  };
  // an unseen request of the host client that stays open is a barrier
  if (unseen_ && request.pending && is_barrier(request.kind)) return true;
  return std::any_of(open_.begin(), open_.end(), must_come_first) ||
         std::any_of(ahead.begin(), ahead.end(), must_come_first);
}

void RequestBroker::send(QueuedRequest request) {
  to_server += std::exchange(request.text, {});
  open_.push_back(std::move(request));
}

void RequestBroker::record_init_response(std::string_view line) {
  const auto response = PmiLine::parse(line);
  if (response && response->command() == kInitResponse && response->is_success())
    init_state_.response = line;
}

bool RequestBroker::is_answered_locally(const QueuedRequest& request) const {
  if (request.kind != kInitResponse || !init_state_.response) return false;
  return request.pending || !init_state_.is_repeatable;
}

void RequestBroker::answer_locally(const QueuedRequest& request) {
  if (request.pending)
    request.pending->complete(PmiLine::parse(*init_state_.response));
  else
    to_host.append(*init_state_.response).append("\n");
}

void RequestBroker::begin(QueuedRequest request) {
  if (is_answered_locally(request)) return answer_locally(request);
  if (must_wait(request, waiting_))
    waiting_.push_back(std::move(request));
  else
    send(std::move(request));
}

void RequestBroker::send_waiting() {
  std::list<QueuedRequest> waiting = std::exchange(waiting_, {});
  while (!waiting.empty()) {
    QueuedRequest request = std::move(waiting.front());
    waiting.pop_front();
    const bool is_wanted = !request.pending || request.pending.use_count() > 1;
    if (is_wanted) begin(std::move(request));
  }
}

void RequestBroker::submit(PendingRequestPtr pending) {
  if (failure_) return pending->complete(connection_error(*failure_));
  begin({pending->response_kind(), pending->request(), pending});
}

void RequestBroker::on_host_line(std::string_view line) {
  host_has_begun_ = true;
  unseen_ = false;  // the host client sends one request at a time
  const std::string text = std::string(line) + "\n";
  if (in_multiline_) {
    in_multiline_ = line != "endcmd";
    to_server += text;
    return;
  }
  const auto request = PmiLine::parse(line);
  const auto kind = request ? response_kind_of(*request) : std::nullopt;
  if (!kind) {
    to_server += text;
  } else if (request->begins_multiline()) {
    in_multiline_ = true;
    to_server += text;
    const bool is_continued = std::any_of(
        open_.begin(), open_.end(), [&](const QueuedRequest& open) { return open.kind == *kind; });
    if (!is_continued) open_.push_back({*kind, {}, nullptr});
  } else if (request->command() == "finalize") {
    has_held_finalize_ = true;
    to_host += "cmd=finalize_ack\n";
  } else if (request->command() == "init" && request->value("pmi_version") != "1") {
    // PMI-2 has another line format; the launcher would switch this whole connection to it.
    to_host += "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n";
  } else {
    begin({*kind, text, nullptr});
  }
  send_waiting();
}

void RequestBroker::on_unmatched_response(const std::string& kind, std::string_view line) {
  auto of_host = std::find_if(open_.begin(), open_.end(),
                              [](const QueuedRequest& open) { return !open.pending; });
  if (unseen_)
    unseen_ = false;
  else if (!may_predate_attach(kind) && of_host != open_.end())
    open_.erase(of_host);
  else if (!may_predate_attach(kind))
    return on_invalid_response(line);
  to_host.append(line).append("\n");
}

void RequestBroker::on_invalid_response(std::string_view line) {
  if (open_.empty()) return;
  const std::string& asked = open_.front().pending->request();
  fail_all("the launcher sent an invalid response \"" + shown(line) + "\" to \"" +
           shown({asked.data(), asked.size() - 1}) +
           "\"; start the job with mpiexec.hydra or another PMI-1 launcher");
}

void RequestBroker::on_server_line(std::string_view line) {
  const auto response = PmiLine::parse(line);
  if (!response)
    return fail_all("the launcher sent an invalid PMI-1 message: \"" + shown(line) +
                    "\"; check that PMI_FD is the launcher's descriptor");
  record_init_response(line);
  const std::string kind = kind_of(*response);
  auto found = std::find_if(open_.begin(), open_.end(),
                            [&](const QueuedRequest& open) { return open.kind == kind; });
  if (found == open_.end()) {
    on_unmatched_response(kind, line);
  } else if (found->pending) {
    found->pending->complete(*response);
    open_.erase(found);
  } else {
    to_host.append(line).append("\n");
    open_.erase(found);
  }
  send_waiting();
}

void RequestBroker::fail_all(const std::string& why) {
  if (failure_) return;
  failure_ = why;
  for (auto* requests : {&open_, &waiting_}) {
    for (const QueuedRequest& request : *requests)
      if (request.pending) request.pending->complete(connection_error(why));
    requests->remove_if([](const QueuedRequest& request) { return request.pending != nullptr; });
  }
}

bool RequestBroker::is_idle() const {
  return open_.empty() && waiting_.empty() && !unseen_ && !in_multiline_ && to_server.empty() &&
         to_host.empty();
}

bool RequestBroker::host_has_no_open_request() const {
  const auto is_of_host = [](const QueuedRequest& request) { return !request.pending; };
  return !in_multiline_ && to_host.empty() &&
         std::none_of(open_.begin(), open_.end(), is_of_host) &&
         std::none_of(waiting_.begin(), waiting_.end(), is_of_host);
}

bool RequestBroker::may_block_long() const {
  const auto may = [](const QueuedRequest& request) {
    return !request.pending || is_barrier(request.kind);
  };
  return unseen_ || std::any_of(open_.begin(), open_.end(), may) ||
         std::any_of(waiting_.begin(), waiting_.end(), may);
}

}  // namespace shim::bootstrap::pmi1
