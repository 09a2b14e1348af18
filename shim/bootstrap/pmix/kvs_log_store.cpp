// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/kvs_log_store.hpp"

#include <algorithm>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmix/status.hpp"

namespace shim::bootstrap::pmix {
namespace {

constexpr double kRetrySeconds = 1;

/// PMIx_Publish_nb's callback (pmix_op_cbfunc_t), on PMIx's thread.
void on_published(pmix_status_t status, void* request) {
  PmixRequestTable::complete(request, PmixResponse{status, {}, {}, {}});
}

/// PMIx_Lookup_nb's callback (pmix_lookup_cbfunc_t), on PMIx's thread. PMIx owns the data.
void on_data(pmix_status_t status, pmix_pdata_t* data, std::size_t count, void* request) {
  PmixResponse response;
  response.status = status;
  if (status == PMIX_SUCCESS) {
    const bool is_ours = count == 1 && data[0].value.type == PMIX_BYTE_OBJECT &&
                         data[0].value.data.bo.size > 0;
    if (is_ours) {
      const auto* begin = reinterpret_cast<const std::byte*>(data[0].value.data.bo.bytes);
      response.bytes.assign(begin + 1, begin + data[0].value.data.bo.size);  // see put
    } else {
      response.status = PMIX_ERR_TYPE_MISMATCH;
    }
  }
  PmixRequestTable::complete(request, std::move(response));
}

base::Error timeout_error(double seconds) {
  return base::Error(base::ErrorClass::other,
                     "the launcher has not answered a query for KVS log entries within " +
                         std::to_string(seconds) + " s; it may be stopped or overloaded");
}

}  // namespace

std::string PublishedLogStore::key_of(const Name& name) const {
  return "intersession." + job_ + "." + std::to_string(name.rank) + "." + name.key;
}

base::Error PublishedLogStore::error_of(pmix_status_t status, const std::string& what) const {
  if (meaning_of(status) == Meaning::refused)
    return base::Error(
        base::ErrorClass::unsupported_operation, base::Origin::pmix, status,
        what +
            ": the PMIx server of this launcher does not support PMIx_Publish (for example "
            "Slurm's); use mpirun, prterun, mpiexec.hydra or srun --mpi=pmi2");
  return pmix_error(status, what, library_.error_string(status));
}

base::Status PublishedLogStore::put(const Name& name, std::span<const std::byte> value) {
  const auto request = requests_->create();
  request->key = key_of(name);
  // The first byte keeps the object non-empty, because PMIx rejects empty ones.
  request->qualifier.assign(1, '\0').append(reinterpret_cast<const char*>(value.data()),
                                            value.size());
  request->directives.push_back(flag(request->key.c_str()));
  request->directives.front().value.type = PMIX_BYTE_OBJECT;
  request->directives.front().value.data.bo = {request->qualifier.data(),
                                               request->qualifier.size()};
  const pmix_status_t status = library_.publish_nb(
      request->directives.data(), request->directives.size(), on_published, request.get());
  if (meaning_of(status) != Meaning::accepted)
    PmixRequestTable::complete(request.get(), PmixResponse{status, {}, {}, {}});
  const auto response = request->wait(seconds_);
  if (!response) return timeout_error(seconds_);
  const Meaning meaning = meaning_of(response->status);
  if (meaning == Meaning::accepted || meaning == Meaning::completed) return {};
  return error_of(response->status, "cannot publish a KVS log entry");
}

std::shared_ptr<PmixRequest> PublishedLogStore::send_lookup(const Name& name) {
  auto request = requests_->create();
  request->key = key_of(name);
  request->keys = {request->key.data(), nullptr};
  const pmix_status_t status = library_.lookup_nb(request->keys.data(), nullptr, 0, on_data,
                                                  request.get());
  if (meaning_of(status) != Meaning::accepted)
    PmixRequestTable::complete(request.get(), PmixResponse{status, {}, {}, {}});
  return request;
}

std::optional<PmixResponse> PublishedLogStore::look_up(const Name& name) {
  const auto end = base::Deadline::from_setting(seconds_);
  while (true) {
    const double patience = seconds_ > 0 ? std::min(kRetrySeconds, seconds_) : kRetrySeconds;
    if (auto response = send_lookup(name)->wait(patience)) return response;
    if (end.passed()) return std::nullopt;
  }
}

base::Result<std::vector<std::optional<Bytes>>> PublishedLogStore::find(
    std::span<const Name> names) {
  std::vector<std::optional<Bytes>> found;
  for (const Name& name : names) {
    auto response = look_up(name);
    if (!response) return timeout_error(seconds_);
    const Meaning meaning = meaning_of(response->status);
    if (meaning == Meaning::accepted)
      found.emplace_back(std::move(response->bytes));
    else if (meaning == Meaning::not_there)
      found.emplace_back();
    else
      return error_of(response->status, "cannot read the KVS log entries of other processes");
  }
  return found;
}

}  // namespace shim::bootstrap::pmix
