/* The first rank calls one collective function and the last rank another one, or the same one with NULL for what must not be NULL:
 * both get an error, at the latest when the file is closed, and none waits.
 *
 *   pairs DIR EVERY    of the pairs of two functions, every n-th is tried */
#define _POSIX_C_SOURCE 200809L /* alarm */
#include "common.h"

#include <signal.h>

static group_t g;
static scda_fcontext_t *f;
static int err, null; /* whether to pass NULL */
static uint64_t *three, *sums, numbers[] = { 1, 1, 1 };
static const char text[] = "0123456789abcdef0123456789abcdefghijklmnopqrstuvwxyz";
static char data[64], path[1200];

#define OR_NULL(pointer) (null ? NULL : (pointer))

static scda_dataset_t described (const char *name) {
  scda_dataset_t d;
  scda_dataset_init (&d);
  strcpy (d.name, name);
  d.type = SCDA_TYPE_UINT8, d.ndims = 1, d.shape[0] = 3 * (uint64_t) g.size;
  return d;
}

static scda_box_t all_of (void *items, uint64_t *start, uint64_t *count) {
  scda_box_t box;
  scda_box_init (&box);
  *start = 3 * (uint64_t) g.rank, *count = 3;
  box.start = start, box.count = count, box.data = items;
  return box;
}

/* What returns no file has closed it after an error, or leaves that to the next call. */
static void returned (int is_well) {
  if (!is_well) { scda_fclose (f, NULL), f = NULL; }
}

#define CALL(name, ...) \
  static void name (void) { __VA_ARGS__; }

CALL (close_it, scda_fclose (f, &err), f = NULL)
CALL (proc_sizes, f = scda_proc_sizes (f, OR_NULL (numbers), three, sums, &err))
CALL (proc_sizes_Np, f = scda_proc_sizes (f, numbers, OR_NULL (three), sums, &err))
CALL (proc_sizes_out, f = scda_proc_sizes (f, numbers, three, OR_NULL (sums), &err))
CALL (proc_counts, f = scda_proc_counts (f, 3, OR_NULL (sums), &err))
CALL (partition_local, scda_partition_local (f, 3, &err), returned (err == 0))
CALL (partition_counts, scda_partition_counts (f, OR_NULL (three), &err), returned (err == 0))
static void close_begin (void) {
  scda_request_t r;
  const int begun = scda_fclose_begin (f, OR_NULL (&r), &err);
  f = NULL;
  if (begun == 0 && !null) { scda_wait (&r, &err); }
}
static void close_begin_wait (void) {
  scda_request_t r;
  const int begun = scda_fclose_begin (f, &r, &err);
  f = NULL;
  if (begun == 0) { scda_wait (OR_NULL (&r), &err); }
}

/* Writing. */
CALL (flush, f = scda_fflush (f, &err))
CALL (commit, f = scda_fcommit (f, &err))
CALL (commit_begin, f = scda_fcommit_begin (f, NULL, &err))
static void commit_wait (void) {
  scda_request_t r;
  f = scda_fcommit_begin (f, &r, &err);
  if (f != NULL) { returned (scda_wait (OR_NULL (&r), &err) == 0); }
}
CALL (write_inline, f = scda_fwrite_inline (f, text, OR_NULL ("x"), NULL, 0, &err))
CALL (write_block, f = scda_fwrite_block (f, text, 32, OR_NULL ("x"), NULL, 0, 0, &err))
CALL (write_array, f = scda_fwrite_array (f, OR_NULL (text), three, 4, 0, "x", NULL, 0, &err))
CALL (write_array_Nq, f = scda_fwrite_array (f, text, OR_NULL (three), 4, 0, "x", NULL, 0, &err))
CALL (write_array_name, f = scda_fwrite_array (f, text, three, 4, 0, OR_NULL ("x"), NULL, 1, &err))
CALL (write_varray, f = scda_fwrite_varray (f, text, three, OR_NULL (numbers), NULL, 0, "x", NULL, 0, &err))
CALL (write_varray_Nq, f = scda_fwrite_varray (f, text, OR_NULL (three), numbers, NULL, 0, "x", NULL, 0, &err))
static void write_dataset (void) {
  const scda_dataset_t d = described ("d");
  const uint64_t start = 3 * (uint64_t) g.rank, count = 3;
  f = scda_fwrite_dataset (f, OR_NULL (&d), data, 1, &start, &count, &err);
}
static void write_dataset_start (void) {
  const scda_dataset_t d = described ("d");
  const uint64_t start = 3 * (uint64_t) g.rank, count = 3;
  f = scda_fwrite_dataset (f, &d, data, 1, OR_NULL (&start), &count, &err);
}
static void write_datasets (void) {
  const scda_dataset_t d = described ("d");
  uint64_t start, count;
  const scda_box_t box = all_of (data, &start, &count);
  const size_t one = 1;
  f = scda_fwrite_datasets (f, 1, &d, &one, OR_NULL (&box), &err);
}
CALL (write_field, f = scda_fwrite_field (f, OR_NULL ("x"), SCDA_TYPE_UINT8, data, 3, 1, 0, &err))
CALL (write_field_data, f = scda_fwrite_field (f, "x", SCDA_TYPE_UINT8, OR_NULL (data), 3, 1, 0, &err))
CALL (write_field_parts, f = scda_fwrite_field_parts (f, "x", SCDA_TYPE_UINT8, data, OR_NULL (three), 1, 0, &err))
CALL (write_group, f = scda_fwrite_group (f, OR_NULL ("group"), "{}", &err))
CALL (set_attributes, f = scda_fset_attributes (f, OR_NULL ("old"), -1, "{}", &err))
static void write_texts (void) {
  static const char *const items[] = { "a", "b", "c" };
  scda_dataset_t d = described ("texts");
  d.type = SCDA_TYPE_STRING;
  f = scda_fwrite_texts (f, OR_NULL (&d), 3, items, NULL, &err);
}
static void write_streams (void) {
  f = scda_fwrite_streams_begin (f, OR_NULL ("x"), NULL, 0, &err);
  if (f != NULL) { f = scda_fwrite_streams_end (f, &err); }
}

/* Reading. */
static void header_of (uint64_t section) {
  f = scda_fseek (f, section, &err);
  if (f != NULL) { f = scda_fread_section_header (f, NULL, NULL, NULL, NULL, NULL, NULL, &err); }
}
CALL (read_header, header_of (0))
CALL (sections, f = scda_fsections (f, NULL, &err))
CALL (seek, f = scda_fseek (f, 1, &err))
CALL (find, f = scda_ffind (f, OR_NULL ("array"), NULL, 0, NULL, NULL, &err))
CALL (refresh, f = scda_frefresh (f, NULL, &err))
CALL (read_inline, header_of (0); if (f != NULL) { f = scda_fread_inline_data (f, data, 0, &err); })
CALL (read_block, header_of (1); if (f != NULL) { f = scda_fread_block_data (f, data, 32, 0, &err); })
CALL (read_block_range, header_of (1); if (f != NULL) { f = scda_fread_block_range (f, data, 0, 32, &err); })
CALL (read_array, header_of (2); if (f != NULL) { f = scda_fread_array_data (f, data, OR_NULL (three), 4, 0, &err); })
CALL (read_array_range, header_of (2); if (f != NULL) { f = scda_fread_array_range (f, data, 0, 3, 4, 0, &err); })
CALL (read_varray, header_of (3); if (f != NULL) { f = scda_fread_varray_sizes (f, numbers, OR_NULL (three), &err); })
CALL (read_varray_range, header_of (3); if (f != NULL) { f = scda_fread_varray_sizes_range (f, numbers, 0, 3, &err); })
static void next_entry (void) {
  scda_entry_t e;
  scda_entry_init (&e);
  f = scda_fnext_entry (f, OR_NULL (&e), &err);
}
CALL (find_dataset, f = scda_ffind_dataset (f, OR_NULL ("old"), SCDA_LAST, NULL, NULL, &err))
static void read_dataset (void) {
  const uint64_t start = 0, count = 3;
  scda_dataset_t d;
  scda_dataset_init (&d);
  f = scda_ffind_dataset (f, OR_NULL ("old"), SCDA_LAST, NULL, &d, &err);
  if (f != NULL) { f = scda_fread_dataset (f, &d, data, 1, OR_NULL (&start), &count, &err); }
}
static void read_datasets (void) {
  const scda_dataset_t d = described ("old");
  uint64_t start, count;
  const scda_box_t box = all_of (data, &start, &count);
  const size_t one = 1;
  f = scda_fread_datasets (f, 1, OR_NULL (&d), NULL, &one, &box, &err);
}
CALL (find_group, f = scda_ffind_group (f, OR_NULL ("group"), NULL, NULL, &err))
CALL (find_streams, f = scda_ffind_streams (f, OR_NULL ("streams"), NULL, -1, NULL, NULL, NULL, &err))
static void read_streams (void) {
  uint64_t *one_each = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *one_each);
  for (int q = 0; q < g.size; ++q) { one_each[q] = 1; }
  uint64_t set = 0;
  f = scda_ffind_streams (f, "streams", NULL, -1, &set, NULL, NULL, &err);
  if (f != NULL) { f = scda_fread_streams_sizes (f, set, sums, OR_NULL (one_each), &err); }
  free (one_each);
}

typedef struct {
  const char *name;
  void (*call) (void);
  int takes_null; /* whether it passes NULL where that is an error */
} call_t;
#define NAMED(call, takes_null) { #call, call, takes_null }

static const call_t both[] = {
  NAMED (close_it, 0), NAMED (proc_sizes, 1), NAMED (proc_sizes_Np, 1), NAMED (proc_sizes_out, 1),
  NAMED (proc_counts, 1), NAMED (partition_local, 0), NAMED (partition_counts, 1), NAMED (close_begin, 1), NAMED (close_begin_wait, 1),
};
static const call_t writing[] = {
  NAMED (flush, 0), NAMED (commit, 0), NAMED (commit_begin, 0), NAMED (commit_wait, 1), NAMED (write_inline, 1), NAMED (write_block, 1),
  NAMED (write_array, 1), NAMED (write_array_Nq, 1), NAMED (write_array_name, 1), NAMED (write_varray, 1), NAMED (write_varray_Nq, 1),
  NAMED (write_dataset, 1), NAMED (write_dataset_start, 1), NAMED (write_datasets, 1), NAMED (write_field, 1),
  NAMED (write_field_data, 1), NAMED (write_field_parts, 1), NAMED (write_group, 1), NAMED (set_attributes, 1),
  NAMED (write_texts, 1), NAMED (write_streams, 1),
};
static const call_t reading[] = {
  NAMED (read_header, 0), NAMED (sections, 0), NAMED (seek, 0), NAMED (find, 1), NAMED (refresh, 0), NAMED (read_inline, 0),
  NAMED (read_block, 0), NAMED (read_block_range, 0), NAMED (read_array, 1), NAMED (read_array_range, 0), NAMED (read_varray, 1),
  NAMED (read_varray_range, 0), NAMED (next_entry, 1), NAMED (find_dataset, 1), NAMED (read_dataset, 1),
  NAMED (read_datasets, 1), NAMED (find_group, 1), NAMED (find_streams, 1), NAMED (read_streams, 1),
};
enum { num_both = sizeof both / sizeof both[0], num_writing = sizeof writing / sizeof writing[0], num_reading = sizeof reading / sizeof reading[0] };

static int is_reading;
static const call_t *call_of (int i) { return i < num_both ? &both[i] : is_reading ? &reading[i - num_both] : &writing[i - num_both]; }
static int has_call (int i) { return i < num_both + (is_reading ? num_reading : num_writing); }

static void open_file (int check) {
  scda_params_t params;
  scda_params_init (&params);
  params.seal = !is_reading, params.check = check;
  err = 0;
  f = is_reading ? scda_fopen_read (g.comm, path, NULL, NULL, &params, &err) : scda_fopen_write (g.comm, path, "pairs", NULL, &params, &err);
  if (!is_reading) {
    const scda_dataset_t d = described ("old");
    f = scda_fwrite_dataset (f, &d, data, 0, NULL, NULL, &err);
  }
  REQUIRE (f != NULL && err == 0);
}

/* What is tried, for the one who finds out that it hangs. */
static char tries[200];
static void hangs (int signal) {
  (void) signal;
  if (write (2, tries, strlen (tries)) < 0) { _exit (2); }
  _exit (1);
}

/* This rank's call of a pair. Then all ranks must have an error, or, if it is the same call, none. */
static void tried (const call_t *mine, const call_t *others, int passes_null, int check) {
  open_file (check);
  snprintf (tries, sizeof tries, "pairs: rank %d tries: %s%s, others %s, check %d\n", g.rank, mine->name, passes_null ? " with NULL" : "",
            others->name, check);
  alarm (20);
  null = passes_null && g.rank == g.size - 1;
  mine->call ();
  null = 0;
  if (f != NULL) { scda_fclose (f, &err); }
  alarm (0);
  const int is_same = mine == others && !passes_null;
  if (is_same ? err != 0 : err == 0) {
    fprintf (stderr, "%sand gets error %d %s\n", tries, err, scda_last_error_message ());
    ++failures;
  }
  barrier (g);
}

static void make_file (void) {
  scda_fcontext_t *w = scda_fopen_write (g.comm, path, "pairs", NULL, bare (), &err);
  const scda_dataset_t d = described ("old");
  const uint64_t start = 0, count = 3 * (uint64_t) g.size;
  w = scda_fwrite_inline (w, text, "inline", NULL, 0, &err);
  w = scda_fwrite_block (w, text, 32, "block", NULL, 0, 0, &err);
  w = scda_fwrite_array (w, text, three, 4, 0, "array", NULL, 0, &err);
  w = scda_fwrite_varray (w, text, three, numbers, NULL, 0, "varray", NULL, 0, &err);
  char *all = (char *) calloc (3, (size_t) g.size);
  w = scda_fwrite_dataset (w, &d, all, g.rank == 0, &start, &count, &err);
  free (all);
  w = scda_fwrite_group (w, "group", "{}", &err);
  w = scda_fwrite_streams_begin (w, "streams", NULL, 0, &err);
  REQUIRE (w != NULL && scda_stream_write (w, text, 3, &err) == 0);
  w = scda_fwrite_streams_end (w, &err);
  REQUIRE (w != NULL && scda_fclose (w, &err) == 0);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  signal (SIGALRM, hangs);
  REQUIRE (argc == 3);
  const int every = atoi (argv[2]);
  int pair = 0;
  g = world ();
  snprintf (path, sizeof path, "%s/pairs.scda", argv[1]);
  three = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *three), sums = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *sums);
  for (int q = 0; q < g.size; ++q) { three[q] = 3; }
  const int is_first = g.rank == 0;
  for (is_reading = 0; is_reading < 2; ++is_reading) {
    if (is_reading) { make_file (); }
    for (int check = 0; check < (every == 1 ? 2 : 1); ++check) {
      for (int i = 0; has_call (i); ++i) {
        tried (call_of (i), call_of (i), 0, check);
        if (call_of (i)->takes_null) { tried (call_of (i), call_of (i), 1, check); }
        for (int j = 0; g.size > 1 && has_call (j); ++j) {
          /* Functions in which the ranks do not meet, and the same one by another call, are no disagreement. */
          const int is_told = call_of (i)->call != partition_counts && call_of (j)->call != partition_counts
                              && strncmp (call_of (i)->name, call_of (j)->name, 10) != 0;
          if (is_told && pair++ % every == 0) { tried (call_of (is_first ? i : j), call_of (is_first ? j : i), 0, check); }
        }
      }
    }
  }
  free (three), free (sums);
  return finish ();
}
