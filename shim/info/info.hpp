// SPDX-License-Identifier: BSD-3-Clause
// The sections of the report. What is missing is said in words, in the place where it would be.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shim/base/misspelt.hpp"
#include "shim/base/settings.hpp"
#include "shim/info/launcher.hpp"
#include "shim/info/report.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace shim::info {

/// Asks one MPI library who it is, by the name it is loaded under.
using AskLibrary = std::function<base::Result<base::LoadedLibrary>(const std::string& name)>;

/// For each family of MPI libraries, and for the one that INTERSESSION_LIBRARY names: its library, and ours, looked for in these
/// folders.
Section substrates_section(const AskLibrary& ask, const std::vector<std::string>& folders, const base::Settings& settings);

Section launcher_section(const base::Result<JobFacts>& facts, const base::Result<base::LoadedLibrary>& pmix);
Section nodes_section(const base::Result<JobFacts>& facts);
Section sets_section(const base::Result<JobFacts>& facts);
Section transports_section(const base::Result<transport::OfiOffer>& fabric, const base::Settings& settings);
Section settings_section(const base::SettingsReading& reading, const std::vector<base::Misspelt>& misspelt);

}  // namespace shim::info
