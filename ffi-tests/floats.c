/* The program traps floating-point exceptions, rounds in another direction, or takes tiny numbers for zero, on all ranks or on the last one
 * alone: the same bytes in files, the same values and errors, no trap in the library, and nothing of the program's environment changes.
 *
 *   floats DIR
 *
 * Built a second time with -ffast-math, whose start takes tiny numbers for zero: so all that is compared here are bits. */
#define _GNU_SOURCE
#include "common.h"

#include <fenv.h>
#if defined __SSE2__
#include <xmmintrin.h>
#endif

enum { items = 4000, kinds = 6, as_it_is = -1 };

/* What a program may set. */
enum { nearest, upward, downward, toward_zero, flushing, trapping, modes };

/* The control and status of the processor, where it is known how to get all of it. */
typedef struct {
  unsigned sse;
  int rounding, raised;
} seen_t;

/* What is not exact is no matter with several ranks: MPI computes for itself. */
static int is_alone;

static seen_t see (void) {
  seen_t seen;
  memset (&seen, 0, sizeof seen);
#if defined __SSE2__
  seen.sse = _mm_getcsr () & (is_alone ? ~0u : ~0x20u);
#endif
  seen.rounding = fegetround (), seen.raised = fetestexcept (is_alone ? FE_ALL_EXCEPT : FE_ALL_EXCEPT & ~FE_INEXACT);
  return seen;
}

static fenv_t at_start;

/* False if this machine cannot. */
static int enter (int mode) {
  fesetenv (&at_start);
  feclearexcept (FE_ALL_EXCEPT);
  switch (mode) {
  case upward: return fesetround (FE_UPWARD) == 0;
  case downward: return fesetround (FE_DOWNWARD) == 0;
  case toward_zero: return fesetround (FE_TOWARDZERO) == 0;
#if defined __SSE2__
  case flushing: _mm_setcsr (_mm_getcsr () | 0x8040u); return 1;
#endif
#if defined __GLIBC__ && (defined __x86_64__ || defined __i386__)
  /* Also what is not exact, and denormal numbers: all that computes. */
  case trapping: return feenableexcept (is_alone ? FE_ALL_EXCEPT : FE_ALL_EXCEPT & ~FE_INEXACT) != -1
#if defined __SSE2__
      && (_mm_setcsr (_mm_getcsr () & ~(is_alone ? 0x1f80u : 0x0f80u)), 1)
#endif
      ;
#endif
  default: feraiseexcept (FE_INVALID); return mode == nearest || mode == as_it_is;
  }
}

static void leave (void) { fesetenv (&at_start); }

/* Calls the library in a mode. All that it raises is its own matter. */
static int mode_now;
static seen_t seen_before;
#define CALL(call) (enter (mode_now), seen_before = see (), (call), check_environment (__LINE__), leave ())

static void check_environment (int line) {
  const seen_t now = see ();
  leave ();
  if (memcmp (&now, &seen_before, sizeof now) != 0) {
    fprintf (stderr, "mode %d, line %d: the environment was %x %x %x, is %x %x %x\n", mode_now, line, seen_before.sse, (unsigned) seen_before.rounding,
             (unsigned) seen_before.raised, now.sse, (unsigned) now.rounding, (unsigned) now.raised);
    ++failures;
  }
}

/* The data. Special values are made of their bits. */
static uint64_t wide[kinds][items];
static uint32_t narrow[kinds][items];
static int64_t whole[items];

static void fill (void) {
  uint64_t rng = 7;
  for (int i = 0; i < items; ++i) {
    const uint64_t special[5] = { 0x7ff8000000000000u, 0x7ff0000000000000u, 0xfff0000000000000u, 0x7ff4000000000001u, 0x4008000000000000u };
    const double decimal = 0.01 * i, huge = 1e304 * (i + 1), smooth = 1 / (1 + 1e-3 * i);
    const float few = (float) (0.1 * (i % 1000));
    memcpy (&wide[0][i], &decimal, 8);
    memcpy (&wide[1][i], &smooth, 8);
    memcpy (&wide[2][i], &huge, 8);
    wide[3][i] = special[i % 5];
    wide[4][i] = (uint64_t) (i % 1000) | (uint64_t) (i & 1) << 63; /* denormal */
    wide[5][i] = rnd (&rng) >> 12 | 0x3ff0000000000000u;
    for (int k = 0; k < kinds; ++k) { memcpy (&narrow[k][i], &few, 4); }
    narrow[3][i] = i % 2 ? 0x7fa00001u : 0x7f800000u;
    narrow[4][i] = (uint32_t) (i % 1000);
    whole[i] = ((int64_t) 1 << 53) + 3 * i + 1; /* has no double */
  }
}

static uint64_t part_start[1], part_count[1];
static const size_t one_box = 1;

static scda_box_t box_of (const void *data, int type) {
  scda_box_t box;
  REQUIRE (scda_box_init (&box) == 0);
  box.data = (void *) (uintptr_t) data, box.start = part_start, box.count = part_count, box.type = type;
  return box;
}

static scda_dataset_t dataset (const char *name, int kind, int type) {
  scda_dataset_t d;
  REQUIRE (scda_dataset_init (&d) == 0);
  snprintf (d.name, sizeof d.name, "%s%d", name, kind);
  d.type = type, d.ndims = 1, d.shape[0] = items, d.chunk[0] = items / 4;
  d.encode = SCDA_ENCODE_ALWAYS, d.codec = kind % 2 ? SCDA_CODEC_ZSTD : SCDA_CODEC_PCODEC;
  return d;
}

static scda_fcontext_t *put (scda_fcontext_t *f, const scda_dataset_t *d, const void *data, int type) {
  int err;
  const scda_box_t box = box_of (data, type);
  CALL (f = scda_fwrite_datasets (f, 1, d, &one_box, &box, &err));
  REQUIRE (err == SCDA_SUCCESS);
  return f;
}

/* Everything that computes. */
static void write_all (group_t g, const char *path, int mode, int background) {
  static const double tiny = 4.9406564584124654e-324, tenth = 0.1;
  static const uint32_t tiny_fill = 77; /* denormal */
  const uint64_t first = part_start[0];
  int err;
  scda_params_t params = default_params ();
  scda_fcontext_t *f;
  mode_now = mode;
  params.threads = 2;
  if (background) { params.background_bytes = 1 << 24; }
  CALL (f = scda_fopen_write (g.comm, path, "floats", NULL, &params, &err));
  REQUIRE (err == SCDA_SUCCESS);
  for (int k = 0; k < kinds; ++k) {
    scda_dataset_t d = dataset ("wide", k, SCDA_TYPE_FLOAT64);
    d.codec = SCDA_CODEC_PCODEC, d.fill_value = &tenth;
    d.attributes = "{\"a\": 0.1, \"b\": 1e-310, \"c\": 123456789.123456789, \"d\": 1e308}";
    f = put (f, &d, wide[k] + first, 0);
    d = dataset ("narrow", k, SCDA_TYPE_FLOAT32);
    d.codec = SCDA_CODEC_PCODEC, d.fill_value = &tiny_fill;
    f = put (f, &d, narrow[k] + first, 0);
    d = dataset ("relative", k, SCDA_TYPE_FLOAT64);
    d.max_relative_error = 1e-4;
    f = put (f, &d, wide[k] + first, 0);
    d.max_absolute_error = 1e-3;
    snprintf (d.name, sizeof d.name, "both%d", k);
    f = put (f, &d, wide[k] + first, 0);
    /* As the one before but for the bound. */
    d.max_relative_error = 0., d.max_absolute_error = 0.;
    snprintf (d.name, sizeof d.name, "none%d", k);
    f = put (f, &d, wide[k] + first, 0);
    memcpy (&d.max_absolute_error, &tiny, sizeof tiny);
    snprintf (d.name, sizeof d.name, "least%d", k);
    f = put (f, &d, wide[k] + first, 0);
    /* Other types in memory. */
    d = dataset ("single", k, SCDA_TYPE_FLOAT32);
    f = put (f, &d, wide[k] + first, SCDA_TYPE_FLOAT64);
    d = dataset ("half", k, SCDA_TYPE_FLOAT16);
    f = put (f, &d, wide[k] + first, SCDA_TYPE_FLOAT64);
    d = dataset ("half_of_single", k, SCDA_TYPE_FLOAT16);
    d.encode = SCDA_ENCODE_NONE, d.chunk[0] = 0;
    f = put (f, &d, narrow[k] + first, SCDA_TYPE_FLOAT32);
    d = dataset ("double_of_whole", k, SCDA_TYPE_FLOAT64);
    f = put (f, &d, whole + first, SCDA_TYPE_INT64);
  }
  scda_statistics_t statistics;
  statistics.size = sizeof statistics;
  CALL (scda_get_statistics (f, &statistics, &err));
  CHECK (err == SCDA_SUCCESS);
  CALL (scda_fclose (f, &err));
  REQUIRE (err == SCDA_SUCCESS);
}

/* The bytes of all that is read, and the errors: a checksum. */
static uint64_t read_all (group_t g, const char *path, int mode) {
  static const char *names[] = { "wide", "narrow", "relative", "both", "none", "least", "single", "half", "half_of_single", "double_of_whole" };
  static const int types[] = { 0, SCDA_TYPE_FLOAT64, SCDA_TYPE_FLOAT32, SCDA_TYPE_INT32 };
  static uint64_t memory[items];
  uint64_t sum = 0;
  int err, found;
  scda_fcontext_t *f;
  mode_now = mode;
  for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
    for (size_t n = 0; n < sizeof names / sizeof names[0]; ++n) {
      for (int k = 0; k < kinds; ++k) {
        if (types[t] != 0 && (n > 1 || k > 4)) { continue; } /* enough numbers of each kind */
        char name[32];
        scda_dataset_t d;
        REQUIRE (scda_dataset_init (&d) == 0);
        snprintf (name, sizeof name, "%s%d", names[n], k);
        CALL (f = scda_fopen_read (g.comm, path, NULL, NULL, NULL, &err));
        REQUIRE (err == SCDA_SUCCESS);
        CALL (f = scda_ffind_dataset (f, name, 0, &found, &d, &err));
        REQUIRE (err == SCDA_SUCCESS && found);
        for (const char *c = d.attributes; *c; ++c) { sum = mix (sum, (uint64_t) *c); }
        memset (memory, 0, sizeof memory);
        const scda_box_t box = box_of (memory, types[t]);
        CALL (f = scda_fread_boxes (f, &d, one_box, &box, &err));
        CHECK (err == SCDA_SUCCESS || (types[t] == SCDA_TYPE_INT32 && err == SCDA_ERR_RANGE));
        sum = mix (sum, (uint64_t) err);
        for (int i = 0; i < items && err == SCDA_SUCCESS; ++i) { sum = mix (sum, memory[i]); }
        if (mode == as_it_is && types[t] == 0 && n == 0) { CHECK (memcmp (memory, wide[k] + part_start[0], (size_t) part_count[0] * 8) == 0); }
        int closed = SCDA_SUCCESS;
        if (f != NULL) { CALL (scda_fclose (f, &closed)); }
        CHECK (closed == SCDA_SUCCESS);
      }
    }
  }
  return sum;
}

/* What is refused is refused in each mode. */
static void refused (group_t g, const char *path, int mode) {
  static const uint64_t bounds[] = { 0x7ff4000000000001u, 0x7ff8000000000000u, 0xbff0000000000000u, 0x7ff0000000000000u };
  static const char *wrong[] = { "{\"a\": 1e999}", "{\"a\": 0.1, \"a\": 0.1}" };
  scda_params_t params = default_params ();
  int err;
  mode_now = mode;
  for (size_t i = 0; i < 6; ++i) {
    scda_fcontext_t *f;
    scda_dataset_t d = dataset ("wrong", 0, SCDA_TYPE_FLOAT64);
    const scda_box_t box = box_of (wide[0], 0);
    if (i < 4) {
      memcpy (i % 2 ? &d.max_relative_error : &d.max_absolute_error, &bounds[i], 8);
    } else {
      d.attributes = wrong[i - 4];
    }
    CALL (f = scda_fopen_write (g.comm, path, "refused", NULL, &params, &err));
    CALL (f = scda_fwrite_datasets (f, 1, &d, &one_box, &box, &err));
    CHECK (f == NULL && err == SCDA_ERR_ARG);
  }
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2 && fegetenv (&at_start) == 0);
  const group_t g = world ();
  is_alone = g.size == 1;
  char first[1000], other[1000];
#if defined FLUSHED && defined __SSE2__
  CHECK ((_mm_getcsr () & 0x8000u) != 0); /* this program is linked with -ffast-math */
  const char *what = "flushed";
#else
  const char *what = "plain";
#endif
  snprintf (first, sizeof first, "%s/floats_%s_%d.scda", argv[1], what, g.size);
  snprintf (other, sizeof other, "%s/floats_%s_%d_other.scda", argv[1], what, g.size);
#if defined __SSE2__
  _mm_setcsr (_mm_getcsr () & ~0x8040u); /* the oracle, and the data, are those of the default environment */
#endif
  fill ();
  part_start[0] = (uint64_t) (items * g.rank / g.size), part_count[0] = (uint64_t) (items * (g.rank + 1) / g.size) - part_start[0];
  fenv_t linked = at_start;
  fegetenv (&at_start);
  write_all (g, first, nearest, 0);
  const uint64_t expected = read_all (g, first, as_it_is);
  at_start = linked;
  for (int mode = as_it_is; mode < modes; ++mode) {
    const int can = enter (mode);
    leave ();
    for (int all = 0; all < 2 && can; ++all) {
      const int mine = all || g.rank == g.size - 1 ? mode : as_it_is;
      write_all (g, other, mine, all);
      barrier (g);
      CHECK (same_files (first, other));
      CHECK (read_all (g, first, mine) == expected);
      refused (g, other, mine);
    }
  }
  return finish ();
}
