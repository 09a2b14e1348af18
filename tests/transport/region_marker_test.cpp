// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/region_marker.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "shim/base/files.hpp"

namespace shim::transport {
namespace {

using ::testing::ElementsAre;

/// A directory with a region of this process.
class RegionMarkerTest : public ::testing::Test {
 protected:
  RegionMarkerTest() {
    std::string path = std::filesystem::temp_directory_path() / "intersession-marker-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    directory = path;
    std::ofstream(directory / region) << "memory";
  }
  ~RegionMarkerTest() override { std::filesystem::remove_all(directory); }

  const std::string region = std::to_string(::getpid()) + ":0:region";
  std::filesystem::path directory;
};

/// Limits the length of files that this process writes while the object exists.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit now{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(RegionMarkerTest, NamesTheRegionsOfThisProcess) {
  std::ofstream(directory / "1:another") << "memory";
  {
    const auto marker = RegionMarker::make(directory);
    ASSERT_TRUE(marker) << marker.error().text();
    for (const std::string& name : base::names_in(directory)) {
      if (name.find(':') == std::string::npos) {
        EXPECT_EQ(*base::read_file(directory / name), region + "\n");
      }
    }
    EXPECT_EQ(base::names_in(directory).size(), 3u);
  }
  EXPECT_EQ(base::names_in(directory).size(), 2u) << "the marker ends with its owner";
}

// A marker with a part of a name would not lead to the region, which would stay for good.
TEST_F(RegionMarkerTest, PartialWriteIsAnError) {
  const auto marker = [&] {
    const FileLimit limit(4);
    return RegionMarker::make(directory);
  }();
  EXPECT_FALSE(marker);
  EXPECT_THAT(base::names_in(directory), ElementsAre(region));
}

}  // namespace
}  // namespace shim::transport
