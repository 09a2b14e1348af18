// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/notice_store.hpp"

#include <algorithm>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmix/status.hpp"

namespace shim::bootstrap::pmix {
namespace {

constexpr double kAskAgainSeconds = 1;

/// PMIx_Publish_nb's callback (pmix_op_cbfunc_t), on PMIx's thread.
void take_end_of_publication(pmix_status_t status, void* letter) {
  PostOffice::deliver(letter, Answer{status, {}, {}, {}});
}

/// PMIx_Lookup_nb's callback (pmix_lookup_cbfunc_t), on PMIx's thread. The data are PMIx's.
void take_data(pmix_status_t status, pmix_pdata_t* data, std::size_t count, void* letter) {
  Answer answer;
  answer.status = status;
  if (status == PMIX_SUCCESS) {
    const bool is_ours = count == 1 && data[0].value.type == PMIX_BYTE_OBJECT && data[0].value.data.bo.size > 0;
    if (is_ours) {
      const auto* begin = reinterpret_cast<const std::byte*>(data[0].value.data.bo.bytes);
      answer.bytes.assign(begin + 1, begin + data[0].value.data.bo.size);  // see put
    } else {
      answer.status = PMIX_ERR_TYPE_MISMATCH;
    }
  }
  PostOffice::deliver(letter, std::move(answer));
}

base::Error no_answer_in(double seconds) {
  return base::Error(base::ErrorClass::other, "the launcher has not answered a question about notices within " + std::to_string(seconds) +
                                                  " s; it may be stopped or overloaded");
}

}  // namespace

std::string PublishedNotices::key_of(const Name& name) const {
  return "intersession." + job_ + "." + std::to_string(name.rank) + "." + name.key;
}

base::Error PublishedNotices::error_of(pmix_status_t status, const std::string& what) const {
  if (meaning_of(status) == Meaning::refused)
    return base::Error(base::ErrorClass::unsupported_operation, base::Origin::pmix, status,
                       what + ": this launcher's PMIx server keeps nothing that processes publish (PMIx_Publish), as Slurm's; mpirun's and "
                              "prterun's do, and PMI-1's name service under mpiexec.hydra and srun --mpi=pmi2");
  return pmix_error(status, what, library_.error_string(status));
}

base::Status PublishedNotices::put(const Name& name, std::span<const std::byte> value) {
  const auto letter = office_->write();
  letter->key = key_of(name);
  // The first byte only makes the object longer than nothing, which PMIx does not take.
  letter->qualifier.assign(1, '\0').append(reinterpret_cast<const char*>(value.data()), value.size());
  letter->directives.push_back(flag(letter->key.c_str()));
  letter->directives.front().value.type = PMIX_BYTE_OBJECT;
  letter->directives.front().value.data.bo = {letter->qualifier.data(), letter->qualifier.size()};
  const pmix_status_t status = library_.publish_nb(letter->directives.data(), letter->directives.size(), take_end_of_publication, letter.get());
  if (meaning_of(status) != Meaning::accepted) PostOffice::deliver(letter.get(), Answer{status, {}, {}, {}});
  const auto answer = letter->wait(seconds_);
  if (!answer) return no_answer_in(seconds_);
  const Meaning meaning = meaning_of(answer->status);
  if (meaning == Meaning::accepted || meaning == Meaning::completed) return {};
  return error_of(answer->status, "cannot post a notice for all processes");
}

std::shared_ptr<Letter> PublishedNotices::ask_for(const Name& name) {
  auto letter = office_->write();
  letter->key = key_of(name);
  letter->keys = {letter->key.data(), nullptr};
  const pmix_status_t status = library_.lookup_nb(letter->keys.data(), nullptr, 0, take_data, letter.get());
  if (meaning_of(status) != Meaning::accepted) PostOffice::deliver(letter.get(), Answer{status, {}, {}, {}});
  return letter;
}

std::optional<Answer> PublishedNotices::answer_for(const Name& name) {
  const auto end = base::Deadline::from_setting(seconds_);
  while (true) {
    const double patience = seconds_ > 0 ? std::min(kAskAgainSeconds, seconds_) : kAskAgainSeconds;
    if (auto answer = ask_for(name)->wait(patience)) return answer;
    if (end.passed()) return std::nullopt;
  }
}

base::Result<std::vector<std::optional<Bytes>>> PublishedNotices::find(std::span<const Name> names) {
  std::vector<std::optional<Bytes>> found;
  for (const Name& name : names) {
    auto answer = answer_for(name);
    if (!answer) return no_answer_in(seconds_);
    const Meaning meaning = meaning_of(answer->status);
    if (meaning == Meaning::accepted) found.emplace_back(std::move(answer->bytes));
    else if (meaning == Meaning::not_there) found.emplace_back();
    else return error_of(answer->status, "cannot look for notices of other processes");
  }
  return found;
}

}  // namespace shim::bootstrap::pmix
