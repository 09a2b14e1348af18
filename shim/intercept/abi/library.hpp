// SPDX-License-Identifier: BSD-3-Clause
// Declares properties of the substrate's library as a whole.
#pragma once

#include <span>

#include "shim/families/families.hpp"

namespace shim::intercept::abi {

/// Family whose ABI this build implements.
extern const families::Family& kFamily;
/// Environment variable in which the substrate's launchers pass the size of the world.
extern const char* const kWorldSizeVariable;
/// Environment variable that the substrate's launchers set in processes that MPI_Comm_spawn has
/// started.
extern const char* const kSpawnedVariable;
/// True if the substrate's launchers end the job with an error if a process exits between MPI_Init
/// and MPI_Finalize.
extern const bool kExitBeforeFinalizeIsAnError;
/// Value of MPI_TAG_UB on the substrate's MPI_COMM_WORLD.
extern const int kTagUpperBound;
/// Environment variable in which the substrate's launchers pass the value of MPI_UNIVERSE_SIZE;
/// null if there is none.
extern const char* const kUniverseSizeVariable;
/// True if MPI_UNIVERSE_SIZE and MPI_APPNUM have a value on the substrate's MPI_COMM_WORLD only if
/// the launcher passes one. Otherwise they default to the number of processes and to 0.
extern const bool kHasOnlyNumbersOfLauncher;

/// Values that keys of MPI_INFO_ENV have (MPI-4.1 §11.2.1, and keys of an MPI library).
enum class InfoEnvValue { command, arguments, processes, host, machine, thread_level, launcher };
struct InfoEnvKey {
  const char* key;
  InfoEnvValue value;  ///< value if the launcher passes none; `launcher`: then the key is absent
  const char* variable = nullptr;  ///< environment variable in which the launcher passes the value
};
/// Keys of the substrate's MPI_INFO_ENV, in its order.
extern const std::span<const InfoEnvKey> kInfoEnvKeys;
/// True if the substrate's MPI_COMM_SELF also has the predefined attributes of MPI_COMM_WORLD.
extern const bool kSelfHasPredefinedAttributes;
/// True if the substrate's MPI_Wtime works before MPI_Init and after MPI_Finalize.
extern const bool kClockAlwaysRuns;
/// True if the substrate's MPI_File_call_errhandler accepts MPI_FILE_NULL, whose error handler
/// handles the errors of closed files.
extern const bool kCallsHandlerOfNullFile;
/// True if the substrate itself is a PMI-1 client, on the descriptor that the launcher names.
extern const bool kSpeaksPmi1;

}  // namespace shim::intercept::abi
