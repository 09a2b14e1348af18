// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/get_interlock.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "shim/bootstrap/pmix/search.hpp"

namespace shim::bootstrap::pmix {
namespace {

TEST(PmixGetInterlock, RefusesEntryWhileClosed) {
  const auto interlock = std::make_shared<GetInterlock>();
  EXPECT_TRUE(interlock->try_enter());
  interlock->close_for(60);
  EXPECT_FALSE(interlock->try_enter());
  interlock->reopen();
  EXPECT_TRUE(interlock->try_enter());
}

TEST(PmixGetInterlock, CloseWaitsForRunningRequests) {
  const auto interlock = std::make_shared<GetInterlock>();
  auto guard = interlock->try_enter();
  bool has_left = false;
  std::thread visitor([&] {
    while (interlock->try_enter()) std::this_thread::yield();  // until it closes
    has_left = true;
    guard.reset();
  });
  interlock->close_for(60);
  EXPECT_TRUE(has_left);
  visitor.join();
}

TEST(PmixGetInterlock, ReopensAfterItsTimeout) {
  const auto interlock = std::make_shared<GetInterlock>();
  const auto guard = interlock->try_enter();
  const auto start = base::now_ns();
  interlock->close_for(0.02);
  EXPECT_GE(base::now_ns() - start, 20'000'000);
  EXPECT_TRUE(interlock->try_enter());
}

/// A PMIx that keeps requests until the test completes them.
struct FakeGets {
  static pmix_status_t get_nb(const pmix_proc_t*, const char*, const pmix_info_t* directives,
                              std::size_t count, pmix_value_cbfunc_t answer, void* request) {
    directives_of_last().assign(directives, directives + count);
    pending().push_back({answer, request});
    return PMIX_SUCCESS;
  }
  static void complete_all() {
    for (auto& [answer, request] : std::exchange(pending(), {}))
      answer(PMIX_ERR_NOT_FOUND, nullptr, request);
  }
  /// The directives of the last request.
  static std::vector<pmix_info_t>& directives_of_last() {
    static std::vector<pmix_info_t> list;
    return list;
  }
  static std::vector<std::pair<pmix_value_cbfunc_t, void*>>& pending() {
    static std::vector<std::pair<pmix_value_cbfunc_t, void*>> list;
    return list;
  }
};

TEST(PmixGetInterlock, SearchHoldsItFromRequestToResponse) {
  const auto context = std::make_shared<SearchContext>();
  context->library.get_nb = FakeGets::get_nb;
  context->requests = std::make_shared<PmixRequestTable>();
  context->interlock = std::make_shared<GetInterlock>();
  Search search(context, {}, "key", true);

  context->interlock->close_for(60);
  EXPECT_FALSE(*search.poll());
  EXPECT_TRUE(FakeGets::pending().empty());

  context->interlock->reopen();
  EXPECT_FALSE(*search.poll());
  ASSERT_EQ(FakeGets::pending().size(), 1u);

  std::thread closer([&] { context->interlock->close_for(60); });
  while (context->interlock->try_enter()) std::this_thread::yield();
  FakeGets::complete_all();  // the response alone reopens the interlock, without a poll
  closer.join();
  EXPECT_FALSE(*search.poll());
  EXPECT_EQ(context->retries, 0u);
}

// A request for a value that does not exist must not delay others (docs/decisions/0022).
TEST(PmixSearch, AsksForARefreshAboutOtherNodesAndForAnImmediateAnswerAboutItsOwn) {
  const auto context = std::make_shared<SearchContext>();
  context->library.get_nb = FakeGets::get_nb;
  context->requests = std::make_shared<PmixRequestTable>();
  context->interlock = std::make_shared<GetInterlock>();
  for (const bool on_own_node : {false, true}) {
    Search search(context, {}, "key", on_own_node);
    EXPECT_FALSE(*search.poll());
    ASSERT_EQ(FakeGets::directives_of_last().size(), 1u);
    EXPECT_STREQ(FakeGets::directives_of_last().front().key,
                 on_own_node ? PMIX_IMMEDIATE : PMIX_GET_REFRESH_CACHE);
    FakeGets::complete_all();
  }
}

}  // namespace
}  // namespace shim::bootstrap::pmix
