// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/backend.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "shim/bootstrap/arguments.hpp"
#include "shim/bootstrap/pending.hpp"
#include "shim/bootstrap/pmix/bounded_call.hpp"
#include "shim/bootstrap/pmix/process_life.hpp"
#include "shim/bootstrap/pmix/psets.hpp"
#include "shim/bootstrap/pmix/status.hpp"

namespace shim::bootstrap::pmix {
namespace {

constexpr double kAbortSeconds = 5;

/// PMIx_Fence_nb's callback (pmix_op_cbfunc_t), on PMIx's thread.
void take_end(pmix_status_t status, void* letter) {
  PostOffice::deliver(letter, Answer{status, {}, {}, {}});
}

class FencePending final : public Pending<Done> {
 public:
  FencePending(const Library& library, std::shared_ptr<Letter> letter)
      : library_(library), letter_(std::move(letter)) {}
  base::Result<std::optional<Done>> poll() override {
    auto answer = letter_->take();
    if (!answer) return std::optional<Done>();
    const Meaning meaning = meaning_of(answer->status);
    if (meaning == Meaning::accepted || meaning == Meaning::completed) return std::optional(Done{});
    return pmix_error(answer->status,
                      "a fence over " + std::to_string(letter_->processes.size()) + " processes of the job failed",
                      library_.error_string(answer->status));
  }

 private:
  const Library library_;
  const std::shared_ptr<Letter> letter_;
};

}  // namespace

Backend::Backend(const Library& library, std::shared_ptr<QuestionGate> gate, double seconds,
                 std::unique_ptr<Connection> connection, JobFacts facts)
    : ground_(new SearchGround{library, std::make_shared<PostOffice>(), std::move(gate)}),
      seconds_(seconds),
      connection_(std::move(connection)),
      facts_(std::move(facts)) {}

base::Result<std::unique_ptr<Bootstrap>> Backend::open(const Library& library, const Options& options) {
  std::shared_ptr<Held> held;
  std::shared_ptr<QuestionGate> gate;
  if (options.life != nullptr) {
    if (*options.life == nullptr) *options.life = std::make_unique<KeptInitialised>();
    auto& life = static_cast<KeptInitialised&>(**options.life);
    held = life.held_with(library);
    gate = life.gate();
  } else {
    held = std::make_shared<Held>(library);
    gate = std::make_shared<QuestionGate>();
  }
  SHIM_TRY_ASSIGN(auto connection, Connection::open(library, options.ready_timeout_s, held));
  if (options.life != nullptr) held->hold();
  SHIM_TRY_ASSIGN(auto facts, read_job(library, connection->self()));
  NodeMap map;
  if (!facts.place) {
    SHIM_TRY_ASSIGN(map, read_node_map(library, connection->self(), facts.job.size));
    facts.place = place_in(map, facts.job.rank);
  }
  std::unique_ptr<Backend> backend(
      new Backend(library, std::move(gate), options.ready_timeout_s, std::move(connection), std::move(facts)));
  backend->settle_node_map(std::move(map));
  return backend;
}

base::Result<NodeMap> Backend::ask_node_map() {
  if (node_map_.size() > 0) return node_map_;  // its place was not to be had without it
  return read_node_map(ground_->library, connection_->self(), facts_.job.size);
}

Backend::~Backend() {
  if (connection_->close()) ground_->office->forget_all();
}

pmix_proc_t Backend::process(std::uint32_t rank) const {
  pmix_proc_t process = connection_->self();
  process.rank = rank;
  return process;
}

base::Result<std::vector<NamedSet>> Backend::named_sets() {
  return query_sets(ground_->library, ground_->office, connection_->self(), seconds_);
}

base::Status Backend::put(std::string_view key, std::span<const std::byte> value) {
  // The first byte only makes the object longer than nothing, which PMIx does not take; Search drops it.
  Bytes bytes(1 + value.size());
  std::copy(value.begin(), value.end(), bytes.begin() + 1);
  pmix_value_t packed{};
  packed.type = PMIX_BYTE_OBJECT;
  packed.data.bo = {reinterpret_cast<char*>(bytes.data()), bytes.size()};
  const pmix_status_t status = ground_->library.put(PMIX_GLOBAL, std::string(key).c_str(), &packed);
  if (status == PMIX_SUCCESS) return {};
  return pmix_error(status, "cannot publish \"" + std::string(key) + "\"", ground_->library.error_string(status));
}

base::Status Backend::commit(std::string_view what) {
  const Library library = ground_->library;
  auto status = bounded_call<pmix_status_t>(seconds_, [library] { return library.commit(); });
  if (!status)
    return base::Error(base::ErrorClass::other, "the launcher's daemon on this node has not taken " +
                                                    std::string(what) + " within " + std::to_string(seconds_) +
                                                    " s; it may be stopped");
  if (*status == PMIX_SUCCESS) return {};
  return pmix_error(*status, "cannot publish " + std::string(what), library.error_string(*status));
}

base::Status Backend::publish(std::string_view key, std::span<const std::byte> value) {
  publishes_.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard lock(publishing_);
  SHIM_TRY(put(key, value));
  return commit("\"" + std::string(key) + "\"");
}

base::Result<std::unique_ptr<Pending<Bytes>>> Backend::lookup(std::uint32_t rank, std::string_view key) {
  SHIM_TRY(check_rank(rank, facts_.job.size));
  lookups_.fetch_add(1, std::memory_order_relaxed);
  return std::make_unique<Search>(ground_, process(rank), std::string(key), facts_.place->has(rank));
}

base::Result<std::unique_ptr<Pending<Done>>> Backend::fence(std::span<const std::uint32_t> ranks) {
  SHIM_TRY(check_fence(ranks, facts_.job));
  fences_.fetch_add(1, std::memory_order_relaxed);
  if (ranks.size() == 1) return answered(Done{});
  auto letter = ground_->office->write();
  // PMIx tells fences apart by the array, and its order counts.
  std::vector<std::uint32_t> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  for (auto rank : sorted) letter->processes.push_back(process(rank));
  letter->directives.push_back(flag(PMIX_COLLECT_DATA));
  const pmix_status_t status =
      ground_->library.fence_nb(letter->processes.data(), letter->processes.size(), letter->directives.data(),
                                letter->directives.size(), take_end, letter.get());
  if (meaning_of(status) != Meaning::accepted) PostOffice::deliver(letter.get(), Answer{status, {}, {}, {}});
  return std::make_unique<FencePending>(ground_->library, std::move(letter));
}

/// PMIx has no question for this. A wish to connect with nobody is refused at once, without a word to the server: for the lack of a
/// server if there is none, else for the lack of somebody.
bool Backend::has_lost_launcher() const {
  return ground_->library.connect_nb(nullptr, 0, nullptr, 0, nullptr, nullptr) == PMIX_ERR_UNREACH;
}

void Backend::abort(int exit_code, std::string_view text) {
  const auto asked = bounded_call<pmix_status_t>(kAbortSeconds, [library = ground_->library, exit_code, message = std::string(text)] {
    return library.abort(exit_code, message.c_str(), nullptr, 0);
  });
  // The launcher ends all, this process too. Who went before would be found dead by the others, who go on until they are ended.
  if (asked && *asked == PMIX_SUCCESS) std::this_thread::sleep_for(std::chrono::duration<double>(kAbortSeconds));
}

Bootstrap::Counts Backend::counts() const {
  return {1, publishes_.load(), lookups_.load(), ground_->retries.load(), fences_.load()};
}

}  // namespace shim::bootstrap::pmix
