// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/pmix.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmix/library.hpp"

namespace shim::bootstrap {
namespace {

using pmix::Library;

/// What PMIx's own thread leaves for the one who asks. Shared, so that a question can be dropped before its answer comes.
struct Mailbox {
  std::mutex mutex;
  bool answered = false;
  pmix_status_t code = PMIX_SUCCESS;
  Bytes value;
};
using MailboxPtr = std::shared_ptr<Mailbox>;

void deliver(MailboxPtr* box, pmix_status_t code, const pmix_value_t* value) {
  {
    std::lock_guard guard((*box)->mutex);
    (*box)->answered = true;
    (*box)->code = code;
    if (code == PMIX_SUCCESS && value != nullptr && value->type == PMIX_BYTE_OBJECT) {
      const auto* bytes = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
      (*box)->value.assign(bytes, bytes + value->data.bo.size);
    }
  }
  delete box;
}

void on_value(pmix_status_t code, pmix_value_t* value, void* box) { deliver(static_cast<MailboxPtr*>(box), code, value); }
void on_fence(pmix_status_t code, void* box) { deliver(static_cast<MailboxPtr*>(box), code, nullptr); }

/// A directive that is simply on. The header's own macro would call into the library, which is not linked.
pmix_info_t switched_on(const char* key) {
  pmix_info_t info;
  std::memset(&info, 0, sizeof info);
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

class Lookup final : public Pending<Bytes> {
 public:
  Lookup(const Library& library, const pmix_proc_t& process, std::string key, std::atomic<std::uint64_t>& retries)
      : library_(library), process_(process), key_(std::move(key)), retries_(retries) {}

  base::Result<std::optional<Bytes>> poll() override {
    if (!box_) {
      if (base::now_ns() < next_try_) return std::optional<Bytes>();
      SHIM_TRY(ask());
    }
    std::lock_guard guard(box_->mutex);
    if (!box_->answered) return std::optional<Bytes>();
    if (box_->code == PMIX_SUCCESS) return std::optional<Bytes>(std::move(box_->value));
    if (box_->code != PMIX_ERR_NOT_FOUND && box_->code != PMIX_ERR_TIMEOUT)
      return pmix::error_of(library_, box_->code, "the address of process " + std::to_string(process_.rank));
    return try_later();
  }

  base::Status ask() {
    box_ = std::make_shared<Mailbox>();
    auto* held = new MailboxPtr(box_);
    pmix_status_t code = library_.get_nb(&process_, key_.c_str(), nullptr, 0, on_value, held);
    if (code == PMIX_SUCCESS) return {};
    delete held;
    box_->answered = true;
    box_->code = code;
    return {};
  }

 private:
  /// The server answers "not there" at once for a process that has committed other keys but not this one yet.
  base::Result<std::optional<Bytes>> try_later() {
    constexpr base::Nanoseconds kLongest = 100'000'000;
    retries_.fetch_add(1, std::memory_order_relaxed);  // a plain count, pairs with nothing
    next_try_ = base::now_ns() + pause_;
    pause_ = std::min(pause_ * 2, kLongest);
    drop_ = std::move(box_);
    return std::optional<Bytes>();
  }

  const Library& library_;
  pmix_proc_t process_;
  std::string key_;
  std::atomic<std::uint64_t>& retries_;
  MailboxPtr box_, drop_;
  base::Nanoseconds next_try_ = 0, pause_ = 1'000'000;
};

class Fence final : public Pending<Done> {
 public:
  Fence(const Library& library, MailboxPtr box) : library_(library), box_(std::move(box)) {}
  base::Result<std::optional<Done>> poll() override {
    std::lock_guard guard(box_->mutex);
    if (!box_->answered) return std::optional<Done>();
    if (box_->code != PMIX_SUCCESS) return pmix::error_of(library_, box_->code, "the fence");
    return std::optional<Done>(Done{});
  }

 private:
  const Library& library_;
  MailboxPtr box_;
};

class PmixBootstrap final : public Bootstrap {
 public:
  explicit PmixBootstrap(Library library) : library_(library) {}
  ~PmixBootstrap() override {
    if (initialised_) library_.finalize(nullptr, 0);
  }

  base::Status open() {
    pmix_status_t code = library_.init(&self_, nullptr, 0);
    if (code != PMIX_SUCCESS)
      return pmix::error_of(library_, code, "the launcher's PMIx server does not answer; is the job's mpirun still running?");
    initialised_ = true;
    SHIM_TRY_ASSIGN(job_.size, job_number(PMIX_JOB_SIZE));
    job_.world_name = self_.nspace;
    job_.rank = self_.rank;
    SHIM_TRY(read_nodes());
    read_apps();
    return {};
  }

  std::string_view name() const override { return "pmix"; }
  const Job& job() const override { return job_; }
  const NodeMap& node_map() const override { return nodes_; }
  std::span<const std::uint32_t> app_numbers() const override { return apps_; }
  base::Result<std::vector<NamedSet>> named_sets() override { return std::vector<NamedSet>(); }

  base::Status publish(std::string_view key, std::span<const std::byte> value) override {
    ++counts_.publishes;
    pmix_value_t boxed;
    std::memset(&boxed, 0, sizeof boxed);
    boxed.type = PMIX_BYTE_OBJECT;
    boxed.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(value.data()));
    boxed.data.bo.size = value.size();
    pmix_status_t code = library_.put(PMIX_GLOBAL, std::string(key).c_str(), &boxed);
    if (code == PMIX_SUCCESS) code = library_.commit();
    if (code != PMIX_SUCCESS) return pmix::error_of(library_, code, "publishing this process's address");
    return {};
  }

  base::Result<std::unique_ptr<Pending<Bytes>>> lookup(std::uint32_t rank, std::string_view key) override {
    ++counts_.lookups;
    auto question = std::make_unique<Lookup>(library_, process_of(rank), std::string(key), retries_);
    SHIM_TRY(question->ask());
    return std::unique_ptr<Pending<Bytes>>(std::move(question));
  }

  base::Result<std::unique_ptr<Pending<Done>>> fence(std::span<const std::uint32_t> ranks) override {
    ++counts_.fences;
    std::vector<pmix_proc_t> processes;
    for (auto rank : ranks) processes.push_back(process_of(rank));
    const pmix_info_t info = switched_on(PMIX_COLLECT_DATA);
    auto box = std::make_shared<Mailbox>();
    auto* held = new MailboxPtr(box);
    pmix_status_t code = library_.fence_nb(processes.data(), processes.size(), &info, 1, on_fence, held);
    if (code != PMIX_SUCCESS) {
      delete held;
      return pmix::error_of(library_, code, "entering a fence over " + std::to_string(ranks.size()) + " processes");
    }
    return std::unique_ptr<Pending<Done>>(std::make_unique<Fence>(library_, std::move(box)));
  }

  void abort(int exit_code, std::string_view text) override {
    library_.abort(exit_code, std::string(text).c_str(), nullptr, 0);
  }
  Counts counts() const override {
    Counts now = counts_;
    now.lookup_retries = retries_.load(std::memory_order_relaxed);
    return now;
  }

 private:
  pmix_proc_t process_of(std::uint32_t rank) const {
    pmix_proc_t process = self_;
    process.rank = rank;
    return process;
  }

  void release(pmix_value_t* value) {
    library_.value_destruct(value);
    std::free(value);
  }

  base::Result<std::uint32_t> job_number(const char* key) {
    pmix_proc_t all = process_of(PMIX_RANK_WILDCARD);
    pmix_value_t* value = nullptr;
    pmix_status_t code = library_.get(&all, key, nullptr, 0, &value);
    if (code != PMIX_SUCCESS) return pmix::error_of(library_, code, std::string("asking for ") + key);
    std::uint32_t number = value->data.uint32;
    release(value);
    return number;
  }

  /// By node and not by rank: after a second PMIx_Init in one process, PMIx 4.2.2 no longer knows what it knew of each rank
  /// (docs/measurements.md), but still resolves nodes and peers.
  base::Status read_nodes() {
    char* list = nullptr;
    pmix_status_t code = library_.resolve_nodes(self_.nspace, &list);
    if (code != PMIX_SUCCESS) return pmix::error_of(library_, code, "asking for the nodes of the job");
    std::vector<std::string> hosts;
    for (char *next = list, *host = nullptr; (host = strsep(&next, ",")) != nullptr;) hosts.emplace_back(host);
    std::free(list);
    std::vector<std::uint32_t> node_of(job_.size, 0);
    std::uint32_t placed = 0;
    for (std::uint32_t node = 0; node < hosts.size(); ++node) {
      pmix_proc_t* processes = nullptr;
      std::size_t count = 0;
      code = library_.resolve_peers(hosts[node].c_str(), self_.nspace, &processes, &count);
      if (code != PMIX_SUCCESS) return pmix::error_of(library_, code, "asking for the processes on node " + hosts[node]);
      for (std::size_t i = 0; i < count; ++i)
        if (processes[i].rank < job_.size) node_of[processes[i].rank] = node, ++placed;
      std::free(processes);
    }
    if (placed != job_.size)
      return base::Error(base::ErrorClass::other, "PMIx knows the nodes of " + std::to_string(placed) + " processes only, of " +
                                                      std::to_string(job_.size));
    nodes_ = NodeMap(std::move(hosts), std::move(node_of));
    return {};
  }

  void read_apps() {
    for (std::uint32_t rank = 0; rank < job_.size; ++rank) {
      pmix_proc_t process = process_of(rank);
      pmix_value_t* value = nullptr;
      const pmix_info_t info = switched_on(PMIX_IMMEDIATE);
      if (library_.get(&process, PMIX_APPNUM, &info, 1, &value) != PMIX_SUCCESS) {
        apps_.clear();
        return;
      }
      apps_.push_back(value->data.uint32);
      release(value);
    }
  }

  Library library_;
  bool initialised_ = false;
  pmix_proc_t self_{};
  Job job_;
  NodeMap nodes_;
  std::vector<std::uint32_t> apps_;
  Counts counts_;
  std::atomic<std::uint64_t> retries_{0};
};

}  // namespace

bool has_pmix_environment() { return std::getenv("PMIX_NAMESPACE") != nullptr && std::getenv("PMIX_RANK") != nullptr; }

base::Result<std::unique_ptr<Bootstrap>> open_pmix(const Options&) {
  SHIM_TRY_ASSIGN(auto library, pmix::load_library());
  auto opened = std::make_unique<PmixBootstrap>(library);
  SHIM_TRY(opened->open());
  return std::unique_ptr<Bootstrap>(std::move(opened));
}

}  // namespace shim::bootstrap
