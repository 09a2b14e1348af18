/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that info objects stay valid across MPI_Init and MPI_Finalize (MPI-4.1 §11.4.1). A native
 * library older than MPI-4 accepts its info objects only between the two calls. */
#include "session_world.h"

static void expect_value(MPI_Info info, const char* key, const char* expected) {
  char value[16] = "";
  int found = 0, capacity = sizeof value;
  MUST(MPI_Info_get_string(info, key, &capacity, value, &found));
  EXPECT(found && strcmp(value, expected) == 0, "%s: %s", key, value);
}

/* Set a key, duplicate the object, delete another key from the original, and replace the original
 * by its copy. */
static void change(MPI_Info* info, const char* last, const char* key) {
  MPI_Info copy;
  int keys = 0;
  char first[MPI_MAX_INFO_KEY + 1];
  expect_value(*info, last, "value");
  MUST(MPI_Info_set(*info, key, "value"));
  MUST(MPI_Info_dup(*info, &copy));
  MUST(MPI_Info_delete(*info, last));
  MUST(MPI_Info_get_nkeys(*info, &keys));
  EXPECT(keys == 1, "%d keys", keys);
  MUST(MPI_Info_get_nthkey(*info, 0, first));
  EXPECT(strcmp(first, key) == 0, "the key is %s", first);
  expect_value(copy, last, "value");
  expect_value(copy, key, "value");
  MUST(MPI_Info_free(info));
  MUST(MPI_Info_delete(copy, last));
  *info = copy;
}

static MPI_Info info_with(const char* key) {
  MPI_Info info;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, key, "value"));
  return info;
}

int main(int argc, char** argv) {
  int version, subversion;
  MPI_Info early = info_with("first"), within, given, late;
  change(&early, "first", "second");
  MPI_Init(&argc, &argv);
  within = info_with("second");
  given = info_with("any");
  change(&early, "second", "third");
  change(&within, "second", "third");
  MPI_Finalize();
  MUST(MPI_Get_version(&version, &subversion));
  change(&early, "third", "fourth");
  if (version >= 4) {
    change(&within, "third", "fourth");
    MUST(MPI_Session_init(given, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Session_finalize(&session));
  }
  late = info_with("first");
  change(&late, "first", "second");
  MUST(MPI_Info_free(&early));
  MUST(MPI_Info_free(&within));
  MUST(MPI_Info_free(&given));
  MUST(MPI_Info_free(&late));
  return verdict();
}
