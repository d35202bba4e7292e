/* streams.c: a log of each process, all in one file. */
#include <scda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static scda_fcontext_t *write_logs (const char *name, int rank, int *err) {
  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, name, "logs", NULL, NULL, err);
  f = scda_fwrite_streams_begin (f, "log", NULL, 0, err); /* collective */
  for (int step = 0; f && step < 10 * (rank + 1); ++step) {
    char line[64];
    const int length = snprintf (line, sizeof line, "process %d, step %d\n", rank, step);
    if (scda_stream_write (f, line, (uint64_t) length, err) != 0) { break; } /* this process alone */
  }
  f = scda_fwrite_streams_end (f, err); /* collective: returns the errors of all processes */
  return f;
}

static scda_fcontext_t *read_logs (const char *name, int rank, int size, int *err) {
  uint64_t log = 0, tasks = 0, bytes = 0, lines = 0;
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, name, NULL, NULL, NULL, err);
  f = scda_ffind_streams (f, "log", NULL, SCDA_LAST, &log, &tasks, NULL, err); /* log: the set, by a number */
  if (!f || log == 0) { return f; }
  uint64_t *Nq = malloc ((size_t) size * sizeof *Nq); /* how many streams each process takes */
  for (int q = 0; q < size; ++q) {
    Nq[q] = tasks * (uint64_t) (q + 1) / (uint64_t) size - tasks * (uint64_t) q / (uint64_t) size;
  }
  uint64_t *Ei = malloc (Nq[rank] * sizeof *Ei); /* their bytes */
  f = scda_fread_streams_sizes (f, log, Ei, Nq, err);
  for (uint64_t i = 0; f && i < Nq[rank]; ++i) { bytes += Ei[i]; }
  char *data = malloc (bytes);
  f = scda_fread_streams_data (f, log, data, Nq, Ei, 0, err); /* one stream directly after the other */
  for (uint64_t i = 0; f && i < bytes; ++i) { lines += data[i] == '\n'; }
  if (f) { printf ("process %d: %d of %d logs, %d lines\n", rank, (int) Nq[rank], (int) tasks, (int) lines); }
  free (Nq), free (Ei), free (data);
  return f;
}

int main (int argc, char **argv) {
  MPI_Init (&argc, &argv);
  int rank, size, err = 0;
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  const char *name = argc > 2 ? argv[2] : "logs.scda";
  const int reads = argc > 1 && strcmp (argv[1], "read") == 0;
  scda_fcontext_t *f = reads ? read_logs (name, rank, size, &err) : write_logs (name, rank, &err);
  scda_fclose (f, &err);
  if (err != 0 && rank == 0) { fprintf (stderr, "%s\n", scda_last_error_message ()); }
  MPI_Finalize ();
  return err != 0;
}
