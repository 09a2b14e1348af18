// SPDX-License-Identifier: BSD-3-Clause
// Files stores values under names, one file each, in the launcher's job directory. The files last
// as long as the job.
#pragma once

#include <string>

#include "shim/bootstrap/kvs_log.hpp"

namespace shim::bootstrap::mpirun {

/// Thread-safe, also between processes: a reader sees a whole value or none.
class Files final : public KvsLogStore {
 public:
  /// @param job unique in the directory
  Files(std::string folder, const std::string& job);

  /// A second value replaces the first. Errors: no_space; other (the directory is gone or not
  /// writable).
  base::Status put(const Name& name, std::span<const std::byte> value) override;
  base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name> names) override;
  /// Return one value. Errors: other (the file exists but cannot be read).
  base::Result<std::optional<Bytes>> find(const Name& name) const;
  bool has(const Name& name) const;

 private:
  std::string path_of(const Name& name) const;
  const std::string folder_;
  const std::string beginning_;  ///< prefix of all file names
};

}  // namespace shim::bootstrap::mpirun
