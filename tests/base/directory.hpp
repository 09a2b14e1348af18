// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace shim::base::testing {

/// Provides a directory in shared memory, removed at the end of the test.
class DirectoryTest : public ::testing::Test {
 protected:
  DirectoryTest() {
    std::array<char, 64> name = {"/dev/shm/segment-test-XXXXXX"};
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = name.data();
  }
  ~DirectoryTest() override { std::filesystem::remove_all(directory_); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      names.push_back(entry.path());
    return names;
  }

  std::string directory_;
};

}  // namespace shim::base::testing
