// SPDX-License-Identifier: BSD-3-Clause
// Tests the libfabric transport between real processes, including failures.
#include "shim/transport/ofi/ofi.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "shim/transport/fabric.hpp"
#include "shim/transport/ofi/provider.hpp"
#include "shim/transport/ofi/wire.hpp"
#include "tests/base/open_descriptors.hpp"
#include "tests/base/thread_count.hpp"
#include "tests/transport/large_buffer_network.hpp"
#include "tests/transport/processes.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport {
namespace {

using base::ErrorClass;
using testing::bytes_of;
using testing::CallSink;
using testing::Child;
using testing::kTestSeconds;
using testing::ProcessSync;

OfiSettings settings_for(const std::string& provider) {
  return {.provider = provider, .interface = provider == "shm" ? "" : "lo"};
}

std::unique_ptr<Transport> make(const std::string& provider) {
  testing::pass_over_leaks_of(provider);
  auto made = make_ofi(settings_for(provider));
  EXPECT_TRUE(made) << made.error().text();
  if (!made) std::_Exit(2);
  return *std::move(made);
}

/// fi_getinfo of a libfabric whose providers have names in capitals.
int getinfo_in_capitals(std::uint32_t version, const char* node, const char* service,
                        std::uint64_t flags, const fi_info* hints, fi_info** found) {
  const int code = OfiLibrary::load()->getinfo(version, node, service, flags, hints, found);
  for (fi_info* info = code == 0 ? *found : nullptr; info != nullptr; info = info->next)
    for (char* letter = info->fabric_attr->prov_name; *letter != '\0'; ++letter)
      *letter = static_cast<char>(std::toupper(static_cast<unsigned char>(*letter)));
  return code;
}

TEST(OfiProvider, IsFoundWhateverTheCaseOfItsName) {
  auto library = OfiLibrary::load();
  ASSERT_TRUE(library) << library.error().text();
  library->getinfo = getinfo_in_capitals;
  const auto found = find_provider(*library, settings_for("tcp"), "tcp");
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_STREQ((*found)->fabric_attr->prov_name, "TCP;OFI_RXM");
}

/// Send a packet; poll while the transport has no free buffer.
base::Status send(Transport& transport, Link& link, ConstSpan packet, Sink& sink) {
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  for (;;) {
    SHIM_TRY_ASSIGN(Attempt attempt, transport.try_send(link, packet, {}));
    if (attempt == Attempt::done) return {};
    SHIM_TRY(transport.poll(sink));
    if (deadline.passed())
      return base::Error(ErrorClass::other, "no free buffer for a packet within the time limit");
  }
}

/// Poll until the condition holds.
void poll_until(Transport& transport, Sink& sink, const std::function<bool()>& condition) {
  auto deadline = base::Deadline::after_seconds(kTestSeconds);
  while (!condition()) {
    auto count = transport.poll(sink);
    ASSERT_TRUE(count) << count.error().text();
    if (*count == 0) sched_yield();
    ASSERT_FALSE(deadline.passed()) << "waited " << kTestSeconds << " s";
  }
}

/// Send a packet from one transport of this process to another, and wait until the receiver's sink
/// has it. Poll both, because both must make progress to connect.
void pass(Transport& from, Link& link, Transport& to, ConstSpan packet, Sink& sink,
          const std::function<bool()>& has_come) {
  CallSink nothing([](ConstSpan) {});
  bool sent = false;
  poll_until(to, sink, [&] {
    EXPECT_TRUE(from.poll(nothing));
    if (!sent) sent = *from.try_send(link, packet, {}) == Attempt::done;
    return sent && has_come();
  });
}

struct Provider {
  std::string name;
  /// True if the provider reports the death of a peer. Otherwise the engine detects it by other
  /// means: the node segment or the launcher.
  bool detects_death;
};
void PrintTo(const Provider& provider, std::ostream* out) { *out << provider.name; }

class OfiProviders : public ::testing::TestWithParam<Provider> {
 protected:
  OfiProviders() { testing::raise_receive_memory_for(provider()); }
  const std::string& provider() const { return GetParam().name; }
};

constexpr std::uint32_t kPackets = 1000;

/// Send numbered packets, flush, and exit at once.
void send_flush_and_end(const std::string& provider, ProcessSync& sync, bool with_unread) {
  auto transport = make(provider);
  sync.post_address(1, transport->address());
  Link& link = **transport->open(sync.address_of(0));
  int received = 0;
  CallSink sink([&](ConstSpan) { ++received; });
  std::vector<std::byte> packet(2000);
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    std::memcpy(packet.data(), &i, sizeof i);
    auto sent = send(*transport, link, packet, sink);
    ASSERT_TRUE(sent) << sent.error().text();
    if (i == 0) poll_until(*transport, sink, [&] { return received > 0; });
    if (i == 0 && with_unread) sync.await(1);  // without polling: the peer's packets stay unread
  }
  poll_until(*transport, sink, [&] { return transport->is_flushed(); });
  transport.reset();
  sync.reach(2);
}

void expect_all_packets_of_an_exiting_sender(const std::string& provider, bool with_unread) {
  ProcessSync sync;
  Child sender([&] { send_flush_and_end(provider, sync, with_unread); });
  auto transport = make(provider);
  sync.post_address(0, transport->address());
  Link& back = **transport->open(sync.address_of(1));
  std::uint32_t next = 0;
  CallSink sink([&](ConstSpan packet) {
    std::uint32_t number;
    std::memcpy(&number, packet.data(), sizeof number);
    EXPECT_EQ(number, next++);
  });
  poll_until(*transport, sink, [&] { return next > 0; });
  ASSERT_TRUE(send(*transport, back, bytes_of(1), sink));
  if (with_unread) {
    std::vector<std::byte> unread(10000);
    for (int tries = 0; tries < 3000; ++tries) {
      ASSERT_TRUE(transport->try_send(back, unread, {}));
      ASSERT_TRUE(transport->poll(sink));
    }
    sync.reach(1);
  }
  poll_until(*transport, sink, [&] { return next == kPackets; });
  poll_until(*transport, sink, [&] { return sync.has_reached(2); });
  sender.join();
  EXPECT_EQ(next, kPackets);
}

TEST_P(OfiProviders, FlushedPacketsArriveAfterTheSenderEnds) {
  expect_all_packets_of_an_exiting_sender(provider(), false);
}
TEST_P(OfiProviders, FlushedPacketsArriveThoughTheSenderLeftPacketsUnread) {
  expect_all_packets_of_an_exiting_sender(provider(), true);
}

/// Reply to every packet with one byte until step `end_step` is reached or the process is killed.
void echo(const std::string& provider, ProcessSync& sync, int who, int end_step) {
  auto transport = make(provider);
  sync.post_address(who, transport->address());
  Link& back = **transport->open(sync.address_of(0));
  std::uint64_t owed = 0;
  CallSink sink([&](ConstSpan) { ++owed; });
  poll_until(*transport, sink, [&] {
    while (owed > 0 && *transport->try_send(back, bytes_of('x'), {}) == Attempt::done) --owed;
    return sync.has_reached(end_step);
  });
}

/// Reply to one packet, and then make no progress until killed. The process is not stopped at an
/// arbitrary point, because libfabric's shm provider holds locks in shared memory while it polls.
void reply_once_and_pause(const std::string& provider, ProcessSync& sync, int who) {
  auto transport = make(provider);
  sync.post_address(who, transport->address());
  Link& back = **transport->open(sync.address_of(0));
  bool has_heard = false;
  CallSink sink([&](ConstSpan) { has_heard = true; });
  poll_until(*transport, sink, [&] { return has_heard; });
  ASSERT_TRUE(send(*transport, back, bytes_of('x'), sink));
  poll_until(*transport, sink, [&] { return transport->is_flushed(); });
  sync.reach(1);
  for (;;) ::pause();
}

/// This process, a victim, which the test kills, and a survivor, which replies until the end.
struct VictimAndSurvivor {
  ProcessSync sync;
  Child victim, survivor;
  std::unique_ptr<Transport> transport;
  Link& to_victim;
  Link& to_survivor;
  int received = 0;
  CallSink sink{[this](ConstSpan) { ++received; }};

  explicit VictimAndSurvivor(const std::string& provider)
      : victim([&] { reply_once_and_pause(provider, sync, 1); }),
        survivor([&] { echo(provider, sync, 2, 2); }),
        transport(with_address_on(sync, provider)),
        to_victim(**transport->open(sync.address_of(1))),
        to_survivor(**transport->open(sync.address_of(2))) {}

  /// Exchange one packet with each child; the victim then pauses.
  void connect() {
    ASSERT_TRUE(send(*transport, to_victim, bytes_of(1), sink));
    ASSERT_TRUE(send(*transport, to_survivor, bytes_of(1), sink));
    poll_until(*transport, sink, [&] { return received == 2 && sync.has_reached(1); });
  }
  void end() {
    sync.reach(2);
    survivor.join();
  }

 private:
  static std::unique_ptr<Transport> with_address_on(ProcessSync& sync,
                                                    const std::string& provider) {
    auto made = make(provider);
    sync.post_address(0, made->address());
    return made;
  }
};

TEST_P(OfiProviders, KilledPeerFailsOnlyItsLink) {
  VictimAndSurvivor others(provider());
  others.connect();
  others.victim.kill();
  // The provider determines how soon it reports the death; other links must keep working.
  std::optional<ErrorClass> error;
  auto deadline = base::Deadline::after_seconds(GetParam().detects_death ? kTestSeconds : 1);
  while (!error && !deadline.passed()) {
    auto attempt = others.transport->try_send(others.to_victim, bytes_of(2), {});
    if (!attempt) error = attempt.error().error_class();
    ASSERT_TRUE(others.transport->poll(others.sink));
  }
  if (GetParam().detects_death) {
    EXPECT_EQ(error, ErrorClass::proc_aborted);
  }
  others.received = 0;
  ASSERT_TRUE(send(*others.transport, others.to_survivor, bytes_of(3), others.sink));
  poll_until(*others.transport, others.sink, [&] { return others.received == 1; });
  others.end();
}

/// With so many long packets that packets to the survivor need completions of earlier ones.
TEST_P(OfiProviders, UnreadDataOfADeadPeerDoesNotBlockOtherLinks) {
  constexpr int kUntaken = 8, kLongPackets = 400;
  VictimAndSurvivor others(provider());
  others.connect();
  const std::vector<std::byte> packet(others.transport->max_packet_bytes());
  int untaken = 0;
  while (untaken < kUntaken &&
         *others.transport->try_send(others.to_victim, packet, {}) == Attempt::done)
    ++untaken;
  EXPECT_GT(untaken, 0);
  others.victim.kill();
  others.received = 0;
  int sent = 0;
  poll_until(*others.transport, others.sink, [&] {
    while (sent < kLongPackets &&
           *others.transport->try_send(others.to_survivor, packet, {}) == Attempt::done)
      ++sent;
    return others.received == kLongPackets;
  });
  others.end();
}

TEST_P(OfiProviders, FlushToADeadPeerEnds) {
  if (!GetParam().detects_death)
    GTEST_SKIP() << "this provider does not report deaths; the engine's deadline ends the flush";
  ProcessSync sync;
  Child victim([&] { echo(provider(), sync, 1, 7); });
  auto transport = make(provider());
  sync.post_address(0, transport->address());
  Link& to_victim = **transport->open(sync.address_of(1));
  int received = 0;
  CallSink sink([&](ConstSpan) { ++received; });
  ASSERT_TRUE(send(*transport, to_victim, bytes_of(1), sink));
  poll_until(*transport, sink, [&] { return received == 1; });
  victim.kill();
  (void)transport->try_send(to_victim, bytes_of(2), {});
  poll_until(*transport, sink, [&] { return transport->is_flushed(); });
}

/// Receive one packet, send nothing, and exit.
void receive_one_and_exit(const std::string& provider, ProcessSync& sync) {
  auto transport = make(provider);
  sync.post_address(1, transport->address());
  int received = 0;
  CallSink sink([&](ConstSpan) { ++received; });
  poll_until(*transport, sink, [&] { return received == 1; });
  transport.reset();
  sync.reach(1);
}

TEST_P(OfiProviders, FlushDoesNotWaitForAnEndedReceiver) {
  ProcessSync sync;
  Child listener([&] { receive_one_and_exit(provider(), sync); });
  auto transport = make(provider());
  Link& link = **transport->open(sync.address_of(1));
  CallSink sink([](ConstSpan) {});
  ASSERT_TRUE(send(*transport, link, bytes_of(1), sink));
  poll_until(*transport, sink, [&] { return sync.has_reached(1); });
  const auto begin = base::now_ns();
  poll_until(*transport, sink, [&] { return transport->is_flushed(); });
  EXPECT_LT(base::now_ns() - begin, 1'000'000'000) << "the flush must end with the peer's fin";
  std::optional<ErrorClass> error;
  poll_until(*transport, sink, [&] {
    if (auto attempt = transport->try_send(link, bytes_of(2), {}); !attempt)
      error = attempt.error().error_class();
    return error.has_value();
  });
  EXPECT_EQ(error, ErrorClass::proc_aborted);
  listener.join();
}

/// True if regions of libfabric's shm provider, named "PID:…", exist for this process.
bool has_regions(pid_t process) {
  const std::string prefix = std::to_string(process) + ":";
  std::filesystem::directory_iterator entries("/dev/shm");
  return std::any_of(begin(entries), end(entries), [&](const auto& entry) {
    return entry.path().filename().string().starts_with(prefix);
  });
}

TEST(OfiMemory, StaleRegionsOfAKilledProcessAreRemoved) {
  ProcessSync sync;
  Child victim([&] { echo("shm", sync, 1, 7); });
  sync.address_of(1);
  auto mine = make("shm");
  victim.kill();
  EXPECT_TRUE(has_regions(victim.pid()));
  remove_stale_fabric_memory();
  EXPECT_FALSE(has_regions(victim.pid()));
  EXPECT_TRUE(has_regions(::getpid())) << "regions in use must stay";
  mine.reset();
  EXPECT_FALSE(has_regions(::getpid()));
}

TEST_P(OfiProviders, UnauthenticatedFramesAreDroppedAndCounted) {
  auto receiver = make(provider());
  auto stranger = make(provider());
  auto guessed = *OfiAddress::from_bytes(receiver->address());
  guessed.cookie ^= 1;
  Link& wrong = **stranger->open(guessed.to_bytes());
  Link& right = **stranger->open(receiver->address());
  std::vector<int> received;
  CallSink sink([&](ConstSpan packet) {
    received.emplace_back();
    std::memcpy(&received.back(), packet.data(), sizeof(int));
  });
  pass(*stranger, wrong, *receiver, bytes_of(13), sink,
       [&] { return receiver->counts().packets_refused > 0; });
  pass(*stranger, right, *receiver, bytes_of(14), sink, [&] { return !received.empty(); });
  EXPECT_EQ(received, std::vector<int>{14});
  EXPECT_EQ(receiver->counts().packets_refused, 2u) << "the address frame, and the packet";
}

TEST_P(OfiProviders, ForkedChildCannotUseTheEndpoint) {
  auto a = make(provider());
  auto b = make(provider());
  Link& link = **a->open(b->address());
  int received = 0;
  CallSink sink([&](ConstSpan) { ++received; });
  auto pass_one = [&] {
    pass(*a, link, *b, bytes_of(1), sink, [&] { return received > 0; });
    received = 0;
  };
  pass_one();
  Child child([&] {
    EXPECT_FALSE(a->try_send(link, bytes_of(1), {}));
    EXPECT_FALSE(b->poll(sink));
    a.reset();
    b.reset();
  });
  child.join();
  pass_one();
}

/// With other providers, which may connect at an insertion, only senders pay for insertions.
TEST_P(OfiProviders, ExpectedPeerIsInsertedIfTheProviderNeedsIt) {
  auto here = make(provider()), there = make(provider());
  Link& link = **here->open(there->address());
  for (int i = 0; i < 2; ++i) here->fabric()->expect(link);
  EXPECT_EQ(here->counts().addresses_inserted, provider() == "sockets" ? 1u : 0u);
}

TEST_P(OfiProviders, ClosesAllDescriptorsAndThreads) {
  auto use_once = [&] {
    auto a = make(provider());
    auto b = make(provider());
    Link& link = **a->open(b->address());
    int received = 0;
    CallSink sink([&](ConstSpan) { ++received; });
    pass(*a, link, *b, bytes_of(1), sink, [&] { return received > 0; });
  };
  use_once();  // libfabric keeps some descriptors of its first use open
  std::size_t descriptors = base::open_descriptors(), threads = base::wait_for_thread_count(0);
  for (int i = 0; i < 3; ++i) use_once();
  EXPECT_EQ(base::open_descriptors(), descriptors);
  EXPECT_EQ(base::wait_for_thread_count(threads), threads);
}

INSTANTIATE_TEST_SUITE_P(
    Providers, OfiProviders,
    // shm: the provider does not check if the peer, on the same node, is alive.
    // net: reconnects repeatedly, and returns -FI_EAGAIN meanwhile (libfabric 1.17).
    ::testing::Values(Provider{"tcp;ofi_rxm", true}, Provider{"sockets", true},
                      Provider{"shm", false}, Provider{"net", false}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::replace(name.begin(), name.end(), ';', '_');
      return name;
    });

TEST(OfiAddresses, AddressOfAnotherProviderIsRefused) {
  auto tcp = make("tcp;ofi_rxm");
  auto sockets = make("sockets");
  auto link = sockets->open(tcp->address());
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().error_class(), ErrorClass::arg);
  for (const char* word : {"tcp;ofi_rxm", "sockets", "INTERSESSION_PROVIDER"})
    EXPECT_NE(link.error().text().find(word), std::string::npos) << link.error().text();
}

TEST(OfiSettings, DefaultsToAKnownProvider) {
  auto transport = make_ofi({.interface = "lo"});
  ASSERT_TRUE(transport) << transport.error().text();
}

TEST(OfiSettings, UnusableProviderIsAHelpfulError) {
  auto transport = make_ofi({.provider = "carrier-pigeon"});
  ASSERT_FALSE(transport);
  EXPECT_EQ(transport.error().error_class(), ErrorClass::other);
  for (const char* word : {"carrier-pigeon", "INTERSESSION_PROVIDER"})
    EXPECT_NE(transport.error().text().find(word), std::string::npos) << transport.error().text();
}

TEST(OfiSettings, UnknownInterfaceErrorListsInterfaces) {
  auto transport = make_ofi({.provider = "sockets", .interface = "eth77"});
  ASSERT_FALSE(transport);
  for (const char* word : {"sockets", "eth77", "127.0.0.1"})
    EXPECT_NE(transport.error().text().find(word), std::string::npos) << transport.error().text();
}

TEST(OfiSettings, InterfaceMayBeAnAddressPrefix) {
  auto transport = make_ofi({.provider = "sockets", .interface = "127."});
  EXPECT_TRUE(transport) << transport.error().text();
}

}  // namespace
}  // namespace shim::transport
