// SPDX-License-Identifier: BSD-3-Clause
// Tests what Intersession reads of a job from a PMIx server, including wrong, partial and missing
// values. The server is a table in the test.
#include "shim/bootstrap/pmix/job_query.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::pmix {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::must;

constexpr pmix_rank_t kJob = PMIX_RANK_WILDCARD;

/// PMIx functions have no context argument, so all tests use one static server.
struct PmixJobQuery : ::testing::Test {
  using Value = std::variant<std::uint32_t, std::string>;
  static inline std::map<std::pair<pmix_rank_t, std::string>, Value> table;
  static inline std::map<std::string, std::string> peers;  ///< lists of ranks, by host

  static pmix_status_t get(const pmix_proc_t* process, const pmix_key_t key,
                           const pmix_info_t* infos, std::size_t count, pmix_value_t** value) {
    EXPECT_TRUE(count >= 1 && std::strcmp(infos[0].key, PMIX_OPTIONAL) == 0)
        << key << " must be requested with PMIX_OPTIONAL: a request to the server may block";
    if (count > 1) return get_of_node(key, infos, count, value);
    const auto found = table.find({process->rank, key});
    if (found == table.end()) return PMIX_ERR_NOT_FOUND;
    if (const auto* number = std::get_if<std::uint32_t>(&found->second)) {
      *value = static_cast<pmix_value_t*>(std::calloc(1, sizeof(pmix_value_t)));
      (*value)->type = PMIX_UINT32;
      (*value)->data.uint32 = *number;
    } else {
      *value = value_of(std::get<std::string>(found->second));
    }
    return PMIX_SUCCESS;
  }
  static pmix_status_t get_of_node(const pmix_key_t key, const pmix_info_t* infos,
                                   std::size_t count, pmix_value_t** value) {
    EXPECT_TRUE(count == 3 && std::strcmp(infos[1].key, PMIX_NODE_INFO) == 0 &&
                std::strcmp(infos[2].key, PMIX_HOSTNAME) == 0);
    EXPECT_STREQ(key, PMIX_LOCAL_PEERS);
    const auto found = peers.find(infos[2].value.data.string);
    if (found == peers.end()) return PMIX_ERR_NOT_FOUND;
    *value = value_of(found->second);
    return PMIX_SUCCESS;
  }
  static pmix_value_t* value_of(const std::string& text) {
    auto* value = static_cast<pmix_value_t*>(std::calloc(1, sizeof(pmix_value_t)));
    value->type = PMIX_STRING;
    value->data.string = ::strdup(text.c_str());
    return value;
  }

  /// Four processes on two nodes; this one is process 1.
  PmixJobQuery() {
    table = {{{kJob, PMIX_JOB_SIZE}, 4u},     {{kJob, PMIX_LOCAL_PEERS}, "0,1"},
             {{kJob, PMIX_NUM_NODES}, 2u},    {{kJob, PMIX_JOB_NUM_APPS}, 2u},
             {{kJob, PMIX_NODE_LIST}, "a,b"}, {{0, PMIX_HOSTNAME}, "a"},
             {{1, PMIX_HOSTNAME}, "a"},       {{2, PMIX_HOSTNAME}, "b"},
             {{3, PMIX_HOSTNAME}, "b"},       {{0, PMIX_APPNUM}, 0u},
             {{1, PMIX_APPNUM}, 0u},          {{2, PMIX_APPNUM}, 1u},
             {{3, PMIX_APPNUM}, 1u}};
    peers = {{"a", "0,1"}, {"b", "2,3"}};
    library.get = get;
    library.error_string = [](pmix_status_t) { return "A-STATUS"; };
    std::strcpy(self.nspace, "a-job");
    self.rank = 1;
  }

  void expect_the_map() {
    const NodeMap map = must(read_node_map(library, self, 4));
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      EXPECT_EQ(map.host(map.node_of(rank)), rank < 2 ? "a" : "b") << rank;
  }

  PmixLibrary library;
  pmix_proc_t self{};
};

TEST_F(PmixJobQuery, ReadsTheFactsOfTheJob) {
  const JobFacts facts = must(read_job(library, self));
  EXPECT_EQ(facts.job.world_name, "a-job");
  EXPECT_EQ(facts.job.rank, 1u);
  EXPECT_EQ(facts.job.size, 4u);
  ASSERT_TRUE(facts.location);
  EXPECT_EQ(facts.location->host, "a");
  EXPECT_THAT(facts.location->local_ranks, ElementsAre(0, 1));
  EXPECT_EQ(facts.location->node_count, 2u);
  EXPECT_THAT(facts.app_numbers, ElementsAre(0, 0, 1, 1));
  expect_the_map();
}

TEST_F(PmixJobQuery, ReportsAMissingOrInvalidJobSize) {
  const auto refused = [&] { return error_of(read_job(library, self)).text(); };
  table[{kJob, PMIX_JOB_SIZE}] = "4";
  EXPECT_THAT(refused(), HasSubstr("the size of job a-job"));
  table[{kJob, PMIX_JOB_SIZE}] = 1u;  // too small, because this is process 1
  EXPECT_THAT(refused(), HasSubstr("PMIX_JOB_SIZE"));
  table.erase({kJob, PMIX_JOB_SIZE});
  EXPECT_THAT(refused(), HasSubstr("PMIX_JOB_SIZE"));
}

TEST_F(PmixJobQuery, IgnoresAnImpossibleLocation) {
  const auto location = [&] { return must(read_job(library, self)).location; };
  for (const char* list : {"", "0", "0,x", "0,1,1", "0,1,4", "1,0,99999999999"}) {
    table[{kJob, PMIX_LOCAL_PEERS}] = list;
    EXPECT_FALSE(location()) << list;
  }
  table[{kJob, PMIX_LOCAL_PEERS}] = "1,0";
  EXPECT_THAT(location()->local_ranks, ElementsAre(0, 1)) << "in any order";
  table[{kJob, PMIX_NUM_NODES}] = 0u;
  EXPECT_FALSE(location());
  table[{kJob, PMIX_NUM_NODES}] = 2u;
  table.erase({1, PMIX_HOSTNAME});
  EXPECT_FALSE(location());
}

TEST_F(PmixJobQuery, CountsTheNodesOfTheListIfThereAreFewer) {
  const auto count = [&] { return must(read_job(library, self)).location->node_count; };
  table[{kJob, PMIX_NUM_NODES}] = 4u;
  EXPECT_EQ(count(), 2u);
  table.erase({kJob, PMIX_NODE_LIST});
  EXPECT_EQ(count(), 4u);
}

TEST_F(PmixJobQuery, QueriesEachProcessIfTheNodeListsAreInconsistent) {
  for (const char* wrong : {"2", "2,2", "1,2", "2,3,4", "2,3,1", "", "2,x"}) {
    peers["b"] = wrong;
    expect_the_map();
  }
  peers.erase("b");
  expect_the_map();
  table.erase({kJob, PMIX_NODE_LIST});
  expect_the_map();
  table.erase({3, PMIX_HOSTNAME});
  EXPECT_THAT(error_of(read_node_map(library, self, 4)).text(),
              HasSubstr("the node of process 3 of job a-job"));
}

TEST_F(PmixJobQuery, IgnoresApplicationsUnlessAllAreKnown) {
  table.erase({2, PMIX_APPNUM});
  EXPECT_THAT(must(read_job(library, self)).app_numbers, IsEmpty());
  table[{2, PMIX_APPNUM}] = "1";
  EXPECT_THAT(must(read_job(library, self)).app_numbers, IsEmpty());
}

}  // namespace
}  // namespace shim::bootstrap::pmix
