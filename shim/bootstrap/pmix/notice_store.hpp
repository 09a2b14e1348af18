// SPDX-License-Identifier: BSD-3-Clause
// Notices over PMIx_Publish and PMIx_Lookup. (What PMIx_Put keeps is asked for by its owner, whom a reader of notices does not know.)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shim/bootstrap/notice_board.hpp"
#include "shim/bootstrap/pmix/letters.hpp"
#include "shim/bootstrap/pmix/library.hpp"

namespace shim::bootstrap::pmix {

/// Waits for the server at most `seconds` for each answer. Names are looked up by questions of their own, because Open MPI 4.1's server,
/// asked for several names at once, answers one of those it has and leaves out the others; and one after the other, because of several
/// questions on their way it loses some (docs/measurements.md). One that has no answer for long is asked again.
class PublishedNotices final : public NoticeStore {
 public:
  PublishedNotices(const Library& library, std::shared_ptr<PostOffice> office, std::string job, double seconds)
      : library_(library), office_(std::move(office)), job_(std::move(job)), seconds_(seconds) {}

  base::Status put(const Name& name, std::span<const std::byte> value) override;
  base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name> names) override;

 private:
  std::string key_of(const Name& name) const;
  std::shared_ptr<Letter> ask_for(const Name& name);
  /// Nothing where none has come in time.
  std::optional<Answer> answer_for(const Name& name);
  base::Error error_of(pmix_status_t status, const std::string& what) const;

  const Library library_;
  const std::shared_ptr<PostOffice> office_;
  const std::string job_;  ///< the server keeps what all jobs of a session publish
  const double seconds_;
};

}  // namespace shim::bootstrap::pmix
