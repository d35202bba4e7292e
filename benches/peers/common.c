/* What the other files of this folder use. */
#include "patterns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Noreturn void die (const char *format, ...) {
  va_list args;
  va_start (args, format);
  vfprintf (stderr, format, args);
  va_end (args);
  fprintf (stderr, "\n");
  MPI_Abort (MPI_COMM_WORLD, 1);
  abort ();
}

void check_mpi (int err, const char *what) {
  if (err != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int len;
    MPI_Error_string (err, text, &len);
    die ("%s: %s", what, text);
  }
}

void *allocate (size_t bytes) {
  void *memory = malloc (bytes > 0 ? bytes : 1);
  if (!memory) { die ("no memory for %zu bytes", bytes); }
  return memory;
}

static double opened, moved;

void mark_opened (void) { opened = MPI_Wtime (); }
void mark_moved (void) { moved = MPI_Wtime (); }
double seconds_of_data (void) { return moved - opened; }

void sync_folder (const char *folder) {
  const int fd = open (folder, O_RDONLY);
  if (fd < 0 || syncfs (fd) != 0) { die ("%s: %s", folder, strerror (errno)); }
  close (fd);
}

int in_turn (int round, int place, int n) {
  if (n % 2 == 1 && round % 2 == 1) { place = n - 1 - place; } /* an odd number needs the reverse orders, too */
  const int zigzag = place % 2 == 0 ? place / 2 : n - (place + 1) / 2; /* 0, n - 1, 1, n - 2 ...: no distance occurs twice */
  return (zigzag + round) % n;
}

uint64_t item_bytes (type_t type) { return type == FLOAT64 || type == INT64 ? 8 : 4; }

void share (uint64_t n, int rank, int size, uint64_t *start, uint64_t *count) {
  *start = n * (uint64_t) rank / (uint64_t) size;
  *count = n * (uint64_t) (rank + 1) / (uint64_t) size - *start;
}
