// SPDX-License-Identifier: BSD-3-Clause
// Tests tuning files: valid and invalid texts, the rows that they select, and members with
// different files.
#include "shim/coll/tuning.hpp"

#include <cstdio>
#include <fstream>

#include "tests/coll/shm_collective_rig.hpp"

namespace shim::coll {
namespace {

using base::ErrorClass;

const std::string kHead = "intersession-coll-tuning 1\n";

/// Return the text of the error of a file; empty if it is valid.
std::string error_of(const std::string& text) {
  const auto table = parse_tuning(text, "some.tuning");
  if (table) return "";
  EXPECT_EQ(table.error().error_class(), ErrorClass::arg);
  return table.error().text();
}
std::string error_of_row(const std::string& row) { return error_of(kHead + row + "\n"); }

AlgorithmTablePtr table_of(const std::string& rows) {
  auto table = parse_tuning(kHead + rows, "some.tuning");
  EXPECT_TRUE(table) << table.error().text();
  return table ? *table : nullptr;
}

Call call_of(int size, MemorySharing sharing = MemorySharing::memory) {
  Call call{};
  call.size = size;
  call.sharing = sharing;
  return call;
}

TEST(Tuning, SelectsTheRowsOfTheFile) {
  const auto table = table_of(
      "# comment\n"
      "\n"
      "  bcast \t chain 3-8 100-200 memory\n"
      "bcast linear 9- 100- any\r\n"
      "bcast linear 2 7 segment\n");
  ASSERT_NE(table, nullptr);
  const auto chosen = [&](int size, std::uint64_t bytes,
                          MemorySharing sharing = MemorySharing::memory) {
    return table->bcast.task_for(call_of(size, sharing), bytes);
  };
  const auto before = [&](int size, std::uint64_t bytes,
                          MemorySharing sharing = MemorySharing::memory) {
    return default_table().bcast.task_for(call_of(size, sharing), bytes);
  };
  for (int size : {3, 8})
    for (std::uint64_t bytes : {100u, 200u}) EXPECT_EQ(chosen(size, bytes), bcast_chain);
  EXPECT_EQ(chosen(3, 99), before(3, 99));
  EXPECT_EQ(chosen(3, 201), before(3, 201));
  EXPECT_EQ(chosen(2, 100), before(2, 100));
  EXPECT_EQ(chosen(3, 100, MemorySharing::segment), before(3, 100, MemorySharing::segment));
  EXPECT_EQ(chosen(9, 100), bcast_linear);
  EXPECT_EQ(chosen(1000, 1u << 30, MemorySharing::nothing), bcast_linear);
  EXPECT_EQ(chosen(2, 7, MemorySharing::segment), bcast_linear);
  EXPECT_EQ(table->bcast.all().size(), default_table().bcast.all().size() + 3);
  EXPECT_EQ(table->reduce.all().size(), default_table().reduce.all().size());
}

TEST(Tuning, RestrictedRowsLeaveOtherCasesToLaterRows) {
  const auto table = table_of(
      "allreduce rabenseifner 4-8 1000-2000 any power_of_two\n"
      "allreduce ring 4-8 1000-2000 any commutative\n"
      "allreduce recursive_doubling 4-8 1000-2000 any\n");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->allreduce.task_for(call_of(4), 1500, false), allreduce_rabenseifner);
  EXPECT_EQ(table->allreduce.task_for(call_of(6), 1500, true), allreduce_ring);
  EXPECT_EQ(table->allreduce.task_for(call_of(6), 1500, false), allreduce_recursive_doubling);
}

// ring needs an operation that commutes, even if the file does not write so.
TEST(Tuning, AlgorithmsKeepTheirNeeds) {
  const auto table = table_of(
      "allreduce ring 3-8 0- any\nallgather recursive_doubling 2-8 0- any\n"
      "reduce by_nodes 3- 0- any\n");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->allreduce.task_for(call_of(5), 100, true), allreduce_ring);
  EXPECT_NE(table->allreduce.task_for(call_of(5), 100, false), allreduce_ring);
  EXPECT_EQ(table->allgather.task_for(call_of(8), 1u << 26), allgather_recursive_doubling);
  EXPECT_NE(table->allgather.task_for(call_of(6), 100), allgather_recursive_doubling);
  EXPECT_NE(table->reduce.task_for(call_of(6), 100), reduce_by_nodes) << "one node";
  // either the operation commutes or ranks are in the order of nodes
  EXPECT_EQ(table->reduce.all().size(), default_table().reduce.all().size() + 2);
}

TEST(Tuning, LimitsAndExcludesAlgorithmsOfBlockingCollectives) {
  const auto table = table_of(
      "allreduce no_segment 8- 65- any\n"
      "allreduce no_inline 2-4 0-16 any\n"
      "bcast no_segment 2-4 5000-6000 any\n");
  ASSERT_NE(table, nullptr);
  const auto path = [&](const auto& rows, int size, std::uint64_t bytes) {
    for (const SegmentRow& row : rows.segment())
      if (row.when.applies(call_of(size), bytes)) return row.path;
    return SegmentPath::messages;
  };
  EXPECT_EQ(path(table->allreduce, 8, 64), SegmentPath::medium_buffer);
  EXPECT_EQ(path(table->allreduce, 8, 65), SegmentPath::messages);
  EXPECT_EQ(path(table->allreduce, 7, 65), SegmentPath::medium_buffer);
  EXPECT_EQ(path(table->bcast, 3, 5000), SegmentPath::messages);
  EXPECT_EQ(path(table->bcast, 3, 6001), SegmentPath::broadcast_ring);
  EXPECT_TRUE(table->allreduce.are_rounds(8)) << "members still detect different lengths";
  EXPECT_EQ(table->allreduce.inline_for(call_of(4), 16), nullptr);
  EXPECT_NE(table->allreduce.inline_for(call_of(4), 17), nullptr);
}

TEST(Tuning, EveryRowOfTheTableCanBeWritten) {
  for_each_collective([](std::string_view collective, auto member) {
    for (const auto& row : (default_table().*member).all()) {
      std::string name(row.name.substr(0, row.name.find(',')));
      std::ranges::replace(name, ' ', '_');
      const bool is_task = row.algorithm.kind == Kind::task;
      const auto limit = [](auto most, auto none) {
        return most == none ? std::string() : std::to_string(most);
      };
      const std::string line = std::string(collective) + " " + name + " " +
                               std::to_string(std::max(row.when.min_size, 1)) + "-" +
                               (is_task ? "" : limit(row.when.max_size, INT32_MAX)) + " " +
                               std::to_string(row.when.min_bytes) + "-" +
                               (is_task ? "" : limit(row.when.max_bytes, UINT64_MAX)) + " any";
      EXPECT_EQ(error_of_row(line), "");
    }
  });
}

TEST(Tuning, AFileWithoutRowsIsTheCompiledInTable) {
  const auto table = table_of("# nothing\n\n");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->checksum, 0u);
}

TEST(Tuning, FirstLineIdentifiesTheFormat) {
  const std::string expected = "some.tuning, line 1: the first line is ";
  EXPECT_EQ(error_of(""), expected + "\"\"; write intersession-coll-tuning 1");
  EXPECT_EQ(error_of("intersession-coll-tuning 2\n").substr(0, expected.size()), expected);
  EXPECT_EQ(error_of("bcast linear 2 7 any\n").substr(0, expected.size()), expected);
  std::string binary =
      "\x7f"
      "ELF\x02\x01\x01";
  binary.append(200, '\0');
  EXPECT_EQ(error_of(binary).substr(0, expected.size()), expected);
  for (const char c : error_of(binary)) EXPECT_TRUE(c >= ' ' && c <= '~');
}

TEST(Tuning, ErrorsNameTheLineAndARemedy) {
  struct BadRow {
    const char* row;
    const char* text;
  };
  const BadRow rows[] = {
      {"broadcast linear 2 7 any", "unknown collective \"broadcast\"; use one of barrier bcast"},
      {"bcast line 2 7 any", "unknown algorithm \"line\" of bcast; use one of segment"},
      {"scan no_segment 2 7 any", "unknown algorithm \"no_segment\" of scan; use one of"},
      {"bcast linear 2 7", "fewer than 5 fields"},
      {"bcast", "fewer than 5 fields"},
      {"bcast linear 0-2 7 any", "\"0-2\" is no range of processes"},
      {"bcast linear 4-2 7 any", "\"4-2\" is no range of processes; write N, N-M or N-, ascending"},
      {"bcast linear -2 7 any", "\"-2\" is no range of processes"},
      {"bcast linear 2x 7 any", "\"2x\" is no range of processes"},
      {"bcast linear 99999999999 7 any", "\"99999999999\" is no range of processes"},
      {"bcast linear 2 8-7 any", "\"8-7\" is no range of bytes; write N, N-M or N-, ascending"},
      {"bcast linear 2 8-9-10 any", "\"8-9-10\" is no range of bytes"},
      {"bcast linear 2 99999999999999999999999 any",
       "\"99999999999999999999999\" is no range of bytes"},
      {"bcast linear 2 7 shared", "unknown memory \"shared\"; use any, memory or segment"},
      {"bcast linear 2 7 any fast", "unknown restriction \"fast\"; use power_of_two or"},
      {"allgather recursive_doubling 3 7 any", "no number of processes of this row is a power of"},
      {"bcast linear 5-7 7 any power_of_two", "no number of processes of this row is a power of"},
      {"bcast by_nodes 4- 0- memory", "by_nodes is for 3 processes and more on several nodes"},
      {"bcast by_nodes 2 0- any", "by_nodes is for 3 processes and more on several nodes"},
      {"allreduce segment 2-8 0-2000 any", "segment of allreduce works with 0-1088 bytes"},
      {"scatter segment 2-3 0-8 any", "segment of scatter works among 1-2 processes"},
      {"bcast inline_binomial 2- 0-8 any", "inline_binomial of bcast works among 1-16 processes"},
      {"gather inline_binomial 9-16 0-257 any", "inline_binomial of gather works with 0-256 bytes"},
  };
  for (const BadRow& bad : rows) {
    const std::string expected = std::string("some.tuning, line 4: ") + bad.text;
    const std::string text = error_of(kHead + "# comment\nbcast chain 3 1-2 any\n" + bad.row +
                                      "\n");
    EXPECT_EQ(text.substr(0, expected.size()), expected) << bad.row << ": " << text;
  }
}

TEST(Tuning, RowsForTheSameCaseAreAnError) {
  const std::string first = "bcast linear 2-4 100-200 memory\n";
  const char* overlapping[] = {"bcast chain 4-5 200-300 memory", "bcast linear 3 150 memory",
                               "bcast chain 2-4 100-200 any",
                               "bcast chain 2-4 100-200 memory power_of_two"};
  for (const char* second : overlapping)
    EXPECT_EQ(
        error_of(kHead + first + second),
        "some.tuning, line 3: the row of line 2 applies to some of these processes and bytes, "
        "too; change one of the ranges")
        << second;
  const char* apart[] = {"bcast chain 5- 100-200 memory",   "bcast chain 2-4 201- memory",
                         "bcast chain 2-4 0-99 memory",     "bcast chain 2-4 100-200 segment",
                         "reduce chain 2-4 100-200 memory", "bcast segment 2-4 100-200 memory"};
  for (const char* second : apart) EXPECT_EQ(error_of(kHead + first + second), "") << second;
}

TEST(Tuning, TooManyRowsAreAnError) {
  std::string text = kHead;
  for (int i = 0; i < kMaxTuningRows; ++i) text += "bcast linear 2 " + std::to_string(i) + " any\n";
  EXPECT_EQ(error_of(text), "");
  text += "bcast linear 2 100000 any\n";
  EXPECT_NE(error_of(text).find("line 4098: more than 4096 rows"), std::string::npos);
}

TEST(Tuning, ChecksumsDifferIfRowsDiffer) {
  const auto checksum = [](const std::string& rows) { return table_of(rows)->checksum; };
  const std::uint32_t one = checksum("bcast linear 2 7 any\n");
  EXPECT_EQ(checksum("# other comments\nbcast  linear 2-2 7-7 any\n"), one);
  for (const char* other :
       {"bcast linear 2 8 any\n", "bcast linear 3 7 any\n", "bcast linear 2 7 memory\n",
        "bcast chain 2 7 any\n", "bcast linear 2 7 any power_of_two\n",
        "bcast linear 2 7 any commutative\n", "reduce chain 2 7 any\n"})
    EXPECT_NE(checksum(other), one) << other;
  for (int shift = 0; shift < 32; shift += 8) EXPECT_NE(one >> shift & 0xff, 0u);
}

TEST(Tuning, LoadsAFileAndNamesItInErrors) {
  const std::string path = testing::TempDir() + "/tuning_test." + std::to_string(getpid());
  std::ofstream(path) << kHead << "bcast linear 2 7 any\n";
  const auto table = load_tuning(path);
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_NE((*table)->checksum, 0u);
  std::ofstream(path) << kHead << "bcast linear 2\n";
  const auto bad = load_tuning(path);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().text().find(path + ", line 2: "), std::string::npos) << bad.error().text();
  std::remove(path.c_str());
  const auto missing = load_tuning(path);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find(path), std::string::npos) << missing.error().text();
  const auto not_installed = load_tuning("no-such-machine");
  ASSERT_FALSE(not_installed);
  EXPECT_NE(not_installed.error().text().find("/coll-tuning/no-such-machine"), std::string::npos)
      << not_installed.error().text();
}

TEST(Tuning, WithoutASettingTheCompiledInTableIsUsed) {
  const auto table = load_tuning("");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->get(), &default_table());
}

// Members that have a segment send messages if the table excludes it, and then use it again.
TEST(Tuning, ExcludedSegmentIsNotUsed) {
  const auto table = table_of(
      "barrier no_segment 1- 0- any\nbarrier no_inline 1- 0- any\n"
      "bcast no_segment 1- 17- any\nbcast no_inline 1- 0- any\n"
      "allreduce no_segment 1- 17- any\nallreduce no_inline 1- 0- any\n"
      "alltoall no_segment 1- 17- any\nalltoall no_inline 1- 0- any\n");
  ASSERT_NE(table, nullptr);
  for (int size : {2, 3, 5}) {
    on_members_of_node(
        size, true,
        [size](Comm& comm, p2p::World&, NodeLocality&) {
          const auto sends = [&](const std::function<Task()>& make) {
            const std::uint64_t before = comm.engine().counts().eager_sent;
            EXPECT_TRUE(shim::coll::run(comm, make()));
            return comm.engine().counts().eager_sent != before;
          };
          const int rank = comm.rank();
          EXPECT_TRUE(sends([&] { return barrier(CollSeq::blocking(comm)); }));
          for (const std::uint64_t count : {2u, 3u, 2u}) {
            const bool is_long = count == 3;
            Items data = rank == 0 ? values(0, count) : untouched(count);
            const bool sends_data = sends(
                [&] { return bcast(CollSeq::blocking(comm), in(data), 0); });
            EXPECT_EQ(data, values(0, count));
            EXPECT_TRUE(sends_data == is_long || rank != 0);
            const Items own = values(rank, count);
            Items result = untouched(count);
            EXPECT_EQ(sends([&] {
                        return allreduce(CollSeq::blocking(comm), out(own), result.data(), count,
                                         int64_type(), sum());
                      }),
                      is_long);
            EXPECT_EQ(result, summed(0, size - 1, count));
            const Items all = values(rank, count * n(size));
            Items incoming = untouched(count * n(size));
            EXPECT_EQ(sends([&] {
                        return alltoall(CollSeq::blocking(comm), {all.data(), count, &int64_type()},
                                        {incoming.data(), count, &int64_type()});
                      }),
                      is_long);
            for (int from = 0; from < size; ++from)
              EXPECT_EQ(Items(incoming.begin() + static_cast<std::ptrdiff_t>(count * n(from)),
                              incoming.begin() + static_cast<std::ptrdiff_t>(count * n(from + 1))),
                        values(from, count, count * n(rank)));
          }
        },
        *table);
  }
}

// Members of one communicator, each with its own table.
class Members {
 public:
  explicit Members(const std::vector<std::string>& rows) : world_({.processes = size_of(rows)}) {
    contexts_ = world_.contexts();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int rank = static_cast<int>(i);
      tables_.push_back(table_of(rows[i]));
      comms_.push_back(std::make_unique<Comm>(world_.engine(rank), *contexts_[i],
                                              std::make_shared<ScratchPool>(), rank, size_of(rows),
                                              nullptr, nullptr, *tables_[i]));
    }
  }
  std::vector<std::string> run(const std::function<Task(Comm&)>& make) {
    return run_all(world_, comms_, make);
  }
  bool has_failed(int rank) const { return comms_[static_cast<std::size_t>(rank)]->has_failed(); }

 private:
  static int size_of(const std::vector<std::string>& rows) { return static_cast<int>(rows.size()); }
  p2p::World world_;
  std::vector<p2p::ContextPtr> contexts_;
  std::vector<AlgorithmTablePtr> tables_;
  std::vector<std::unique_ptr<Comm>> comms_;
};

constexpr std::uint8_t kSomeCall = 17;
Task some_bcast(Comm& comm, Items& data) { return bcast(CollSeq(comm, kSomeCall), in(data), 0); }

TEST(TuningAgreement, MembersWithEqualRowsSucceed) {
  Members members(std::vector<std::string>(3, "bcast linear 2-8 0-100000 any\n"));
  for (int i = 0; i < 12; ++i) {
    std::vector<Items> data(3, values(0, 500));
    for (const std::string& error : members.run([&](Comm& comm) {
           return some_bcast(comm, data[static_cast<std::size_t>(comm.rank())]);
         }))
      ASSERT_EQ(error, "");
  }
}

// With a missing file the first collective fails at all members, whichever member has the file.
TEST(TuningAgreement, MissingFileFailsTheFirstCollective) {
  for (std::size_t with_file : {0u, 1u, 2u}) {
    std::vector<std::string> rows(3);
    rows[with_file] = "bcast chain 2-8 0-100000 any\n";
    Members members(rows);
    std::vector<Items> data(3, values(0, 500));
    const auto make = [&](Comm& comm) {
      return some_bcast(comm, data[static_cast<std::size_t>(comm.rank())]);
    };
    static_cast<void>(members.run(make));
    bool names_the_setting = false;
    for (const std::string& error : members.run(make)) {
      EXPECT_NE(error, "");
      names_the_setting |= error.find("rank " + std::to_string(with_file) +
                                      " selects collective algorithms by another table") !=
                               std::string::npos &&
                           error.find("INTERSESSION_COLL_TUNING") != std::string::npos;
    }
    EXPECT_TRUE(names_the_setting);
    for (int rank : {0, 1, 2}) EXPECT_TRUE(members.has_failed(rank));
  }
}

TEST(TuningAgreement, DifferentFilesFailWithinFourCollectives) {
  Members members({"bcast chain 2-8 0-100000 any\n", "bcast linear 2-8 0-100000 any\n"});
  std::vector<Items> data(2, values(0, 500));
  for (int i = 0; i < 5; ++i)
    static_cast<void>(members.run(
        [&](Comm& comm) { return some_bcast(comm, data[static_cast<std::size_t>(comm.rank())]); }));
  EXPECT_TRUE(members.has_failed(0));
  EXPECT_TRUE(members.has_failed(1));
}

}  // namespace
}  // namespace shim::coll
