// SPDX-License-Identifier: BSD-3-Clause
// Declares one function per section of the report of intersession-info.
// Each function formats results of queries. An error in a result becomes the text of a row, so that
// the other rows and sections still appear.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shim/base/setting_suggestions.hpp"
#include "shim/base/settings.hpp"
#include "shim/info/launcher.hpp"
#include "shim/info/report.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace shim::info {

/// Queries the MPI library of this soname or path for its version. main.cpp passes
/// query_in_child(); tests pass a function without libraries.
using QueryLibrary = std::function<base::Result<base::LoadedLibrary>(const std::string& name)>;

/// Return the version of Intersession, with commit, and the path of the command.
Section build_section(const std::string& version, const std::string& command);
/// Return for each family of MPI libraries (shim/families): the version, file and soname of the
/// installed MPI library, and the file of Intersession's library for the family, searched in
/// `folders`. Then the version and file of the library that INTERSESSION_LIBRARY names, if set.
Section substrates_section(const QueryLibrary& ask, const std::vector<std::string>& folders,
                           const base::Settings& settings);

/// Return launcher, world, processes and applications of the job, or the error of `facts`; then the
/// PMIx library that this process can load, also if the launcher does not use PMIx.
Section launcher_section(const base::Result<JobFacts>& facts,
                         const base::Result<base::LoadedLibrary>& pmix);
/// Return the ranks on each node.
Section nodes_section(const base::Result<JobFacts>& facts);
/// Return the members of each process set in JobFacts::sets.
Section sets_section(const base::Result<JobFacts>& facts);
/// Return the transports inside a node and between nodes, which follow from `settings` alone; then
/// the libfabric providers in `fabric`, in the order in which the transport tries them.
Section transports_section(const base::Result<transport::ProviderReport>& fabric,
                           const base::Settings& settings);
/// Return the value of each setting and its origin (environment or default), then the variables
/// that are an old name or look like a misspelled setting.
Section settings_section(const base::SettingsReading& reading,
                         const std::vector<base::SettingSuggestion>& suggestions);

}  // namespace shim::info
