// SPDX-License-Identifier: BSD-3-Clause
// Tests matching against a simple model: two lists searched from the front.
#include "shim/p2p/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <random>
#include <vector>

namespace shim::p2p {
namespace {

struct NamedReceive : PostedReceive {
  int name = 0;
};
struct NamedArrival : UnexpectedMsg {
  int name = 0;
};

class Model {
 public:
  struct Entry {
    int source, tag, name;
  };
  static bool fits(const Entry& receive, const Entry& message) {
    return (receive.source == kAnySource || receive.source == message.source) &&
           (receive.tag == kAnyTag || receive.tag == message.tag);
  }
  /// Return the name of the receive that matches the message; -1 if none does.
  int arrive(Entry message) {
    auto found = std::find_if(posted.begin(), posted.end(),
                              [&](auto& receive) { return fits(receive, message); });
    if (found == posted.end()) {
      arrived.push_back(message);
      return -1;
    }
    int name = found->name;
    posted.erase(found);
    return name;
  }
  std::list<Entry>::iterator find(const Entry& receive) {
    return std::find_if(arrived.begin(), arrived.end(),
                        [&](auto& message) { return fits(receive, message); });
  }

  std::list<Entry> posted, arrived;
};

class RandomMatching : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr int kSources = 130;  // more than two chunks of the source table
  int any(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  // mostly three sources, so that queues grow; sometimes a wildcard
  int source() { return any(4) == 0 ? any(kSources) : any(3); }
  int source_or_any() { return any(3) == 0 ? kAnySource : source(); }
  int tag() {
    return any(2) == 0 ? any(4) : 100 * any(20);
  }  // more than the number of tag counters
  int tag_or_any() { return any(4) == 0 ? kAnyTag : tag(); }

  void arrive(int name) {
    int from = source(), with = tag();
    int expected = model_.arrive({from, with, name});
    PostedReceive* taken = matching_.take_posted(from, with);
    ASSERT_EQ(taken == nullptr ? -1 : static_cast<NamedReceive*>(taken)->name, expected);
    if (taken != nullptr) return;
    arrivals_.push_back(std::make_unique<NamedArrival>());
    NamedArrival& arrival = *arrivals_.back();
    arrival.source = from;
    arrival.tag = with;
    arrival.name = name;
    matching_.add(arrival);
  }
  void receive(int name, bool post) {
    int from = source_or_any(), with = tag_or_any();
    auto expected = model_.find({from, with, name});
    UnexpectedMsg* found = matching_.find_unexpected(from, with);
    ASSERT_EQ(found == nullptr ? -1 : static_cast<NamedArrival*>(found)->name,
              expected == model_.arrived.end() ? -1 : expected->name);
    if (found != nullptr) {
      matching_.remove(*found);
      model_.arrived.erase(expected);
    } else if (post) {
      receives_.push_back(std::make_unique<NamedReceive>());
      NamedReceive& made = *receives_.back();
      made.source = from;
      made.tag = with;
      made.name = name;
      matching_.post(made);
      model_.posted.push_back({from, with, name});
    }
  }
  void cancel() {
    if (model_.posted.empty()) return;
    auto victim = std::next(model_.posted.begin(), any(static_cast<int>(model_.posted.size())));
    auto own = std::find_if(receives_.begin(), receives_.end(),
                            [&](auto& made) { return made->name == victim->name; });
    matching_.remove(**own);
    model_.posted.erase(victim);
  }

  std::mt19937 random_{GetParam()};
  Matching matching_{kSources};
  Model model_;
  std::vector<std::unique_ptr<NamedArrival>> arrivals_;
  std::vector<std::unique_ptr<NamedReceive>> receives_;
};

TEST_P(RandomMatching, AgreesWithTheModel) {
  for (int name = 0; name < 4000; ++name) {
    int what = any(20);
    if (what < 9)
      arrive(name);
    else if (what < 18)
      receive(name, true);
    else if (what < 19)
      receive(name, false);
    else
      cancel();
    if (HasFatalFailure()) return;
    ASSERT_EQ(matching_.has_posted(), !model_.posted.empty());
    const int from = source();
    ASSERT_EQ(matching_.has_posted_for(from),
              std::ranges::any_of(model_.posted, [from](const Model::Entry& receive) {
                return receive.source == from || receive.source == kAnySource;
              }));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMatching, testing::Range(1u, 21u));

// Thousands of receives and messages with many tags and sources. The queues grow and become empty
// several times, so that indexes are created, grow and are removed.
class LongQueues : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr int kSources = 5, kTags = 200, kMost = 1500;
  int any(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  int source_or_any(int source) { return any(4) == 0 ? kAnySource : source; }
  int tag_or_any(int tag) { return any(8) == 0 ? kAnyTag : tag; }

  void arrive(int source, int tag) {
    const int name = next_name_++, expected = model_.arrive({source, tag, name});
    PostedReceive* taken = matching_.take_posted(source, tag);
    ASSERT_EQ(taken == nullptr ? -1 : static_cast<NamedReceive*>(taken)->name, expected);
    if (taken != nullptr) return;
    NamedArrival& arrival = arrivals_.emplace_back();
    arrival.source = source;
    arrival.tag = tag;
    arrival.name = name;
    matching_.add(arrival);
  }
  void receive(int source, int tag) {
    const int name = next_name_++;
    auto expected = model_.find({source, tag, name});
    UnexpectedMsg* found = matching_.find_unexpected(source, tag);
    ASSERT_EQ(found == nullptr ? -1 : static_cast<NamedArrival*>(found)->name,
              expected == model_.arrived.end() ? -1 : expected->name);
    if (found != nullptr) {
      matching_.remove(*found);
      model_.arrived.erase(expected);
      return;
    }
    NamedReceive& made = receives_.emplace_back();
    made.source = source;
    made.tag = tag;
    made.name = name;
    matching_.post(made);
    model_.posted.push_back({source, tag, name});
  }
  Model::Entry one_of(const std::list<Model::Entry>& entries) {
    return *std::next(entries.begin(), any(static_cast<int>(entries.size())));
  }

  std::mt19937 random_{GetParam()};
  Matching matching_{kSources};
  Model model_;
  std::list<NamedReceive> receives_;
  std::list<NamedArrival> arrivals_;
  int next_name_ = 0;
};

TEST_P(LongQueues, AgreeWithTheModel) {
  for (int generation = 0; generation < 6; ++generation) {
    for (int i = 0; i < kMost; ++i) {
      const int source = any(kSources), tag = any(kTags);
      if (generation % 2 == (any(10) == 0))
        arrive(source, tag);
      else
        receive(source_or_any(source), tag_or_any(tag));
      ASSERT_FALSE(HasFatalFailure());
    }
    while (!model_.arrived.empty()) {
      const Model::Entry wanted = one_of(model_.arrived);
      receive(source_or_any(wanted.source), tag_or_any(wanted.tag));
      ASSERT_FALSE(HasFatalFailure());
    }
    while (!model_.posted.empty()) {
      const Model::Entry waiting = one_of(model_.posted);
      arrive(waiting.source == kAnySource ? any(kSources) : waiting.source,
             waiting.tag == kAnyTag ? any(kTags) : waiting.tag);
      ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_FALSE(matching_.has_posted());
    EXPECT_EQ(matching_.first_unexpected(), nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LongQueues, testing::Range(1u, 7u));

// Entries with other tags are not searched: a scan of 60,000 entries 60,000 times would take
// minutes.
TEST(Matching, EntriesWithOtherTagsAreNotVisited) {
  constexpr int kMany = 60'000;
  const auto start = std::chrono::steady_clock::now();
  Matching matching(2);
  std::vector<NamedArrival> arrivals(kMany);
  for (int i = 0; i < kMany; ++i) {
    static_cast<UnexpectedMsg&>(arrivals[static_cast<std::size_t>(i)]).tag = i;
    matching.add(arrivals[static_cast<std::size_t>(i)]);
  }
  for (int tag = kMany - 1; tag >= 0; --tag) {
    UnexpectedMsg* found = matching.find_unexpected(tag % 2 == 0 ? kAnySource : 0, tag);
    ASSERT_EQ(found, &arrivals[static_cast<std::size_t>(tag)]);
    ASSERT_EQ(matching.find_unexpected(1, tag), nullptr);
    matching.remove(*found);
  }
  std::vector<NamedReceive> receives(kMany);
  for (int i = 0; i < kMany; ++i) {
    receives[static_cast<std::size_t>(i)].source = i % 2 == 0 ? kAnySource : 0;
    receives[static_cast<std::size_t>(i)].tag = i;
    matching.post(receives[static_cast<std::size_t>(i)]);
  }
  for (int tag = kMany - 1; tag >= 0; --tag)
    ASSERT_EQ(matching.take_posted(0, tag), &receives[static_cast<std::size_t>(tag)]);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Matching, ForEachSourceVisitsEachSourceOnce) {
  Matching matching(200);
  NamedReceive receives[4];
  int sources[] = {7, kAnySource, 150, 7};
  for (int i = 0; i < 4; ++i) {
    receives[i].source = sources[i];
    matching.post(receives[i]);
  }
  std::vector<int> seen;
  matching.for_each_source([&](int source) { seen.push_back(source); });
  EXPECT_EQ(seen, (std::vector<int>{kAnySource, 7, 150}));
}

}  // namespace
}  // namespace shim::p2p
