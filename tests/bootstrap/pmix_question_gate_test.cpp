// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/question_gate.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "shim/bootstrap/pmix/search.hpp"

namespace shim::bootstrap::pmix {
namespace {

TEST(PmixQuestionGate, NobodyEntersWhileItIsClosed) {
  const auto gate = std::make_shared<QuestionGate>();
  EXPECT_TRUE(gate->enter());
  gate->close_for(60);
  EXPECT_FALSE(gate->enter());
  gate->reopen();
  EXPECT_TRUE(gate->enter());
}

TEST(PmixQuestionGate, ClosingWaitsForThoseInside) {
  const auto gate = std::make_shared<QuestionGate>();
  auto passage = gate->enter();
  bool has_left = false;
  std::thread visitor([&] {
    while (gate->enter()) std::this_thread::yield();  // until it closes
    has_left = true;
    passage.reset();
  });
  gate->close_for(60);
  EXPECT_TRUE(has_left);
  visitor.join();
}

TEST(PmixQuestionGate, ItOpensByItselfAndDoesNotWaitForEver) {
  const auto gate = std::make_shared<QuestionGate>();
  const auto passage = gate->enter();
  const auto start = base::now_ns();
  gate->close_for(0.02);
  EXPECT_GE(base::now_ns() - start, 20'000'000);
  EXPECT_TRUE(gate->enter());
}

/// A PMIx that takes questions and answers when the test says so.
struct Questions {
  static pmix_status_t get_nb(const pmix_proc_t*, const char*, const pmix_info_t*, std::size_t, pmix_value_cbfunc_t answer, void* letter) {
    pending().push_back({answer, letter});
    return PMIX_SUCCESS;
  }
  static void answer_all() {
    for (auto& [answer, letter] : std::exchange(pending(), {})) answer(PMIX_ERR_NOT_FOUND, nullptr, letter);
  }
  static std::vector<std::pair<pmix_value_cbfunc_t, void*>>& pending() {
    static std::vector<std::pair<pmix_value_cbfunc_t, void*>> list;
    return list;
  }
};

TEST(PmixQuestionGate, ASearchAsksOnlyWhileItIsOpenAndIsInsideUntilAnswered) {
  const auto ground = std::make_shared<SearchGround>();
  ground->library.get_nb = Questions::get_nb;
  ground->office = std::make_shared<PostOffice>();
  ground->gate = std::make_shared<QuestionGate>();
  Search search(ground, {}, "key", true);

  ground->gate->close_for(60);
  EXPECT_FALSE(*search.poll());
  EXPECT_TRUE(Questions::pending().empty());

  ground->gate->reopen();
  EXPECT_FALSE(*search.poll());
  ASSERT_EQ(Questions::pending().size(), 1u);

  std::thread closer([&] { ground->gate->close_for(60); });
  while (ground->gate->enter()) std::this_thread::yield();
  Questions::answer_all();  // nobody polls: the answer alone ends the passage
  closer.join();
  EXPECT_FALSE(*search.poll());
  EXPECT_EQ(ground->retries, 0u);
}

}  // namespace
}  // namespace shim::bootstrap::pmix
