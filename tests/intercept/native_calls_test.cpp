// SPDX-License-Identifier: BSD-3-Clause
// Tests calls of a simulated native library that fail, that other threads overlap, or whose results
// the interposition layer keeps.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/datatypes/type_contents.hpp"
#include "shim/intercept/dispatch.hpp"
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/sessions/process.hpp"
#include "tests/intercept/forwarding.hpp"

namespace shim::intercept::testing {
namespace {

/// Return an address for a predefined object of a simulated native library; each name has its own.
void* address_of_symbol(const char* name) {
  static std::map<std::string, std::unique_ptr<std::array<std::byte, 64>>> symbols;
  auto& symbol = symbols[name];
  if (!symbol) symbol = std::make_unique<std::array<std::byte, 64>>();
  return symbol.get();
}

/// Return a handle of the simulated library.
template <typename Handle>
Handle native_handle(std::uintptr_t number) {
  return abi::from_bits<Handle>(static_cast<abi::Bits>(0x1000 * number));
}

/// Calls of the simulated library so far, and the results of later calls.
struct NativeLibrary {
  std::uintptr_t made = 0;
  int infos_freed = 0, ops_freed = 0;
  bool is_main_thread = true;
  /// Called inside the next call that makes a handle, as if by another thread.
  void (*overlapping)() = nullptr;

  template <typename Handle>
  int make(Handle* handle) {
    if (auto* const other = std::exchange(overlapping, nullptr)) other();
    *handle = testing::native_handle<Handle>(++made);
    return MPI_SUCCESS;
  }
};
NativeLibrary native_library;
constexpr int kNativeTag = 77;

class NativeCalls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("INTERSESSION_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
    ASSERT_TRUE(abi::resolve_predefined(address_of_symbol));
    record_all(active_table);
    current_table.store(&active_table, std::memory_order_release);  // pairs with native()
  }
  void SetUp() override { native_library = NativeLibrary(); }
};

/// A communicator of one process, with its handle.
class SelfCommunicator {
 public:
  SelfCommunicator() {
    auto process = sessions::Process::start(base::Settings(), sessions::Factories::standard());
    if (!process) throw std::runtime_error(process.error().text());
    auto session = std::make_shared<sessions::Session>(sessions::source_of(*std::move(process)),
                                                       sessions::SessionOptions{}, nullptr);
    comm = *sessions::create_from_group(
        session, sessions::Group::of_ranges({{0, 0, 1, 1}}), "test.native_calls", nullptr,
        std::make_shared<sessions::ErrorHandler>(
            sessions::ErrorHandler{.kind = sessions::HandlerKind::ret}));
    handle = *objects.comms.insert(sessions::CommunicatorPtr(comm));
  }
  ~SelfCommunicator() { objects.comms.erase(handle); }

  p2p::Engine& engine() const { return comm->engine(); }
  sessions::CommunicatorPtr comm;
  MPI_Comm handle{};
};

/// Tells another thread when MPI_Waitall is about to look for failures, and completes at the end.
class Announcing final : public PolledRequest {
 public:
  void advance() override {
    ++rounds;
    if (is_over && !is_done()) complete({});
  }
  bool needs_native_progress() const override { return true; }
  int describe(MPI_Status*) override { return MPI_SUCCESS; }

  std::atomic<std::uint64_t> rounds{0};
  std::atomic<bool> is_over{false};
};

/// Another thread records and acknowledges failures of members while MPI_Waitall decides whether a
/// receive from any source can complete; in some rounds between two of its steps.
TEST_F(NativeCalls, WaitallKeepsStatusesOfCompletedNativeRequests) {
  const auto native_request = testing::native_handle<MPI_Request>(1);
  active_table.Testall.set([](int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    for (int i = 0; i < count; ++i) {
      statuses[i].MPI_TAG = kNativeTag;
      requests[i] = abi::predefined.request_null;
    }
    *flag = 1;
    return MPI_SUCCESS;
  });
  const SelfCommunicator self;
  p2p::Context& context = self.comm->context();
  auto* const announcing = new Announcing;
  const auto polled = *objects.requests.insert({.request = announcing, .polled = announcing});
  std::int32_t value = 0;
  const types::Type* const type = types::find_predefined("MPI_INT");
  p2p::MessageStatus received;
  p2p::Request* const receive = *self.engine().receive_or_start(context, {&value, 1, type},
                                                                p2p::kAnySource, 5, received);
  const auto ours = *objects.requests.insert(
      {.request = receive, .comm = self.comm.get(), .handle = self.handle});

  std::atomic<bool> has_failed{false};
  std::jthread failures([&] {
    constexpr int kFailures = 3'000, kSpins = 20'000;
    const auto await_round = [&](std::uint64_t after) {
      for (int spins = 0; announcing->rounds == after && !has_failed; ++spins)
        if (spins >= kSpins) std::this_thread::yield();  // both threads may share one core
    };
    const auto end = base::Deadline::after_seconds(2);  // on one core each round takes a time slice
    for (int rank = 1; rank <= kFailures && !end.passed(); ++rank) {
      await_round(announcing->rounds);
      self.engine().record_failed_rank(context, rank);
      if (rank % 2 == 0) await_round(announcing->rounds);
      self.engine().acknowledge_failed(context, rank);
    }
    const std::int32_t sent = 4;
    EXPECT_TRUE(self.engine().send(context, {&sent, 1, type}, 0, 5, p2p::SendMode::standard));
    announcing->is_over = true;
  });
  for (int code = MPI_ERR_IN_STATUS; code != MPI_SUCCESS && !has_failed;) {
    std::array<MPI_Request, 3> requests = {native_request, polled, ours};
    std::array<MPI_Status, 3> statuses{};
    code = impl::Waitall(3, requests.data(), statuses.data());
    const bool is_completed = requests[0] == MPI_Request(abi::predefined.request_null);
    EXPECT_EQ(statuses[0].MPI_TAG, is_completed ? kNativeTag : 0) << "code " << code;
    if (code == MPI_SUCCESS) {
      EXPECT_EQ(statuses[2].MPI_TAG, 5);
      EXPECT_EQ(value, 4);
    }
    has_failed = HasFailure();
  }
}

/// The native library was initialised before this library was loaded, by another thread.
TEST_F(NativeCalls, DetectedLibraryIsCalledOnlyByItsMainThread) {
  const auto load = [](const char* name) { return dlopen(name, RTLD_LAZY) != nullptr; };
  ASSERT_TRUE(std::ranges::any_of(abi::kFamily.sonames, load)) << dlerror();
  active_table.Initialized.set([](int* flag) { return *flag = 1, MPI_SUCCESS; });
  active_table.Finalized.set([](int* flag) { return *flag = 0, MPI_SUCCESS; });
  active_table.Query_thread.set(
      [](int* provided) { return *provided = MPI_THREAD_FUNNELED, MPI_SUCCESS; });
  active_table.Is_thread_main.set(
      [](int* flag) { return *flag = native_library.is_main_thread, MPI_SUCCESS; });
  current_table.store(&inactive_table, std::memory_order_release);
  native_library.is_main_thread = false;
  ASSERT_TRUE(detect_activity());
  EXPECT_FALSE(may_call_substrate());
  native_library.is_main_thread = true;  // as if asked by the main thread
  EXPECT_TRUE(may_call_substrate());
  std::jthread other([] {
    native_library.is_main_thread = false;
    EXPECT_FALSE(may_call_substrate());
  });
}

TEST_F(NativeCalls, OverlappingCallsShareOneNativeInfo) {
  static MPI_Info info{}, seen_by_other{};
  active_table.Info_create.set([](MPI_Info* made) { return native_library.make(made); });
  active_table.Info_free.set([](MPI_Info* freed) {
    ++native_library.infos_freed;
    *freed = abi::predefined.info_null;
    return MPI_SUCCESS;
  });
  InfoObject object;
  object.info = std::make_shared<sessions::Info>();
  info = *objects.infos.insert(std::move(object));
  native_library.overlapping = [] {
    seen_by_other = info;
    EXPECT_EQ(to_native_info(Subject(), "MPI_Test", seen_by_other), MPI_SUCCESS);
  };
  MPI_Info seen = info;
  ASSERT_EQ(to_native_info(Subject(), "MPI_Test", seen), MPI_SUCCESS);
  EXPECT_EQ(seen, seen_by_other);
  EXPECT_EQ(native_library.made, 2u);
  EXPECT_EQ(native_library.infos_freed, 1);
}

/// Its description would end with the call, and the next call would use the freed description.
TEST_F(NativeCalls, TypeThatTheLibraryDoesNotKeepIsAnError) {
  const auto contiguous = testing::native_handle<MPI_Datatype>(5);
  active_table.Type_create_keyval.set([](MPI_Type_copy_attr_function*,
                                         MPI_Type_delete_attr_function*, int* key,
                                         void*) { return *key = 9, MPI_SUCCESS; });
  active_table.Type_get_attr.set(
      [](MPI_Datatype, int, void*, int* found) { return *found = 0, MPI_SUCCESS; });
  active_table.Type_set_attr.set([](MPI_Datatype, int, void*) -> int { return MPI_ERR_OTHER; });
  active_table.Type_get_envelope.set(
      [](MPI_Datatype, int* integers, int* addresses, int* types, int* combiner) {
        *integers = 1, *addresses = 0, *types = 1, *combiner = MPI_COMBINER_CONTIGUOUS;
        return MPI_SUCCESS;
      });
  active_table.Type_get_contents.set(
      [](MPI_Datatype, int, int, int, int* integers, MPI_Aint*, MPI_Datatype* types) {
        *integers = 3, *types = abi::handle_of(*types::find_predefined("MPI_INT"));
        return MPI_SUCCESS;
      });
  // if the process has loaded a native library with large counts
  active_table.Type_get_envelope_c.set([](MPI_Datatype, MPI_Count* integers, MPI_Count* addresses,
                                          MPI_Count* counts, MPI_Count* types, int* combiner) {
    *integers = 1, *addresses = 0, *counts = 0, *types = 1, *combiner = MPI_COMBINER_CONTIGUOUS;
    return MPI_SUCCESS;
  });
  active_table.Type_get_contents_c.set([](MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count,
                                          int* integers, MPI_Aint*, MPI_Count*,
                                          MPI_Datatype* types) {
    *integers = 3, *types = abi::handle_of(*types::find_predefined("MPI_INT"));
    return MPI_SUCCESS;
  });
  active_table.Type_get_extent_x.set([](MPI_Datatype, MPI_Count* lower, MPI_Count* extent) {
    return *lower = 0, *extent = 12, MPI_SUCCESS;
  });
  const auto type = native_type(contiguous);
  ASSERT_FALSE(type);
  EXPECT_EQ(type.error().error_class(), base::ErrorClass::other) << type.error().text();
}

TEST(TypeContents, DuplicateOfAPredefinedTypeIsADerivedType) {
  const types::Type& old = *types::find_predefined("MPI_SHORT_INT");
  TypeContents contents;
  contents.combiner = MPI_COMBINER_DUP;
  contents.old_types.push_back({.type = &old, .predefined = {}, .derived = nullptr});
  const auto made = build(contents);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->name, "");
  EXPECT_EQ(made->element, types::Element::none);
  EXPECT_EQ(made->family, types::TypeGroup::none);
  EXPECT_EQ(made->base, &old);
  EXPECT_FALSE(made->is_predefined());
  EXPECT_EQ(made->size, old.size);
  EXPECT_EQ(made->extent, old.extent);
  EXPECT_EQ(made->elements, old.elements);
  EXPECT_EQ(made->alignment, old.alignment);
  EXPECT_EQ(made->is_resized, old.is_resized);
}

#ifdef OPEN_MPI
// PMIx_Initialized() answers by this flag (abi/openmpi/entries/pmix.cpp).
TEST(PmixInitialized, IsFalseOnTheThreadOfMpiInit) {
  EXPECT_FALSE(is_in_native_init());
  const NativeInitScope start;
  EXPECT_TRUE(is_in_native_init());
  bool elsewhere = true;
  std::thread([&] { elsewhere = is_in_native_init(); }).join();
  EXPECT_FALSE(elsewhere);
}
#endif

TEST(FirstSession, DoesNotWaitForTheMpiFinalizeThatCallsIt) {
  before_native_finalize();
  const auto begin = base::now_ns();
  EXPECT_TRUE(acquire_process(false));
  EXPECT_LT(base::now_ns() - begin, 1'900'000'000);
  after_native_finalize();
}

// environ must not change while a Process starts (EnvironmentInterlock).
TEST(FirstSession, WaitsForMpiInitOnAnotherThreadUntilTheTimeLimit) {
  const auto begin = base::now_ns();
  const NativeInitScope start;
  std::thread([] { EXPECT_TRUE(acquire_process(false)); }).join();
  EXPECT_GE(base::now_ns() - begin, 1'999'000'000);
}

}  // namespace
}  // namespace shim::intercept::testing
