// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/mpirun/mpirun_env.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>

#include "tests/base/child.hpp"
#include "tests/base/directory.hpp"
#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::mpirun {
namespace {

/// Return the variables that Open MPI 4.1.4 sets for the second of three processes.
std::map<std::string, std::string> variables() {
  return {{"PMIX_NAMESPACE", "1636368385"},
          {"PMIX_RANK", "1"},
          {"PMIX_HOSTNAME", "machine"},
          {"OMPI_MCA_ess_base_jobid", "1636368385"},
          {"OMPI_MCA_orte_jobfam_session_dir", "/tmp/ompi.machine.1000/pid.3447"},
          {"OMPI_NUM_APP_CTX", "1"},
          {"OMPI_COMM_WORLD_RANK", "1"},
          {"OMPI_COMM_WORLD_SIZE", "3"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};
}

std::optional<MpirunEnv> read(const std::map<std::string, std::string>& variables) {
  return read_mpirun_env([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(MpirunEnvTest, IsReadFromTheVariables) {
  const auto found = read(variables());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->job.world_name, "1636368385");
  EXPECT_EQ(found->job.rank, 1u);
  EXPECT_EQ(found->job.size, 3u);
  EXPECT_EQ(found->node_map.node_count(), 1u);
  EXPECT_EQ(found->node_map.host(0), "machine");
  EXPECT_THAT(found->node_map.ranks_on(0), ::testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(found->folder, "/tmp/ompi.machine.1000/pid.3447");
  EXPECT_EQ(found->mpirun, 3447);
}

TEST(MpirunEnvTest, MissingVariableYieldsNothing) {
  for (const auto& [name, value] : variables()) {
    auto changed = variables();
    changed.erase(name);
    EXPECT_FALSE(read(changed)) << name;
  }
}

TEST(MpirunEnvTest, ContradictoryVariablesYieldNothing) {
  const std::multimap<std::string, std::string> of_others = {
      {"PMIX_NAMESPACE", "slurm.pmix.17.0"},  // srun started from mpirun's shell
      {"PMIX_RANK", "2"},                     // srun again
      {"OMPI_NUM_APP_CTX", "2"},              // only PMIx has the application of each process
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},    // another node
      {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},    // another node
      {"OMPI_COMM_WORLD_SIZE", "three"},      //
      {"OMPI_MCA_orte_jobfam_session_dir",
       "/tmp/ompi.machine.1000/jf.24969"},  // folder of a daemon
      {"OMPI_MCA_orte_jobfam_session_dir", "/tmp/ompi.machine.1000/pid.3447a"},
      {"OMPI_MCA_orte_jobfam_session_dir",
       "/tmp/ompi.machine.1000/pid.0"},  // kill(0) would signal the process group
      {"PMIX_HOSTNAME", ""}};
  for (const auto& [name, value] : of_others) {
    auto changed = variables();
    changed[name] = value;
    EXPECT_FALSE(read(changed)) << name << "=" << value;
  }
}

TEST(MpirunEnvTest, RankBeyondTheSizeYieldsNothing) {
  auto changed = variables();
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"})
    changed[name] = "3";
  EXPECT_FALSE(read(changed));
}

class RealMpirun : public base::testing::DirectoryTest {
 protected:
  MpirunEnv env() const {
    MpirunEnv made;
    made.folder = directory_;
    made.mpirun = ::getpid();
    return made;
  }
};

TEST_F(RealMpirun, ValidOnlyIfAliveWithAPrivateFolder) {
  EXPECT_TRUE(env().is_valid());

  auto made = env();
  made.folder += "/gone";
  EXPECT_FALSE(made.is_valid());

  base::testing::Child ended([](base::testing::Child&) { return true; });
  const pid_t pid = ended.pid();
  ASSERT_TRUE(ended.finish());
  made = env();
  made.mpirun = pid;
  EXPECT_FALSE(made.is_valid());

  ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
  EXPECT_FALSE(env().is_valid()) << "other users could read the files";
}

}  // namespace
}  // namespace shim::bootstrap::mpirun
