// SPDX-License-Identifier: BSD-3-Clause
// Values under names, one file each, in the launcher's folder for the job, where they last as long as the job does.
#pragma once

#include <string>

#include "shim/bootstrap/notice_board.hpp"

namespace shim::bootstrap::mpirun {

/// Thread-safe, also between processes: a value is there as a whole or not at all.
class Files final : public NoticeStore {
 public:
  /// `job`: unique in the folder.
  Files(std::string folder, const std::string& job);

  /// A second value of a name replaces the first. Errors: no_space; other (the folder is gone, or cannot be written).
  base::Status put(const Name& name, std::span<const std::byte> value) override;
  base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name> names) override;
  /// Of one. Errors: other (the file is there and cannot be read).
  base::Result<std::optional<Bytes>> find(const Name& name) const;
  bool has(const Name& name) const;

 private:
  std::string path_of(const Name& name) const;
  const std::string folder_;
  const std::string beginning_;  ///< of all names of files
};

}  // namespace shim::bootstrap::mpirun
