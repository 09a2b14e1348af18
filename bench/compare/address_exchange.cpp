// SPDX-License-Identifier: BSD-3-Clause
#include "bench/compare/address_exchange.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "bench/lib/fail.hpp"

namespace bench {
namespace {

constexpr auto kPeerTimeout = std::chrono::seconds(30);

bool create_first_file(const std::string& folder) {
  const int made = ::open((folder + "/first").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (made < 0 && errno != EEXIST)
    fail("no file can be made in \"" + folder + "\", which both processes must share");
  if (made >= 0) ::close(made);
  return made >= 0;
}

}  // namespace

AddressExchange::AddressExchange(std::string folder)
    : folder_(std::move(folder)), is_first_(create_first_file(folder_)) {}

std::string AddressExchange::file(bool of_first) const {
  return folder_ + (of_first ? "/of_first" : "/of_second");
}

std::string AddressExchange::exchange(const std::string& own) {
  // Write under a temporary name, so that the final name always has the whole content.
  const std::string mine = file(is_first_), unfinished = mine + ".unfinished";
  std::ofstream(unfinished, std::ios::binary) << own;
  if (std::rename(unfinished.c_str(), mine.c_str()) != 0)
    fail("no file can be made in \"" + folder_ + "\"");
  const auto end = std::chrono::steady_clock::now() + kPeerTimeout;
  while (std::chrono::steady_clock::now() < end) {
    if (std::ifstream theirs(file(!is_first_), std::ios::binary); theirs)
      return {std::istreambuf_iterator<char>(theirs), std::istreambuf_iterator<char>()};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  fail("the other process has not started in \"" + folder_ +
       "\"; two are to be started with the same folder, which is empty before");
}

}  // namespace bench
