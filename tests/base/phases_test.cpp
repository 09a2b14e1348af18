// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/phases.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace shim::base {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Records each event as a line of text.
class Notebook final : public PhaseListener {
 public:
  std::uint64_t next_number() override { return ++numbers; }
  void set_process(std::uint32_t, std::uint32_t, const std::string&) override {}
  void on_event(const PhaseEvent& event) override {
    static constexpr const char* kWhat[] = {"begins", "ends", "fails"};
    std::string line = std::to_string(event.number) + " " + name_of(event.phase) + " " +
                       kWhat[static_cast<int>(event.what)];
    if (event.peer >= 0) line += " by " + std::to_string(event.peer);
    records.push_back(line);
    tags.push_back(event.tag);
    times.push_back(event.when);
  }

  std::uint64_t numbers = 0;
  std::vector<std::string> records, tags;
  std::vector<Nanoseconds> times;
};

TEST(Phases, WorkWithoutAListener) {
  const TracedOperation none, without_listener(nullptr, OperationKind::session);
  for (const TracedOperation* operation : {&none, &without_listener}) {
    operation->begin(Phase::launcher);
    operation->next(Phase::node_map);
    operation->end(Phase::node_map);
    operation->fail();
  }
}

TEST(Phases, ListenerReceivesEachBeginAndEndInOrder) {
  Notebook notebook;
  const TracedOperation operation(&notebook, OperationKind::communicator, "tag", 4);
  operation.begin(Phase::collect);
  operation.begin(Phase::parent);
  operation.end(Phase::collect, 3);
  operation.end(Phase::parent);
  EXPECT_THAT(notebook.records, ElementsAre("1 collect begins", "1 parent begins",
                                            "1 collect ends by 3", "1 parent ends"));
  EXPECT_THAT(notebook.tags, ::testing::Each("tag"));
  EXPECT_TRUE(std::is_sorted(notebook.times.begin(), notebook.times.end()));
}

TEST(Phases, EndOfAPhaseThatIsNotOpenIsIgnored) {
  Notebook notebook;
  const TracedOperation operation(&notebook, OperationKind::session);
  operation.end(Phase::launcher);
  operation.end_all();
  operation.fail();
  EXPECT_THAT(notebook.records, IsEmpty());
}

TEST(Phases, NextEndsTheOpenPhaseAndBeginsTheNext) {
  Notebook notebook;
  const TracedOperation operation(&notebook, OperationKind::session);
  operation.begin(Phase::launcher);
  operation.next(Phase::node_map);
  operation.end_all();
  EXPECT_THAT(notebook.records, ElementsAre("1 launcher begins", "1 launcher ends",
                                            "1 node_map begins", "1 node_map ends"));
}

TEST(Phases, PhaseThatIsOpenWhenTheLastCopyIsDestroyedFails) {
  Notebook notebook;
  std::optional<TracedOperation> operation(std::in_place, &notebook, OperationKind::session);
  {
    const TracedOperation copy = *operation;
    copy.begin(Phase::node_segment);
  }
  EXPECT_THAT(notebook.records, ElementsAre("1 node_segment begins"));
  operation.reset();
  EXPECT_THAT(notebook.records, ElementsAre("1 node_segment begins", "1 node_segment fails"));
}

TEST(Phases, EachOperationHasItsOwnNumber) {
  Notebook notebook;
  const TracedOperation first(&notebook, OperationKind::session),
      second(&notebook, OperationKind::communicator);
  second.begin(Phase::context);
  first.begin(Phase::engine);
  second.fail();
  first.end_all();
  EXPECT_THAT(notebook.records, ElementsAre("2 context begins", "1 engine begins",
                                            "2 context fails", "1 engine ends"));
}

}  // namespace
}  // namespace shim::base
