// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/search.hpp"

#include "shim/bootstrap/growing_pause.hpp"
#include "shim/bootstrap/pmix/status.hpp"

namespace shim::bootstrap::pmix {
namespace {

/// PMIx_Get_nb's callback (pmix_value_cbfunc_t), on PMIx's thread. The value is PMIx's.
void take_value(pmix_status_t status, pmix_value_t* value, void* letter) {
  Answer answer;
  answer.status = status;
  if (status == PMIX_SUCCESS && value != nullptr && value->type == PMIX_BYTE_OBJECT && value->data.bo.size > 0) {
    const auto* begin = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
    answer.bytes.assign(begin + 1, begin + value->data.bo.size);  // see Backend::put
  } else if (status == PMIX_SUCCESS) {
    answer.status = PMIX_ERR_TYPE_MISMATCH;
  }
  PostOffice::deliver(letter, std::move(answer));
}

}  // namespace

Search::Search(std::shared_ptr<SearchGround> ground, const pmix_proc_t& owner, std::string key, bool on_own_node)
    : ground_(std::move(ground)), owner_(owner), key_(std::move(key)), on_own_node_(on_own_node) {}

std::string Search::where() const {
  return "cannot look up \"" + key_ + "\" of process " + std::to_string(owner_.rank) + " of job " + owner_.nspace;
}

void Search::send() {
  auto passage = ground_->gate->enter();
  if (!passage) return;
  if (next_try_ != 0) ground_->retries.fetch_add(1, std::memory_order_relaxed);
  letter_ = ground_->office->write();
  letter_->passage = std::move(passage);
  letter_->process = owner_;
  letter_->key = key_;
  // Without it a question about a process of the own node waits at the server, for 2 s with Open MPI 4.1; with it a
  // question about another node's process is never passed on to that node.
  if (on_own_node_) letter_->directives.push_back(flag(PMIX_IMMEDIATE));
  const pmix_status_t status =
      ground_->library.get_nb(&letter_->process, letter_->key.c_str(), letter_->directives.data(),
                              letter_->directives.size(), take_value, letter_.get());
  // Where no callback comes, the answer is this one.
  if (meaning_of(status) != Meaning::accepted) PostOffice::deliver(letter_.get(), Answer{status, {}, {}, {}});
}

void Search::pause() {
  letter_.reset();
  const base::Nanoseconds now = base::now_ns();
  next_try_ = now + growing_pause(now - begun_);
}

base::Result<std::optional<Bytes>> Search::poll() {
  if (!letter_) {
    if (base::now_ns() < next_try_) return std::optional<Bytes>();
    send();
    if (!letter_) return std::optional<Bytes>();
  }
  auto answer = letter_->take();
  if (!answer) return std::optional<Bytes>();
  switch (meaning_of(answer->status)) {
    case Meaning::accepted:
      return std::optional(std::move(answer->bytes));
    case Meaning::not_there:
      pause();
      return std::optional<Bytes>();
    default:
      return pmix_error(answer->status, where(), ground_->library.error_string(answer->status));
  }
}

}  // namespace shim::bootstrap::pmix
