// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/backend.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "shim/bootstrap/arguments.hpp"
#include "shim/bootstrap/pending.hpp"
#include "shim/bootstrap/pmix/bounded_call.hpp"
#include "shim/bootstrap/pmix/process_lifetime.hpp"
#include "shim/bootstrap/pmix/psets.hpp"
#include "shim/bootstrap/pmix/status.hpp"

namespace shim::bootstrap::pmix {
namespace {

constexpr double kAbortSeconds = 5;

/// PMIx_Fence_nb's callback (pmix_op_cbfunc_t), on PMIx's thread.
void on_fence_end(pmix_status_t status, void* request) {
  PmixRequestTable::complete(request, PmixResponse{status, {}, {}, {}});
}

class FencePending final : public Pending<Done> {
 public:
  FencePending(const PmixLibrary& library, std::shared_ptr<PmixRequest> request)
      : library_(library), request_(std::move(request)) {}
  base::Result<std::optional<Done>> poll() override {
    auto response = request_->take();
    if (!response) return std::optional<Done>();
    const Meaning meaning = meaning_of(response->status);
    if (meaning == Meaning::accepted || meaning == Meaning::completed) return std::optional(Done{});
    return pmix_error(response->status,
                      "a fence over " + std::to_string(request_->processes.size()) +
                          " processes of the job failed",
                      library_.error_string(response->status));
  }

 private:
  const PmixLibrary library_;
  const std::shared_ptr<PmixRequest> request_;
};

}  // namespace

Backend::Backend(const PmixLibrary& library, std::shared_ptr<GetInterlock> interlock,
                 double seconds, std::unique_ptr<Connection> connection, JobFacts facts)
    : context_(
          new SearchContext{library, std::make_shared<PmixRequestTable>(), std::move(interlock)}),
      seconds_(seconds),
      connection_(std::move(connection)),
      facts_(std::move(facts)) {}

base::Result<std::unique_ptr<Bootstrap>> Backend::open(const PmixLibrary& library,
                                                       const Options& options) {
  std::shared_ptr<InitCount> init_count;
  std::shared_ptr<GetInterlock> interlock;
  if (options.lifetime != nullptr) {
    if (*options.lifetime == nullptr) *options.lifetime = std::make_unique<PersistentInit>();
    auto& lifetime = static_cast<PersistentInit&>(**options.lifetime);
    init_count = lifetime.init_count_with(library);
    interlock = lifetime.interlock();
  } else {
    init_count = std::make_shared<InitCount>(library);
    interlock = std::make_shared<GetInterlock>();
  }
  SHIM_TRY_ASSIGN(auto connection, Connection::open(library, options.ready_timeout_s, init_count));
  if (options.lifetime != nullptr) init_count->hold();
  SHIM_TRY_ASSIGN(auto facts, read_job(library, connection->self()));
  NodeMap map;
  if (!facts.location) {
    SHIM_TRY_ASSIGN(map, read_node_map(library, connection->self(), facts.job.size));
    facts.location = location_in(map, facts.job.rank);
  }
  std::unique_ptr<Backend> backend(new Backend(library, std::move(interlock),
                                               options.ready_timeout_s, std::move(connection),
                                               std::move(facts)));
  backend->set_node_map(std::move(map));
  return backend;
}

base::Result<NodeMap> Backend::query_node_map() {
  if (node_map_.size() > 0) return node_map_;  // read_job() needed the map for the location
  return read_node_map(context_->library, connection_->self(), facts_.job.size);
}

Backend::~Backend() {
  // true if PMIx is finalized now: then no response arrives any more
  if (connection_->close()) context_->requests->abandon_all();
}

pmix_proc_t Backend::process(std::uint32_t rank) const {
  pmix_proc_t process = connection_->self();
  process.rank = rank;
  return process;
}

base::Result<std::vector<NamedSet>> Backend::named_sets() {
  return query_sets(context_->library, context_->requests, connection_->self(), seconds_);
}

base::Status Backend::put(std::string_view key, std::span<const std::byte> value) {
  // The first byte keeps the object non-empty, because PMIx rejects empty ones; Search drops it.
  Bytes bytes(1 + value.size());
  std::copy(value.begin(), value.end(), bytes.begin() + 1);
  pmix_value_t packed{};
  packed.type = PMIX_BYTE_OBJECT;
  packed.data.bo = {reinterpret_cast<char*>(bytes.data()), bytes.size()};
  const pmix_status_t status = context_->library.put(PMIX_GLOBAL, std::string(key).c_str(),
                                                     &packed);
  if (status == PMIX_SUCCESS) return {};
  return pmix_error(status, "cannot publish \"" + std::string(key) + "\"",
                    context_->library.error_string(status));
}

base::Status Backend::commit(std::string_view what) {
  const PmixLibrary library = context_->library;
  auto status = bounded_call<pmix_status_t>(seconds_, [library] { return library.commit(); });
  if (!status)
    return base::Error(base::ErrorClass::other,
                       "the launcher's daemon on this node has not accepted " + std::string(what) +
                           " within " + std::to_string(seconds_) + " s; it may be stopped");
  if (*status == PMIX_SUCCESS) return {};
  return pmix_error(*status, "cannot publish " + std::string(what), library.error_string(*status));
}

base::Status Backend::publish(std::string_view key, std::span<const std::byte> value) {
  publishes_.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard lock(publishing_);
  SHIM_TRY(put(key, value));
  return commit("\"" + std::string(key) + "\"");
}

base::Result<std::unique_ptr<Pending<Bytes>>> Backend::lookup(std::uint32_t rank,
                                                              std::string_view key) {
  SHIM_TRY(check_rank(rank, facts_.job.size));
  lookups_.fetch_add(1, std::memory_order_relaxed);
  return std::make_unique<Search>(context_, process(rank), std::string(key),
                                  facts_.location->has(rank));
}

base::Result<std::unique_ptr<Pending<Done>>> Backend::fence(std::span<const std::uint32_t> ranks) {
  SHIM_TRY(check_fence(ranks, facts_.job));
  fences_.fetch_add(1, std::memory_order_relaxed);
  if (ranks.size() == 1) return completed(Done{});
  auto request = context_->requests->create();
  // PMIx distinguishes fences by the array, including its order.
  std::vector<std::uint32_t> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  for (auto rank : sorted) request->processes.push_back(process(rank));
  request->directives.push_back(flag(PMIX_COLLECT_DATA));
  const pmix_status_t status = context_->library.fence_nb(
      request->processes.data(), request->processes.size(), request->directives.data(),
      request->directives.size(), on_fence_end, request.get());
  if (meaning_of(status) != Meaning::accepted)
    PmixRequestTable::complete(request.get(), PmixResponse{status, {}, {}, {}});
  return std::make_unique<FencePending>(context_->library, std::move(request));
}

/// PMIx has no query for this. A request to connect with an empty set fails at once without
/// communication: with one status if there is no server, else with another.
bool Backend::has_lost_launcher() const {
  return context_->library.connect_nb(nullptr, 0, nullptr, 0, nullptr, nullptr) == PMIX_ERR_UNREACH;
}

void Backend::abort(int exit_code, std::string_view text) {
  const auto asked = bounded_call<pmix_status_t>(
      kAbortSeconds, [library = context_->library, exit_code, message = std::string(text)] {
        return library.abort(exit_code, message.c_str(), nullptr, 0);
      });
  // The launcher ends all processes, including this one. If this process ended first, its peers
  // would report a failed process until they are ended.
  if (asked && *asked == PMIX_SUCCESS)
    std::this_thread::sleep_for(std::chrono::duration<double>(kAbortSeconds));
}

Bootstrap::Counts Backend::counts() const {
  return {1, publishes_.load(), lookups_.load(), context_->retries.load(), fences_.load()};
}

}  // namespace shim::bootstrap::pmix
