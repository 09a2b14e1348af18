// SPDX-License-Identifier: BSD-3-Clause
// Notices over PMIx, with a server in the test.
#include <gmock/gmock.h>

#include <map>

#include "shim/bootstrap/pmix/notice_store.hpp"
#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::pmix {
namespace {

using testing::bytes_of;
using testing::error_of;
using testing::must;
using testing::text_of;
using ::testing::HasSubstr;

/// PMIx's functions have no place for a server of one's own, so there is one at a time.
struct PmixNotices : ::testing::Test {
  static inline std::map<std::string, std::string> values;
  static inline pmix_status_t status = PMIX_SUCCESS;  ///< of all calls
  static inline bool is_silent = false;
  static inline int lost = 0;  ///< so many questions are lost

  static pmix_status_t publish(const pmix_info_t* infos, std::size_t count, pmix_op_cbfunc_t done, void* data) {
    EXPECT_EQ(count, 1u);
    if (status != PMIX_SUCCESS) return status;
    if (is_silent) return PMIX_SUCCESS;
    values[infos[0].key].assign(infos[0].value.data.bo.bytes, infos[0].value.data.bo.size);
    done(PMIX_SUCCESS, data);
    return PMIX_SUCCESS;
  }
  static pmix_status_t lookup(char** keys, const pmix_info_t*, std::size_t, pmix_lookup_cbfunc_t done, void* data) {
    EXPECT_EQ(keys[1], nullptr) << "one question, one key";
    if (status != PMIX_SUCCESS) return status;
    if (is_silent || lost-- > 0) return PMIX_SUCCESS;
    const auto found = values.find(keys[0]);
    if (found == values.end()) return done(PMIX_ERR_NOT_FOUND, nullptr, 0, data), PMIX_SUCCESS;
    pmix_pdata_t answer{};
    answer.value.type = PMIX_BYTE_OBJECT;
    answer.value.data.bo = {found->second.data(), found->second.size()};
    done(PMIX_SUCCESS, &answer, 1, data);
    return PMIX_SUCCESS;
  }

  PmixNotices() {
    values.clear();
    status = PMIX_SUCCESS;
    is_silent = false;
    lost = 0;
    library.publish_nb = publish;
    library.lookup_nb = lookup;
    library.error_string = [](pmix_status_t) { return "A-STATUS"; };
  }
  ~PmixNotices() override { office->forget_all(); }

  Library library;
  std::shared_ptr<PostOffice> office = std::make_shared<PostOffice>();
};

TEST_F(PmixNotices, GoThereAndBack) {
  PublishedNotices store(library, office, "job", 10);
  NoticeBoard one(store, 0, 3), other(store, 2, 3);
  ASSERT_TRUE(one.post(bytes_of("")));
  ASSERT_TRUE(one.post(bytes_of(std::string("\0a", 2))));
  const auto notices = must(other.notices());
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].bytes.size(), 0u);
  EXPECT_EQ(text_of(notices[1].bytes), std::string("\0a", 2));
}

TEST_F(PmixNotices, JobsOfOneSessionStayApart) {
  PublishedNotices store(library, office, "one", 10), of_other(library, office, "other", 10);
  NoticeBoard one(store, 0, 1), other(of_other, 0, 1);
  ASSERT_TRUE(one.post(bytes_of("a")));
  EXPECT_TRUE(must(other.notices()).empty());
}

TEST_F(PmixNotices, AServerWithoutAStoreIsNamedToWhoPosts) {
  status = PMIX_ERR_NOT_SUPPORTED;
  PublishedNotices store(library, office, "job", 10);
  NoticeBoard board(store, 0, 1);
  EXPECT_TRUE(must(board.notices()).empty());
  const base::Error error = error_of(board.post(bytes_of("a")));
  EXPECT_EQ(error.error_class(), base::ErrorClass::unsupported_operation);
  EXPECT_THAT(error.text(), HasSubstr("mpirun"));
}

TEST_F(PmixNotices, OtherErrorsAreErrorsOfBoth) {
  status = PMIX_ERR_UNREACH;
  PublishedNotices store(library, office, "job", 10);
  NoticeBoard board(store, 0, 1);
  EXPECT_THAT(error_of(board.notices()).text(), HasSubstr("A-STATUS"));
  EXPECT_THAT(error_of(board.post(bytes_of("a"))).text(), HasSubstr("A-STATUS"));
}

TEST_F(PmixNotices, AServerThatDoesNotAnswerIsNotWaitedForForEver) {
  is_silent = true;
  PublishedNotices store(library, office, "job", 0.01);
  EXPECT_THAT(error_of(store.put({0, "k"}, bytes_of("v"))).text(), HasSubstr("has not answered"));
  const NoticeStore::Name name{0, "k"};
  EXPECT_THAT(error_of(store.find({&name, 1})).text(), HasSubstr("has not answered"));
}

TEST_F(PmixNotices, AQuestionThatTheServerLosesIsAskedAgain) {
  PublishedNotices store(library, office, "job", 3600);
  const NoticeStore::Name name{0, "k"};
  ASSERT_TRUE(store.put(name, bytes_of("v")));
  lost = 1;
  EXPECT_EQ(text_of(must(store.find({&name, 1})).front().value()), "v");
}

}  // namespace
}  // namespace shim::bootstrap::pmix
