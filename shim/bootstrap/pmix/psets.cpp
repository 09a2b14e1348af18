// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/psets.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "shim/base/parsing.hpp"
#include "shim/bootstrap/pmix/status.hpp"

namespace shim::bootstrap::pmix {
namespace {

using base::Error;
using base::ErrorClass;

/// Read the supported parts of a response: a text, or processes in an array that may be nested.
void read_into(PmixResponse& response, const pmix_value_t& value) {
  if (value.type == PMIX_STRING && value.data.string != nullptr) response.text = value.data.string;
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return;
  const pmix_data_array_t& array = *value.data.darray;
  if (array.type == PMIX_PROC) {
    const auto* processes = static_cast<const pmix_proc_t*>(array.array);
    response.processes.assign(processes, processes + array.size);
  } else if (array.type == PMIX_STRING) {
    const auto* names = static_cast<char* const*>(array.array);
    for (std::size_t i = 0; i < array.size; ++i) (response.text += i == 0 ? "" : ",") += names[i];
  } else if (array.type == PMIX_INFO) {
    const auto* infos = static_cast<const pmix_info_t*>(array.array);
    for (std::size_t i = 0; i < array.size; ++i) read_into(response, infos[i].value);
  }
}

/// PMIx_Query_info_nb's callback (pmix_info_cbfunc_t), on PMIx's thread.
void on_infos(pmix_status_t status, pmix_info_t* infos, std::size_t count, void* request,
              pmix_release_cbfunc_t release, void* release_data) {
  PmixResponse response;
  response.status = status;
  if (status == PMIX_SUCCESS)
    for (std::size_t i = 0; i < count; ++i) read_into(response, infos[i].value);
  if (release != nullptr) release(release_data);
  PmixRequestTable::complete(request, std::move(response));
}

/// Run the query; return nothing if the server does not support sets.
base::Result<std::optional<PmixResponse>> run_query(
    const PmixLibrary& library, const std::shared_ptr<PmixRequestTable>& requests, const char* key,
    const std::string& set, double seconds) {
  auto request = requests->create();
  request->key = key;
  request->qualifier = set;
  request->keys = {request->key.data(), nullptr};
  if (!set.empty())
    request->directives.push_back(text_directive(PMIX_PSET_NAME, request->qualifier));
  request->query = {request->keys.data(), request->directives.data(), request->directives.size()};
  const pmix_status_t status = library.query_info_nb(&request->query, 1, on_infos, request.get());
  if (meaning_of(status) != Meaning::accepted)
    PmixRequestTable::complete(request.get(), PmixResponse{status, {}, {}, {}});
  auto response = request->wait(seconds);
  if (!response)
    return Error(ErrorClass::other,
                 "the launcher has not answered a query for process sets within " +
                     std::to_string(seconds) + " s; its daemon on this node may be stopped");
  if (meaning_of(response->status) != Meaning::accepted) return std::optional<PmixResponse>();
  return response;
}

std::optional<std::vector<std::uint32_t>> ranks_of(const PmixResponse& response,
                                                   const pmix_proc_t& self) {
  std::vector<std::uint32_t> ranks;
  for (const auto& process : response.processes) {
    if (std::strncmp(process.nspace, self.nspace, PMIX_MAX_NSLEN) != 0) return std::nullopt;
    ranks.push_back(process.rank);
  }
  return ranks;
}

}  // namespace

base::Result<std::vector<NamedSet>> query_sets(const PmixLibrary& library,
                                               const std::shared_ptr<PmixRequestTable>& requests,
                                               const pmix_proc_t& self, double seconds) {
  std::vector<NamedSet> sets;
  SHIM_TRY_ASSIGN(auto names, run_query(library, requests, PMIX_QUERY_PSET_NAMES, {}, seconds));
  if (!names) return sets;
  for (const std::string_view part : base::parts_of(names->text, ',')) {
    const std::string name(part);
    SHIM_TRY_ASSIGN(auto members,
                    run_query(library, requests, PMIX_QUERY_PSET_MEMBERSHIP, name, seconds));
    if (!members) continue;
    if (auto ranks = ranks_of(*members, self)) sets.push_back({name, std::move(*ranks)});
  }
  return sets;
}

}  // namespace shim::bootstrap::pmix
