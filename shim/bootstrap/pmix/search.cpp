// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/search.hpp"

#include "shim/bootstrap/exponential_backoff.hpp"
#include "shim/bootstrap/pmix/status.hpp"

#ifndef PMIX_GET_REFRESH_CACHE  // in older headers
#define PMIX_GET_REFRESH_CACHE "pmix.get.refresh"
#endif

namespace shim::bootstrap::pmix {
namespace {

/// PMIx_Get_nb's callback (pmix_value_cbfunc_t), on PMIx's thread. PMIx owns the value.
void on_value(pmix_status_t status, pmix_value_t* value, void* request) {
  PmixResponse response;
  response.status = status;
  if (status == PMIX_SUCCESS && value != nullptr && value->type == PMIX_BYTE_OBJECT &&
      value->data.bo.size > 0) {
    const auto* begin = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
    response.bytes.assign(begin + 1, begin + value->data.bo.size);  // see Backend::put
  } else if (status == PMIX_SUCCESS) {
    response.status = PMIX_ERR_TYPE_MISMATCH;
  }
  PmixRequestTable::complete(request, std::move(response));
}

}  // namespace

Search::Search(std::shared_ptr<SearchContext> context, const pmix_proc_t& owner, std::string key,
               bool on_own_node)
    : context_(std::move(context)),
      owner_(owner),
      key_(std::move(key)),
      on_own_node_(on_own_node) {}

std::string Search::where() const {
  return "cannot look up \"" + key_ + "\" of process " + std::to_string(owner_.rank) + " of job " +
         owner_.nspace;
}

void Search::send() {
  auto guard = context_->interlock->try_enter();
  if (!guard) return;
  if (next_try_ != 0) context_->retries.fetch_add(1, std::memory_order_relaxed);
  request_ = context_->requests->create();
  request_->guard = std::move(guard);
  request_->process = owner_;
  request_->key = key_;
  // Without PMIX_IMMEDIATE, a request about a process of this node waits at the server, for 2 s
  // with Open MPI 4.1. With it, a request about a process of another node is never forwarded to
  // that node. Without PMIX_GET_REFRESH_CACHE, PRRTE 3 keeps a request for a value that does not
  // exist, and the client sends no other request about that process meanwhile
  // (docs/decisions/0022-pmix-requests.md).
  request_->directives.push_back(flag(on_own_node_ ? PMIX_IMMEDIATE : PMIX_GET_REFRESH_CACHE));
  const pmix_status_t status = context_->library.get_nb(
      &request_->process, request_->key.c_str(), request_->directives.data(),
      request_->directives.size(), on_value, request_.get());
  // No callback will be called, so complete the request here.
  if (meaning_of(status) != Meaning::accepted)
    PmixRequestTable::complete(request_.get(), PmixResponse{status, {}, {}, {}});
}

void Search::pause() {
  request_.reset();
  const base::Nanoseconds now = base::now_ns();
  next_try_ = now + exponential_backoff(now - begun_);
}

base::Result<std::optional<Bytes>> Search::poll() {
  if (!request_) {
    if (base::now_ns() < next_try_) return std::optional<Bytes>();
    send();
    if (!request_) return std::optional<Bytes>();
  }
  auto response = request_->take();
  if (!response) return std::optional<Bytes>();
  switch (meaning_of(response->status)) {
    case Meaning::accepted:
      return std::optional(std::move(response->bytes));
    case Meaning::not_there:
      pause();
      return std::optional<Bytes>();
    default:
      return pmix_error(response->status, where(),
                        context_->library.error_string(response->status));
  }
}

}  // namespace shim::bootstrap::pmix
