// SPDX-License-Identifier: BSD-3-Clause
// Tests the KVS log over PMIx, with a server in the test.
#include <gmock/gmock.h>

#include <map>

#include "shim/bootstrap/pmix/kvs_log_store.hpp"
#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::pmix {
namespace {

using testing::bytes_of;
using testing::error_of;
using ::testing::HasSubstr;
using testing::must;
using testing::text_of;

/// PMIx functions have no context argument, so all tests use one static server.
struct PmixKvsLog : ::testing::Test {
  static inline std::map<std::string, std::string> values;
  static inline pmix_status_t status = PMIX_SUCCESS;  ///< result of all calls
  static inline bool is_silent = false;
  static inline int lost = 0;  ///< number of look-ups that the server loses

  static pmix_status_t publish(const pmix_info_t* infos, std::size_t count, pmix_op_cbfunc_t done,
                               void* data) {
    EXPECT_EQ(count, 1u);
    if (status != PMIX_SUCCESS) return status;
    if (is_silent) return PMIX_SUCCESS;
    values[infos[0].key].assign(infos[0].value.data.bo.bytes, infos[0].value.data.bo.size);
    done(PMIX_SUCCESS, data);
    return PMIX_SUCCESS;
  }
  static pmix_status_t lookup(char** keys, const pmix_info_t*, std::size_t,
                              pmix_lookup_cbfunc_t done, void* data) {
    EXPECT_EQ(keys[1], nullptr) << "each look-up has one key";
    if (status != PMIX_SUCCESS) return status;
    if (is_silent || lost-- > 0) return PMIX_SUCCESS;
    const auto found = values.find(keys[0]);
    if (found == values.end()) return done(PMIX_ERR_NOT_FOUND, nullptr, 0, data), PMIX_SUCCESS;
    pmix_pdata_t response{};
    response.value.type = PMIX_BYTE_OBJECT;
    response.value.data.bo = {found->second.data(), found->second.size()};
    done(PMIX_SUCCESS, &response, 1, data);
    return PMIX_SUCCESS;
  }

  PmixKvsLog() {
    values.clear();
    status = PMIX_SUCCESS;
    is_silent = false;
    lost = 0;
    library.publish_nb = publish;
    library.lookup_nb = lookup;
    library.error_string = [](pmix_status_t) { return "A-STATUS"; };
  }
  ~PmixKvsLog() override { requests->abandon_all(); }

  PmixLibrary library;
  std::shared_ptr<PmixRequestTable> requests = std::make_shared<PmixRequestTable>();
};

TEST_F(PmixKvsLog, EntriesRoundTrip) {
  PublishedLogStore store(library, requests, "job", 10);
  KvsLog one(store, 0, 3), other(store, 2, 3);
  ASSERT_TRUE(one.append_log(bytes_of("")));
  ASSERT_TRUE(one.append_log(bytes_of(std::string("\0a", 2))));
  const auto entries = must(other.read_log());
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].bytes.size(), 0u);
  EXPECT_EQ(text_of(entries[1].bytes), std::string("\0a", 2));
}

TEST_F(PmixKvsLog, SeparatesJobsOfOneServer) {
  PublishedLogStore store(library, requests, "one", 10), of_other(library, requests, "other", 10);
  KvsLog one(store, 0, 1), other(of_other, 0, 1);
  ASSERT_TRUE(one.append_log(bytes_of("a")));
  EXPECT_TRUE(must(other.read_log()).empty());
}

TEST_F(PmixKvsLog, ErrorNamesAServerWithoutAStore) {
  status = PMIX_ERR_NOT_SUPPORTED;
  PublishedLogStore store(library, requests, "job", 10);
  KvsLog log(store, 0, 1);
  EXPECT_TRUE(must(log.read_log()).empty());
  const base::Error error = error_of(log.append_log(bytes_of("a")));
  EXPECT_EQ(error.error_class(), base::ErrorClass::unsupported_operation);
  EXPECT_THAT(error.text(), HasSubstr("mpirun"));
}

TEST_F(PmixKvsLog, OtherErrorsFailAppendAndRead) {
  status = PMIX_ERR_UNREACH;
  PublishedLogStore store(library, requests, "job", 10);
  KvsLog log(store, 0, 1);
  EXPECT_THAT(error_of(log.read_log()).text(), HasSubstr("A-STATUS"));
  EXPECT_THAT(error_of(log.append_log(bytes_of("a"))).text(), HasSubstr("A-STATUS"));
}

TEST_F(PmixKvsLog, GivesUpOnAServerThatDoesNotAnswer) {
  is_silent = true;
  PublishedLogStore store(library, requests, "job", 0.01);
  EXPECT_THAT(error_of(store.put({0, "k"}, bytes_of("v"))).text(), HasSubstr("has not answered"));
  const KvsLogStore::Name name{0, "k"};
  EXPECT_THAT(error_of(store.find({&name, 1})).text(), HasSubstr("has not answered"));
}

TEST_F(PmixKvsLog, RepeatsARequestThatTheServerLost) {
  PublishedLogStore store(library, requests, "job", 3600);
  const KvsLogStore::Name name{0, "k"};
  ASSERT_TRUE(store.put(name, bytes_of("v")));
  lost = 1;
  EXPECT_EQ(text_of(must(store.find({&name, 1})).front().value()), "v");
}

}  // namespace
}  // namespace shim::bootstrap::pmix
