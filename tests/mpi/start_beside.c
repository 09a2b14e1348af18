/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests sessions that start in the background (mpix_start_beside).
 *
 *   start_beside SCENARIO
 *
 *   sessions   two sessions that share one start, and are used; then one that ends unused, and one
 *              more
 *   world      the world model starts during the start of the session
 *   fork       a child made during the start exits, and its parent continues
 *   broken     the launcher does not respond: the first call that needs it fails, and each later
 *              one
 *   exit       the program exits while the launcher does not respond */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session_world.h"

static MPI_Session begin(void) {
  MPI_Session begun;
  MPI_Info info;
  MUST(MPI_Info_create(&info));
  MUST(MPI_Info_set(info, "mpix_start_beside", "true"));
  MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &begun));
  MUST(MPI_Info_free(&info));
  return begun;
}

static void use(MPI_Session of, const char* tag) {
  MPI_Group group;
  int one = 1, sum = 0;
  MUST(MPI_Group_from_session_pset(of, "mpi://WORLD", &group));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &world));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Comm_size(world, &size));
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world));
  EXPECT(sum == size, "sum %d of %d", sum, size);
  MUST(MPI_Comm_free(&world));
}

static void sessions(void) {
  MPI_Session first = begin(), second = begin();
  use(second, "test.beside.second");
  use(first, "test.beside.first");
  MUST(MPI_Session_finalize(&first));
  MUST(MPI_Session_finalize(&second));
  session = begin();
  MUST(MPI_Session_finalize(&session));
  session = begin();
  use(session, "test.beside.again");
  MUST(MPI_Session_finalize(&session));
}

static void with_world(void) {
  int of_world, sum = 0;
  session = begin();
  MUST(MPI_Init(NULL, NULL));
  MUST(MPI_Comm_size(MPI_COMM_WORLD, &of_world));
  use(session, "test.beside.world");
  EXPECT(of_world == size, "%d processes in MPI_COMM_WORLD, %d in the session", of_world, size);
  MUST(MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EXPECT(sum == size * size, "sum %d", sum);
  MUST(MPI_Session_finalize(&session));
  MUST(MPI_Finalize());
}

static void with_child(void) {
  int status = -1;
  session = begin();
  pid_t child = fork();
  if (child == 0) exit(0); /* with all exit handlers */
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
         "the child ended with %d", status);
  use(session, "test.beside.fork");
  MUST(MPI_Session_finalize(&session));
}

/* A stand-in for a launcher daemon that accepts connections and sends nothing. */
static void listen_in_silence(void) {
  char uri[64];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(bind(listener, (struct sockaddr*)&address, length) == 0 && listen(listener, 8) == 0,
         "no socket");
  EXPECT(getsockname(listener, (struct sockaddr*)&address, &length) == 0, "no port");
  snprintf(uri, sizeof uri, "silent.0;tcp4://127.0.0.1:%d", ntohs(address.sin_port));
  setenv("PMIX_NAMESPACE", "silent", 1);
  setenv("PMIX_RANK", "0", 1);
  setenv("PMIX_SERVER_URI41", uri, 1);
}

static void broken(void) {
  MPI_Group group;
  char text[MPI_MAX_ERROR_STRING];
  int length, psets;
  listen_in_silence();
  session = begin();
  int code = MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  EXPECT(code != MPI_SUCCESS, "a group although the call failed");
  MUST(MPI_Error_string(code, text, &length));
  printf("MPI_Group_from_session_pset failed: %s\n", text);
  EXPECT(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &psets) != MPI_SUCCESS,
         "%d process sets although the call failed", psets);
  MUST(MPI_Session_finalize(&session));
}

static void end_at_once(void) {
  listen_in_silence();
  session = begin();
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "sessions";
  if (strcmp(what, "world") == 0)
    with_world();
  else if (strcmp(what, "fork") == 0)
    with_child();
  else if (strcmp(what, "broken") == 0)
    broken();
  else if (strcmp(what, "exit") == 0)
    end_at_once();
  else
    sessions();
  return verdict();
}
