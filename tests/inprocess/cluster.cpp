// SPDX-License-Identifier: BSD-3-Clause
#include "cluster.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <thread>

namespace shim::sessions::testing {
namespace {

int size_of(const World& world) {
  int size = 0;
  for (std::uint32_t node = 0; node < world.node_map.node_count(); ++node)
    size += static_cast<int>(world.node_map.ranks_on(node).size());
  return size;
}

/// Make a folder in /dev/shm, so that backing and mapping behave as in production.
std::string new_folder() {
  std::string name = "/dev/shm/intersession-test-XXXXXX";
  return mkdtemp(name.data()) ? name : std::string();
}

/// Make a log file to which all processes append. Without O_APPEND, concurrent writes to one
/// descriptor of a memfd could use one file offset: Linux locks the offset only for files opened by
/// name.
int new_log() {
  const int descriptor = memfd_create("log", MFD_CLOEXEC);
  fcntl(descriptor, F_SETFL, O_APPEND);
  return descriptor;
}

const types::Type& int64() { return *types::find_predefined("MPI_INT64_T"); }

/// Let reads require a registration, as those over libfabric do.
transport::LoopFaults as_fabric(transport::LoopFaults faults) {
  if (faults.reads == transport::LoopFaults::Reads::work)
    faults.reads = transport::LoopFaults::Reads::offered;
  return faults;
}

}  // namespace

std::vector<World> worlds_of_four() {
  return {World::of(1, 4), World::of(2, 2), World::dealt(2, 4), World::of(4, 1)};
}

Ranks range(int first, int last, int stride) {
  Ranks ranks;
  for (int rank = first; rank <= last; rank += stride) ranks.push_back(rank);
  return ranks;
}

base::Settings Cluster::settings() {
  base::Settings settings;
  settings.provider = "any";  // messages between nodes use the in-memory network
  settings.report_after = 0.2;
  return settings;
}

Cluster::Cluster(World world, base::Settings settings, transport::LoopFaults faults)
    : settings_(std::move(settings)),
      size_(size_of(world)),
      folder_(new_folder()),
      log_descriptor_(new_log()),
      launcher_(bootstrap::inmem::Launcher::start(std::move(world))),
      faults_(faults),
      network_(as_fabric(faults)) {
  for (int rank = 0; rank < size_; ++rank) histories_.push_back(std::make_shared<ProcessHistory>());
}

Cluster::~Cluster() {
  EXPECT_EQ(left_over(), std::set<std::string>());
  std::filesystem::remove_all(folder_);
  if (::testing::Test::HasFailure()) std::fputs(log().c_str(), stderr);
  close(log_descriptor_);
}

Ranks Cluster::all() const { return range(0, size_ - 1); }

Factories Cluster::factories(int rank) {
  Factories factories;
  factories.bootstrap =
      [this, rank](const base::Settings&) -> base::Result<std::unique_ptr<bootstrap::Bootstrap>> {
    return launcher_->open(static_cast<std::uint32_t>(rank));
  };
  factories.fabric =
      [this](const base::Settings&) -> base::Result<std::unique_ptr<transport::Transport>> {
    return network_.add();
  };
  factories.fabric_packet_bytes = faults_.max_packet_bytes;
  factories.segment_directory = folder_;
  factories.log_descriptor = log_descriptor_;
  factories.nodes_share_machine = true;
  factories.stuck_after = stuck_after_;
  factories.history = histories_[static_cast<std::size_t>(rank)];
  return factories;
}

base::Result<std::shared_ptr<Process>> Cluster::start(int rank) {
  return Process::start(settings_, factories(rank));
}

void Cluster::run(const Ranks& ranks, const std::function<void(Member&)>& body) {
  std::vector<std::thread> threads;
  for (int rank : ranks)
    threads.emplace_back([this, rank, &body] {
      Member member(*this, rank);
      if (member.session()) body(member);
    });
  for (std::thread& thread : threads) thread.join();
}

std::string Cluster::log() const {
  struct stat status {};
  fstat(log_descriptor_, &status);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  auto got = pread(log_descriptor_, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

std::set<std::string> Cluster::left_over() const {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    names.insert(entry.path().filename());
  return names;
}

Member::Member(Cluster& cluster, int rank) : cluster_(cluster), rank_(rank) { begin(); }

void Member::begin() {
  auto process = cluster_.start(rank_);
  ASSERT_TRUE(process) << process.error().text();
  session_ = std::make_shared<Session>(source_of(*process), cluster_.next_options(), nullptr);
}

GroupPtr Member::group(const Ranks& ranks) const {
  std::vector<std::uint32_t> world_ranks(ranks.begin(), ranks.end());
  return Group::of_ranks(world_ranks);
}

GroupPtr Member::world() const { return *session_->group_of_pset("mpi://WORLD"); }

base::Result<CommunicatorPtr> Member::try_create(const Ranks& ranks, const std::string& tag) const {
  return create_from_group(session_, group(ranks), tag, nullptr, nullptr);
}

CommunicatorPtr Member::create(const Ranks& ranks, const std::string& tag) const {
  auto created = try_create(ranks, tag);
  EXPECT_TRUE(created) << "process " << rank_ << ": " << created.error().text();
  return created ? *std::move(created) : nullptr;
}

CommunicatorPtr Member::create_world(const std::string& tag) const {
  return create(cluster_.all(), tag);
}

std::int64_t sum(const CommunicatorPtr& communicator, std::int64_t value) {
  std::int64_t total = -1;
  coll::Comm& comm = communicator->coll();
  auto status = coll::run(comm, coll::allreduce(comm, {&value, 1, &int64()}, &total, 1, int64(),
                                                types::predefined(types::Operator::sum)));
  EXPECT_TRUE(status) << status.error().text();
  return total;
}

void exercise(const CommunicatorPtr& communicator, int salt) {
  ASSERT_NE(communicator, nullptr);
  const int rank = communicator->rank(), size = communicator->size();
  p2p::Engine& engine = communicator->engine();
  std::int64_t sent = rank * 1000 + salt, got = -1, expected = 0;
  const int left = (rank + size - 1) % size;
  auto request = engine.irecv(communicator->context(), {&got, 1, &int64()}, left, 5);
  ASSERT_TRUE(request) << request.error().text();
  auto status = engine.send(communicator->context(), {&sent, 1, &int64()}, (rank + 1) % size, 5,
                            p2p::SendMode::standard);
  ASSERT_TRUE(status) << status.error().text();
  ASSERT_TRUE(engine.wait(**request));
  EXPECT_EQ((*request)->error(), nullptr);
  engine.release(*request);
  EXPECT_EQ(got, left * 1000 + salt);
  for (int i = 0; i < size; ++i) expected += i * 1000 + salt;
  EXPECT_EQ(sum(communicator, sent), expected);
}

int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string error_text(const base::Result<CommunicatorPtr>& result) {
  if (result) return "";
  return std::string(base::name_of(result.error().error_class())) + ": " + result.error().text();
}

}  // namespace shim::sessions::testing
