/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks that do not return: they throw, or end their thread by pthread_exit or by cancellation.
 * The exception arrives at the caller of the MPI function, the thread ends, and afterwards
 * everything works: no lock is held, no table is damaged. Argument: throw, exit, cancel; "world":
 * callbacks that throw in the world model. */
#include <pthread.h>

#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "session_world.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

namespace {

enum class Way { returns, number, runtime_error, bad_alloc, exit, cancel };
Way way = Way::returns;  // of the callback that runs next
int left;                // callbacks that have not returned

void leave() {
  const Way now = std::exchange(way, Way::returns);
  if (now != Way::returns) ++left;
  switch (now) {
    case Way::returns:
      return;
    case Way::number:
      throw 4711;
    case Way::runtime_error:
      throw std::runtime_error("thrown by a callback");
    case Way::bad_alloc:
      throw std::bad_alloc();
    case Way::exit:
      pthread_exit(nullptr);
    case Way::cancel:
      pthread_cancel(pthread_self());
      pthread_testcancel();
  }
}

struct Thread {
  const std::function<void()>& call;
  bool was_unwound = false, has_returned = false;
};
void* run_thread(void* argument) {
  auto& thread = *static_cast<Thread*>(argument);
  struct Unwound {
    bool& flag;
    ~Unwound() { flag = true; }
  } unwound{thread.was_unwound};
  thread.call();
  thread.has_returned = true;
  return nullptr;
}

/* True if the callback was left, and with it the call. */
bool is_left_by(const std::function<void()>& call) {
  const Way how = way;
  left = 0;
  if (how == Way::exit || how == Way::cancel) {
    Thread thread{call};
    pthread_t id;
    pthread_create(&id, nullptr, run_thread, &thread);
    pthread_join(id, nullptr);
    return left == 1 && thread.was_unwound && !thread.has_returned;
  }
  try {
    call();
  } catch (int number) {
    return left == 1 && how == Way::number && number == 4711;
  } catch (const std::runtime_error& error) {
    return left == 1 && how == Way::runtime_error &&
           strcmp(error.what(), "thrown by a callback") == 0;
  } catch (const std::bad_alloc&) {
    return left == 1 && how == Way::bad_alloc;
  }
  return false;
}

void on_comm(MPI_Comm* comm, int* code, ...) {
  int n = -1;
  MPI_Comm_size(*comm, &n);
  leave();
}
void on_session(MPI_Session*, int*, ...) { leave(); }
int copy_of_comm(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  leave();
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
int delete_of_comm(MPI_Comm, int, void*, void*) {
  leave();
  return MPI_SUCCESS;
}
int copy_of_type(MPI_Datatype, int, void*, void* in, void* out, int* flag) {
  leave();
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
int delete_of_type(MPI_Datatype, int, void*, void*) {
  leave();
  return MPI_SUCCESS;
}
void add(void* in, void* inout, int* length, MPI_Datatype*) {
  leave();
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}
int query(void*, MPI_Status* status) {
  leave();
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int free_state(void*) {
  leave();
  return MPI_SUCCESS;
}
int cancel_request(void*, int) {
  leave();
  return MPI_SUCCESS;
}

MPI_Comm spare;  // beside the communicator of a test

/* Collective. Communication and the making of communicators still work. */
void expect_all_works(const char* after) {
  int one = 1, sum = 0, number = -1;
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, spare));
  EXPECT(sum == size, "after %s: %d", after, sum);
  MUST(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &number, 1, MPI_INT,
                    (rank + size - 1) % size, 5, spare, MPI_STATUS_IGNORE));
  EXPECT(number == (rank + size - 1) % size, "after %s: %d", after, number);
  MPI_Group group;
  MPI_Comm made;
  MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  MUST(MPI_Comm_create_from_group(group, "callback_unwinding.after", MPI_INFO_NULL,
                                  MPI_ERRORS_RETURN, &made));
  MUST(MPI_Group_free(&group));
  MUST(MPI_Barrier(made));
  MUST(MPI_Comm_free(&made));
}

void error_handlers(Way how) {
  MPI_Comm comm;
  MPI_Errhandler handler;
  MUST(MPI_Comm_dup(world, &comm));
  MUST(MPI_Comm_create_errhandler(on_comm, &handler));
  MUST(MPI_Comm_set_errhandler(comm, handler));
  MUST(MPI_Errhandler_free(&handler));
  way = how;
  EXPECT(is_left_by([&] { MPI_Send(&rank, 1, MPI_INT, 9999, 0, comm); }), "MPI_Send");
  way = how;
  EXPECT(is_left_by([&] { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); }),
         "MPI_Comm_call_errhandler");
  /* a message that is too long, in each function that completes requests */
  for (int i = 0; i < 3; ++i) {
    int two[2] = {1, 2}, got = 0, flag = 0;
    MPI_Request requests[2];
    MUST(MPI_Irecv(&got, 1, MPI_INT, rank, 3, comm, &requests[0]));
    MUST(MPI_Isend(two, 2, MPI_INT, rank, 3, comm, &requests[1]));
    way = how;
    EXPECT(is_left_by([&] {
             if (i == 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
             if (i == 1) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
             while (i == 2 && !flag) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
           }),
           "completion %d", i);
    EXPECT(requests[0] == MPI_REQUEST_NULL, "completion %d", i);
    MUST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  }
  MUST(MPI_Barrier(comm));
  MUST(MPI_Comm_free(&comm));

  MPI_Session own;
  char name[16];
  int length = sizeof name;
  MUST(MPI_Session_create_errhandler(on_session, &handler));
  MUST(MPI_Session_init(MPI_INFO_NULL, handler, &own));
  MUST(MPI_Errhandler_free(&handler));
  way = how;
  EXPECT(is_left_by([&] { MPI_Session_get_nth_pset(own, MPI_INFO_NULL, 9999, &length, name); }),
         "MPI_Session_get_nth_pset");
  MUST(MPI_Session_finalize(&own));
}

void attributes(Way how) {
  MPI_Comm comm, copy = MPI_COMM_NULL;
  int key, flag = 0;
  void* value = nullptr;
  MUST(MPI_Comm_dup(world, &comm));
  MUST(MPI_Comm_create_keyval(copy_of_comm, delete_of_comm, &key, nullptr));
  MUST(MPI_Comm_set_attr(comm, key, &left));
  way = how;
  EXPECT(is_left_by([&] { MPI_Comm_dup(comm, &copy); }), "MPI_Comm_dup");
  EXPECT(copy == MPI_COMM_NULL, "MPI_Comm_dup returned a communicator");
  way = how;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT(is_left_by([&] { MPI_Comm_idup(comm, &copy, &request); }), "MPI_Comm_idup");
  way = how;
  EXPECT(is_left_by([&] { MPI_Comm_set_attr(comm, key, &flag); }), "MPI_Comm_set_attr");
  way = how;
  EXPECT(is_left_by([&] { MPI_Comm_delete_attr(comm, key); }), "MPI_Comm_delete_attr");
  way = how;
  EXPECT(is_left_by([&] { MPI_Comm_free(&comm); }), "MPI_Comm_free");
  EXPECT(comm != MPI_COMM_NULL, "the communicator was freed");
  MUST(MPI_Comm_get_attr(comm, key, &value, &flag));
  EXPECT(flag && value == &left, "the attribute was lost");
  MUST(MPI_Barrier(comm));
  MUST(MPI_Comm_dup(comm, &copy));
  MUST(MPI_Comm_free(&comm));
  MUST(MPI_Comm_free(&copy));
  MUST(MPI_Comm_free_keyval(&key));

  MPI_Datatype type, other = MPI_DATATYPE_NULL;
  MUST(MPI_Type_create_keyval(copy_of_type, delete_of_type, &key, nullptr));
  MUST(MPI_Type_contiguous(2, MPI_INT, &type));
  MUST(MPI_Type_set_attr(type, key, &left));
  way = how;
  EXPECT(is_left_by([&] { MPI_Type_dup(type, &other); }), "MPI_Type_dup");
  EXPECT(other == MPI_DATATYPE_NULL, "MPI_Type_dup returned a datatype");
  way = how;
  EXPECT(is_left_by([&] { MPI_Type_delete_attr(type, key); }), "MPI_Type_delete_attr");
  way = how;
  EXPECT(is_left_by([&] { MPI_Type_free(&type); }), "MPI_Type_free");
  MUST(MPI_Type_get_attr(type, key, &value, &flag));
  EXPECT(flag && value == &left, "the attribute was lost");
  MUST(MPI_Type_free(&type));
  MUST(MPI_Type_free_keyval(&key));
}

void generalised_requests(Way how) {
  MPI_Request request;
  MUST(MPI_Grequest_start(query, free_state, cancel_request, nullptr, &request));
  way = how;
  EXPECT(is_left_by([&] { MPI_Cancel(&request); }), "MPI_Cancel");
  MUST(MPI_Grequest_complete(request));
  way = how;
  EXPECT(is_left_by([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); }), "query function");
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT(request == MPI_REQUEST_NULL, "the request is not null");
  MUST(MPI_Grequest_start(query, free_state, cancel_request, nullptr, &request));
  MPI_Request copy = request;
  MUST(MPI_Request_free(&request));
  way = how;
  EXPECT(is_left_by([&] { MPI_Grequest_complete(copy); }) || how == Way::returns, "free function");
}

/* A fresh communicator each time: members that end their threads leave it in the midst of a
 * collective. */
void operation(Way how, MPI_Op op, int count) {
  const bool ends_thread = how == Way::exit || how == Way::cancel;
  auto *in = new int[count], *out = new int[count];
  for (int i = 0; i < count; ++i) in[i] = i, out[i] = 0;
  MPI_Comm comm;
  MUST(MPI_Comm_dup(world, &comm));
  way = how;
  EXPECT(is_left_by([&] { MPI_Reduce_local(in, out, count, MPI_INT, op); }), "MPI_Reduce_local");
  /* not all members of many combine data; of two both do */
  way = how;
  bool is_left = is_left_by([&] { MPI_Allreduce(in, out, count, MPI_INT, op, comm); });
  EXPECT(is_left == (left == 1) && (size > 2 || is_left == (size == 2)), "MPI_Allreduce of %d",
         count);
  way = Way::returns;
  if (!ends_thread) { /* the communicator is as it was, and who does not combine is not disturbed */
    for (int root = 0; root < size; ++root) {
      way = how;
      is_left = is_left_by([&] { MPI_Reduce(in, out, count, MPI_INT, op, root, comm); });
      EXPECT(is_left == (left == 1), "MPI_Reduce of %d", count);
      EXPECT(rank != root || size != 2 || is_left, "MPI_Reduce of %d", count);
    }
    way = how;
    is_left = is_left_by([&] { MPI_Scan(in, out, count, MPI_INT, op, comm); });
    EXPECT(is_left == (left == 1) && is_left == (rank > 0), "MPI_Scan of %d", count);
    way = Way::returns;
    MUST(MPI_Allreduce(in, out, count, MPI_INT, op, comm));
    EXPECT(out[count - 1] == size * (count - 1), "MPI_Allreduce of %d: %d", count, out[count - 1]);
  }
  MUST(MPI_Comm_free(&comm));
  expect_all_works("a blocking collective");

  /* whichever call moves it: the operation ends with an error */
  for (int persistent = 0; persistent < 2; ++persistent) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    MUST(MPI_Comm_dup(world, &comm));
    if (persistent)
      MUST(MPI_Allreduce_init(in, out, count, MPI_INT, op, comm, MPI_INFO_NULL, &request));
    way = how;
    is_left = is_left_by([&] {
      if (persistent)
        MPI_Start(&request);
      else
        MPI_Iallreduce(in, out, count, MPI_INT, op, comm, &request);
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    way = Way::returns;
    const bool combines = left == 1;
    EXPECT((size > 2 || combines == (size == 2)) && is_left == (combines && ends_thread),
           "MPI_Iallreduce of %d", count);
    if (is_left && request != MPI_REQUEST_NULL)
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (is_left)
      code = MPI_ERR_OTHER; /* left before there was a request */
    MUST_FAIL(combines ? MPI_ERR_OTHER : MPI_SUCCESS, code);
    if (persistent && !ends_thread) {
      MUST(MPI_Start(&request));
      MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT(out[count - 1] == size * (count - 1), "persistent: %d", out[count - 1]);
    }
    if (request != MPI_REQUEST_NULL) MUST(MPI_Request_free(&request));
    MUST(MPI_Comm_free(&comm));
    expect_all_works("a non-blocking collective");
  }
  delete[] in;
  delete[] out;
}

void session_model(Way how) {
  error_handlers(how);
  expect_all_works("error handlers");
  attributes(how);
  expect_all_works("attributes");
  generalised_requests(how);
  expect_all_works("generalized requests");
  MPI_Op op;
  MUST(MPI_Op_create(add, 1, &op));
  for (int count : {1, 1000, 300000}) operation(how, op, count);
  MUST(MPI_Op_free(&op));
}

void world_model(Way how) {
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Op op;
  int key, one = 1, sum = 0;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MUST(MPI_Comm_create_errhandler(on_comm, &handler));
  MUST(MPI_Comm_set_errhandler(comm, handler));
  MUST(MPI_Errhandler_free(&handler));
  way = how;
  EXPECT(is_left_by([&] { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); }),
         "MPI_Comm_call_errhandler");
  way = how;
  EXPECT(is_left_by([&] { MPI_Send(&one, 1, MPI_INT, 9999, 0, comm); }), "MPI_Send");
  MUST(MPI_Comm_create_keyval(copy_of_comm, delete_of_comm, &key, nullptr));
  MUST(MPI_Comm_set_attr(comm, key, &left));
  way = how;
  EXPECT(is_left_by([&] { MPI_Comm_delete_attr(comm, key); }), "MPI_Comm_delete_attr");
  MUST(MPI_Op_create(add, 1, &op));
  way = how;
  EXPECT(is_left_by([&] { MPI_Reduce_local(&one, &sum, 1, MPI_INT, op); }), "MPI_Reduce_local");
  MUST(MPI_Op_free(&op));
  MUST(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argc > 1 ? argv[1] : "throw";
  if (scenario == "world") {
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    for (Way how : {Way::number, Way::runtime_error, Way::bad_alloc}) world_model(how);
    MUST(MPI_Finalize());
    return verdict();
  }
  open_world("test.callback_unwinding");
  MUST(MPI_Comm_dup(world, &spare));
  if (scenario == "exit")
    session_model(Way::exit);
  else if (scenario == "cancel")
    session_model(Way::cancel);
  else
    for (Way how : {Way::number, Way::runtime_error, Way::bad_alloc}) session_model(how);
  MUST(MPI_Comm_free(&spare));
  return close_world();
}
