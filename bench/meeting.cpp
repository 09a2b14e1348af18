// SPDX-License-Identifier: BSD-3-Clause
#include "bench/meeting.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "bench/fail.hpp"

namespace bench {
namespace {

constexpr auto kLongestAbsence = std::chrono::seconds(30);

bool comes_first(const std::string& folder) {
  const int made = ::open((folder + "/first").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (made < 0 && errno != EEXIST) fail("no file can be made in \"" + folder + "\", where the two processes are to meet");
  if (made >= 0) ::close(made);
  return made >= 0;
}

}  // namespace

Meeting::Meeting(std::string folder) : folder_(std::move(folder)), is_first_(comes_first(folder_)) {}

std::string Meeting::file(bool of_first) const { return folder_ + (of_first ? "/of_first" : "/of_second"); }

std::string Meeting::exchange(const std::string& own) {
  // Written under another name, so that what has the name is whole.
  const std::string mine = file(is_first_), unfinished = mine + ".unfinished";
  std::ofstream(unfinished, std::ios::binary) << own;
  if (std::rename(unfinished.c_str(), mine.c_str()) != 0) fail("no file can be made in \"" + folder_ + "\"");
  const auto end = std::chrono::steady_clock::now() + kLongestAbsence;
  while (std::chrono::steady_clock::now() < end) {
    if (std::ifstream theirs(file(!is_first_), std::ios::binary); theirs)
      return {std::istreambuf_iterator<char>(theirs), std::istreambuf_iterator<char>()};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  fail("the other process has not come to \"" + folder_ + "\"; two are to be started with the same folder, which is empty before");
}

}  // namespace bench
