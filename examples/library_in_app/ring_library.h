/* SPDX-License-Identifier: BSD-3-Clause */
/* A library with its own communicator from a session: the caller passes no communicator, and need
 * not call MPI_Init. */
#ifndef RING_LIBRARY_H
#define RING_LIBRARY_H

typedef struct ring ring;

/* Open the ring; collective over all processes of the job. Return null after one line on stderr if
 * it fails. */
ring* ring_open(void);
int ring_rank(const ring* r);
int ring_size(const ring* r);

/* Start to send `count` numbers to the next process of the ring, and to receive as many from the
 * previous one. The caller must not use either array until ring_finish returns. */
void ring_start(ring* r, const double* to_next, double* from_before, int count);
/* Return 1 if both are complete, else 0. */
int ring_poll(ring* r);
void ring_finish(ring* r);

/* Close the ring; collective. */
void ring_close(ring* r);

#endif
