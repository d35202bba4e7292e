/* What programs need that restart: attributes, one by one; series that go on after any step; the newest whole file.
 *
 *   restart DIR */
#include <math.h>
#include <signal.h>
#include "boxes.h"
#include "sections.h"

static group_t g;
static char name[1200];

/* Writes and reads single attributes of datasets, records and groups. */
static void attributes (void) {
  static const double box[3] = {0.1, -1e300, 0.25};
  static const int64_t steps[2] = {INT64_MIN, INT64_MAX};
  static const char words[] = "u\0v \"w\"\0";
  const double x = 0.5, again = 2.5;
  const int step = 41, missing = 7;
  const unsigned char is_done = 1;
  double numbers[4] = {7, 7, 7, 7};
  int64_t longs[2];
  int32_t number = missing;
  unsigned char truth = 7;
  char text[40] = "the default";
  uint64_t count;
  int err;
  scda_fcontext_t *f;
  RIGHT (scda_fopen_write (g.comm, name, "attributes", NULL, NULL, &err));
  for (int k = 0; k < 2; ++k) { RIGHT (scda_fwrite_field (f, "rho", SCDA_TYPE_FLOAT64, &x, 1, 1, SCDA_ENCODE_NONE, &err)); }
  RIGHT (scda_fset_attribute (f, "rho", 0, "units", SCDA_TYPE_STRING, "kg m-3", 1, &err));
  RIGHT (scda_fset_attribute (f, "rho", SCDA_LAST, "box", SCDA_TYPE_FLOAT64, box, 3, &err));
  RIGHT (scda_fset_attribute (f, "rho", SCDA_LAST, "steps", SCDA_TYPE_INT64, steps, 2, &err));
  RIGHT (scda_fset_attribute (f, "/", 0, "step", SCDA_TYPE_INT32, &step, 1, &err));
  RIGHT (scda_fset_attribute (f, "/", 0, "names", SCDA_TYPE_STRING, words, 3, &err));
  RIGHT (scda_fset_attribute (f, "/", 0, "none", SCDA_TYPE_FLOAT32, NULL, 0, &err));
  RIGHT (scda_fset_attribute (f, "flow/", 0, "done", SCDA_TYPE_BOOL, &is_done, 1, &err));
  RIGHT (scda_fset_attribute (f, "rho", SCDA_LAST, "time", SCDA_TYPE_FLOAT64, &x, 1, &err));
  RIGHT (scda_fset_attribute (f, "rho", SCDA_LAST, "time", SCDA_TYPE_FLOAT64, &again, 1, &err));
  CLOSE ();
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err));
#define READ(of, record, key, type, values, room, expected) do { \
    count = room; \
    RIGHT (scda_fread_attribute (f, of, record, key, type, values, &count, &err)); \
    CHECK (count == (expected)); \
  } while (0)
  READ ("rho", SCDA_LAST, "box", SCDA_TYPE_FLOAT64, numbers, 4, 3);
  CHECK (memcmp (numbers, box, sizeof box) == 0 && numbers[3] == 7);
  READ ("/rho", 1, "box", SCDA_TYPE_FLOAT64, NULL, 0, 3); /* as in HDF5 */
  READ ("rho", SCDA_LAST, "steps", SCDA_TYPE_INT64, longs, 2, 2);
  CHECK (longs[0] == INT64_MIN && longs[1] == INT64_MAX);
  READ ("rho", SCDA_LAST, "time", SCDA_TYPE_FLOAT64, numbers, 1, 1);
  CHECK (numbers[0] == 2.5);
  READ ("rho", SCDA_LAST, "units", SCDA_TYPE_STRING, text, sizeof text, 0);
  CHECK (strcmp (text, "the default") == 0);
  READ ("rho", 0, "units", SCDA_TYPE_STRING, text, sizeof text, 7);
  CHECK (strcmp (text, "kg m-3") == 0);
  READ ("rho", 0, "units", SCDA_TYPE_STRING, g.rank ? text : NULL, 7, 7);
  READ ("/", SCDA_LAST, "names", SCDA_TYPE_STRING, text, sizeof text, sizeof words);
  CHECK (memcmp (text, words, sizeof words) == 0);
  READ ("flow", SCDA_LAST, "done", SCDA_TYPE_BOOL, NULL, 0, 1); /* no dataset has this name */
  READ ("/", SCDA_LAST, "none", SCDA_TYPE_FLOAT64, numbers, 4, 0);
  READ ("/flow/", SCDA_LAST, "done", SCDA_TYPE_BOOL, &truth, 1, 1);
  CHECK (truth == 1);
  READ ("/", SCDA_LAST, "step", SCDA_TYPE_FLOAT64, numbers, 1, 1);
  CHECK (numbers[0] == 41);
  READ ("/", SCDA_LAST, "step", SCDA_TYPE_INT32, &number, 1, 1);
  CHECK (number == 41);
  number = missing;
  READ ("/", SCDA_LAST, "dt", SCDA_TYPE_INT32, &number, 1, 0);
  READ ("nothing", SCDA_LAST, "dt", SCDA_TYPE_INT32, &number, 1, 0);
  READ ("no/", SCDA_LAST, "dt", SCDA_TYPE_INT32, &number, 1, 0);
  READ ("rho", 2, "box", SCDA_TYPE_INT32, &number, 1, 0);
  CHECK (number == missing);
  CLOSE ();

  /* What does not fit: an error on all ranks. */
  static const struct { const char *of, *key; int type; uint64_t room; int want; const char *says; } wrong[] = {
    {"rho", "box", SCDA_TYPE_FLOAT64, 2, SCDA_ERR_ARG, "rho: attribute \"box\": found 3 values, expected at most 2"},
    {"rho", "box", SCDA_TYPE_INT32, 3, SCDA_ERR_ARG, NULL},
    {"rho", "steps", SCDA_TYPE_INT32, 2, SCDA_ERR_RANGE, NULL}, {"rho", "box", SCDA_TYPE_FLOAT32, 3, SCDA_ERR_RANGE, NULL},
    {"rho", "box", SCDA_TYPE_STRING, 40, SCDA_ERR_ARG, NULL}, {"/", "names", SCDA_TYPE_FLOAT64, 4, SCDA_ERR_ARG, NULL},
    {"/", "names", SCDA_TYPE_STRING, sizeof words - 1, SCDA_ERR_ARG, "bytes of text with the NUL after each, expected at most"}, {"/", "step", SCDA_TYPE_BOOL, 1, SCDA_ERR_ARG, "found 41, expected bool"},
    {"/", "step", SCDA_TYPE_COMPLEX64, 1, SCDA_ERR_ARG, NULL}, {"/", NULL, SCDA_TYPE_INT32, 1, SCDA_ERR_ARG, NULL},
    {NULL, "step", SCDA_TYPE_INT32, 1, SCDA_ERR_ARG, NULL}, {"rho/x//", "step", SCDA_TYPE_INT32, 1, SCDA_ERR_ARG, NULL},
  };
  for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; ++k) {
    char room[80];
    count = wrong[k].room;
    RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err));
    f = scda_fread_attribute (f, wrong[k].of, SCDA_LAST, wrong[k].key, wrong[k].type, room, &count, &err);
    CHECK (f == NULL && err == wrong[k].want);
    CHECK (wrong[k].says == NULL || strstr (scda_last_error_message (), wrong[k].says) != NULL);
  }
  RIGHT (scda_fopen_append (g.comm, name, NULL, NULL, NULL, &err));
  f = scda_fset_attribute (f, "rho", 5, "time", SCDA_TYPE_FLOAT64, &x, 1, &err);
  CHECK (f == NULL && err == SCDA_ERR_NOT_FOUND);
  RIGHT (scda_fopen_append (g.comm, name, NULL, NULL, NULL, &err));
  count = 1;
  f = scda_fread_attribute (f, "rho", 0, "time", SCDA_TYPE_FLOAT64, numbers, &count, &err);
  CHECK (f == NULL && err == SCDA_ERR_USAGE && strstr (scda_last_error_message (), "also open it with scda_fopen_read") != NULL);
}

/* The same in a text, by each rank alone. */
static void in_a_text (void) {
  const float x = 0.1f;
  float y = 0;
  const int n[2] = {-1, 2};
  char json[80] = "", units[8] = "";
  uint64_t count = 1;
  int err = -1;
  CHECK (scda_set_attribute (json, sizeof json, "x", SCDA_TYPE_FLOAT32, &x, 1, &err) == 0 && err == 0);
  CHECK (scda_set_attribute (json, sizeof json, "n", SCDA_TYPE_INT32, n, 2, &err) == 0);
  CHECK (scda_set_attribute (json, sizeof json, "units", SCDA_TYPE_STRING, "m", 1, &err) == 0);
  CHECK (scda_set_attribute (json, sizeof json, "n", SCDA_TYPE_INT32, n, 1, &err) == 0);
  CHECK (strcmp (json, "{\"x\":0.10000000149011612,\"n\":-1,\"units\":\"m\"}") == 0);
  CHECK (scda_set_attribute (json, strlen (json) + 1, "units", SCDA_TYPE_STRING, "mm", 1, &err) < 0 && err == SCDA_ERR_ARG);
  CHECK (scda_set_attribute (json, strlen (json) + 1, "units", SCDA_TYPE_STRING, "s", 1, &err) == 0);
  CHECK (scda_set_attribute (json, sizeof json, "units", SCDA_TYPE_STRING, "\xff", 1, &err) < 0 && err == SCDA_ERR_ARG);
  CHECK (scda_set_attribute (NULL, 9, "a", SCDA_TYPE_INT32, n, 1, &err) < 0 && scda_set_attribute (json, 80, NULL, SCDA_TYPE_INT32, n, 1, &err) < 0);
  CHECK (scda_set_attribute (json, 80, "scda_name", SCDA_TYPE_INT32, n, 1, &err) < 0 && scda_set_attribute (json, 80, "a", 0, n, 1, &err) < 0);
  CHECK (scda_get_attribute (json, "x", SCDA_TYPE_FLOAT32, &y, &count, &err) == 0 && count == 1 && y == x);
  count = sizeof units;
  CHECK (scda_get_attribute (json, "units", SCDA_TYPE_STRING, units, &count, &err) == 0 && count == 2 && strcmp (units, "s") == 0);
  CHECK (scda_get_attribute (NULL, "x", SCDA_TYPE_FLOAT32, &y, &count, &err) == 0 && count == 0);
  CHECK (scda_get_attribute ("{\"n\": 3.0}", "n", SCDA_TYPE_FLOAT32, &y, NULL, &err) < 0 && err == SCDA_ERR_ARG);
  CHECK (scda_get_attribute ("[]", "n", SCDA_TYPE_FLOAT32, &y, &count, &err) < 0 && err == SCDA_ERR_FORMAT);
  char no_json[40] = "units";
  CHECK (scda_set_attribute (no_json, sizeof no_json, "n", SCDA_TYPE_FLOAT32, &y, 1, &err) < 0 && err == SCDA_ERR_ARG);
  CHECK (strstr (scda_last_error_message (), "attributes: found \"units\", expected a JSON object") != NULL);
  int32_t whole = 0;
  count = 1;
  CHECK (scda_get_attribute ("{\"n\": 3.0}", "n", SCDA_TYPE_INT32, &whole, &count, &err) == 0 && whole == 3);
  CHECK (scda_get_attribute ("{\"n\": \"NaN\"}", "n", SCDA_TYPE_FLOAT32, &y, &count, &err) == 0 && y != y);
  CHECK (scda_get_attribute ("{\"n\": [[1]]}", "n", SCDA_TYPE_FLOAT32, &y, &count, &err) < 0 && err == SCDA_ERR_ARG);
}

/* All attributes of a text, one by one. */
static void listed (void) {
  static const char all[] = "{\"b\": true, \"i\": [1, -2], \"u\": 18446744073709551615, \"x\": [1, 0.5, \"NaN\"], \"units\": \"\xc3\xa5\", "
                            "\"texts\": [\"a\", \"bcd\"], \"none\": [], \"o\": {\"p\": 1}, \"z\": null, \"odd\": [1, \"a\"], \"name\": \"NaN\", "
                            "\"scda_types\": {\"name\": \"string\"}}";
  static const struct {
    const char *key;
    int type;
  } expected[] = {{"b", SCDA_TYPE_BOOL}, {"i", SCDA_TYPE_INT64}, {"u", SCDA_TYPE_UINT64}, {"x", SCDA_TYPE_FLOAT64}, {"units", SCDA_TYPE_STRING},
                  {"texts", SCDA_TYPE_STRING}, {"none", SCDA_TYPE_FLOAT64}, {"o", 0}, {"z", 0}, {"odd", 0}, {"name", SCDA_TYPE_STRING}, {"scda_types", 0}};
  char keys[64], values[64];
  const char *key = keys;
  uint64_t bytes = 0, number = 0, room, i;
  int types[16], err = -1;
  CHECK (scda_list_attributes (all, NULL, &bytes, NULL, &number, &err) == 0 && err == 0);
  REQUIRE (bytes <= sizeof keys && number == sizeof expected / sizeof *expected);
  CHECK (scda_list_attributes (all, keys, &bytes, types, &number, &err) == 0 && err == 0);
  for (i = 0; i < number; ++i, key += strlen (key) + 1) {
    room = sizeof values;
    CHECK (strcmp (key, expected[i].key) == 0 && types[i] == expected[i].type);
    CHECK (types[i] == 0 || scda_get_attribute (all, key, types[i], types[i] == SCDA_TYPE_STRING ? values : NULL, &room, &err) == 0);
  }
  CHECK (key == keys + bytes);
  --bytes;
  CHECK (scda_list_attributes (all, keys, &bytes, types, &number, &err) == -1 && err == SCDA_ERR_ARG);
  CHECK (strstr (scda_last_error_message (), "keys: found room for ") != NULL);
  --number;
  CHECK (scda_list_attributes (all, keys, &bytes, types, &number, &err) == -1 && err == SCDA_ERR_ARG);
  CHECK (scda_list_attributes (NULL, keys, &bytes, types, &number, &err) == 0 && bytes == 0 && number == 0);
  CHECK (scda_list_attributes ("", keys, &bytes, types, &number, &err) == 0 && number == 0);
  CHECK (scda_list_attributes ("[]", keys, &bytes, types, &number, &err) == -1 && err == SCDA_ERR_FORMAT);
  CHECK (scda_list_attributes (all, keys, NULL, types, &number, &err) == -1 && err == SCDA_ERR_ARG);
}

/* Writes the steps from `first` to `last`, and commits all at once. */
static void write_steps (const scda_params_t *params, int first, int last, int want_new) {
  scda_fcontext_t *f;
  int err, is_new = 7;
  RIGHT (scda_fopen_append_or_create (g.comm, name, "a series", NULL, params, &is_new, &err));
  CHECK (is_new == want_new);
  for (int step = first; step <= last; ++step) {
    const double time = step, rho[2] = {time, -time};
    RIGHT (scda_fwrite_field (f, "time", SCDA_TYPE_FLOAT64, &time, g.rank == 0, 1, SCDA_ENCODE_NONE, &err));
    RIGHT (scda_fwrite_field (f, "flow/rho", SCDA_TYPE_FLOAT64, rho, 1, 2, step % 2 ? SCDA_ENCODE_ALWAYS : SCDA_ENCODE_NONE, &err));
  }
  CLOSE ();
}

/* The last step, when there are as many records of both names as steps. */
static double last_step (int64_t steps, uint64_t age) {
  scda_fcontext_t *f;
  scda_dataset_t d;
  scda_params_t params = default_params ();
  scda_info_t info = {0};
  double time = -1;
  int err, found;
  info.size = sizeof info, params.keep = age > 0 ? 2 : 0;
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, &params, &err));
  CHECK (scda_get_info (f, &info) == 0 && info.age == age);
  scda_dataset_init (&d);
  RIGHT (scda_ffind_dataset (f, "flow/rho", steps, &found, &d, &err));
  CHECK (!found);
  RIGHT (scda_ffind_dataset (f, "flow/rho", steps - 1, &found, &d, &err));
  CHECK (found);
  RIGHT (scda_ffind_dataset (f, "time", SCDA_LAST, &found, &d, &err));
  RIGHT (scda_fread_dataset (f, &d, &time, 1, NULL, NULL, &err));
  CLOSE ();
  return time;
}

/* A series that is begun, continued, and rolled back to steps that were not committed by themselves. */
static void series (void) {
  scda_params_t params = default_params ();
  int err;
  write_steps (NULL, 0, 5, 1);
  write_steps (NULL, 6, 9, 0);
  CHECK ((int) last_step (10, 0) == 9);
  params.append_name = "time", params.append_record = 7;
  write_steps (&params, 8, 8, 0);
  CHECK ((int) last_step (9, 0) == 8);
  params.append_record = -6;
  write_steps (&params, 104, 104, 0);
  CHECK ((int) last_step (5, 0) == 104);
  params.append_record = 5;
  scda_fcontext_t *f = scda_fopen_append (g.comm, name, NULL, NULL, &params, &err);
  CHECK (f == NULL && err == SCDA_ERR_NOT_FOUND);
  f = scda_fopen_write (g.comm, name, "", NULL, &params, &err);
  CHECK (f == NULL && err == SCDA_ERR_ARG);
  params.append_name = "\xff";
  f = scda_fopen_append (g.comm, name, NULL, NULL, &params, &err);
  CHECK (f == NULL && err == SCDA_ERR_ARG);
  CHECK ((int) last_step (5, 0) == 104);
  barrier (g);
  if (g.rank == 0) { unlink (name); }
  barrier (g);
  params.append_name = "time";
  f = scda_fopen_append_or_create (g.comm, name, "", NULL, &params, NULL, &err);
  CHECK (f == NULL && err == SCDA_ERR_NO_SUCH_FILE);
}

/* A series each step of which replaces the file, with two older ones: torn or missing, the newest whole one is continued. */
static void series_with_older_files (void) {
  scda_params_t params = default_params ();
  params.seal = 1, params.atomic = 1, params.keep = 2;
  for (int step = 0; step < 4; ++step) { write_steps (&params, step, step, step == 0); }
  CHECK ((int) last_step (4, 0) == 3);
  for (int is_torn = 0; is_torn < 2; ++is_torn) {
    barrier (g);
    if (g.rank == 0) { CHECK ((is_torn ? truncate (name, 300) : unlink (name)) == 0); }
    barrier (g);
    CHECK ((int) last_step (is_torn ? 4 : 3, 1) == (is_torn ? 10 : 2));
    write_steps (&params, 10 + is_torn, 10 + is_torn, 0);
    CHECK ((int) last_step (is_torn ? 5 : 4, 0) == 10 + is_torn);
    if (!is_torn) { write_steps (&params, 12, 12, 0); }
  }
  barrier (g);
  for (int age = 1; g.rank == 0 && age < 4; ++age) {
    char older[1300];
    snprintf (older, sizeof older, "%.*s.%d.scda", (int) strlen (name) - 5, name, age);
    unlink (older);
  }
}

static volatile sig_atomic_t calls;

static void of_program (int signal) {
  (void) signal;
  ++calls;
}

/* A signal that one rank gets is a stop of all; the handler of the program stays. */
static void stops (void) {
  int err = -1;
  CHECK (scda_stop_requested (g.comm, &err) == 0 && err == 0);
  signal (SIGUSR1, of_program);
  CHECK (scda_stop_watch (0, 0, &err) == 0 && err == 0);
  CHECK (scda_stop_watch (1 << 20, 0, &err) < 0 && err == SCDA_ERR_ARG);
  CHECK (scda_stop_watch (0, -1, &err) < 0 && err == SCDA_ERR_ARG && scda_stop_watch (0, NAN, NULL) < 0);
  CHECK (scda_stop_requested (g.comm, NULL) == 0);
  CHECK (scda_stop_watch (SCDA_STOP_XCPU + SCDA_STOP_INT, g.rank == 0 ? 3600 : 0, &err) == 0);
  CHECK (scda_stop_requested (g.comm, &err) == 0 && calls == 0);
  if (g.rank == g.size - 1) { raise (SIGUSR1); }
  CHECK (scda_stop_requested (g.comm, &err) == 1 && err == 0);
  CHECK (calls == (g.rank == g.size - 1));
  CHECK (scda_stop_requested (SCDA_COMM_SELF, &err) == (g.rank == g.size - 1));
  /* A deadline of any rank. */
  CHECK (scda_stop_watch (0, g.rank == 0 ? 1e-9 : 0, &err) == 0);
  CHECK (scda_stop_requested (g.comm, &err) == 1);
}

/* Fields that another version of the program has written. Rank r has r + 1 elements. */
static void versions (void) {
  const uint64_t n = (uint64_t) g.rank + 1;
  const int last = SCDA_FIELD_FOUND | SCDA_FIELD_RENAMED | SCDA_FIELD_CONVERTED | SCDA_FIELD_COMPONENTS;
  float *old = calloc (3 * n, sizeof *old);
  double *now = calloc (4 * n, sizeof *now);
  int64_t large[1] = { (int64_t) 1 << 40 };
  int32_t whole = 7;
  int err, found = -1;
  scda_fcontext_t *f;
  REQUIRE (old != NULL && now != NULL);
  for (uint64_t k = 0; k < 3 * n; ++k) { old[k] = (float) (100 * g.rank) + (float) k; }
  RIGHT (scda_fopen_write (g.comm, name, "an old version", NULL, NULL, &err));
  RIGHT (scda_fwrite_field (f, "u", SCDA_TYPE_FLOAT32, old, n, 3, SCDA_ENCODE_ALWAYS, &err));
  RIGHT (scda_fwrite_field (f, "p", SCDA_TYPE_FLOAT32, old, n, 1, SCDA_ENCODE_NONE, &err));
  RIGHT (scda_fwrite_field (f, "large", SCDA_TYPE_INT64, large, g.rank == 0, 1, SCDA_ENCODE_NONE, &err));
  CLOSE ();
#define FIELD(of, before, type, data, count, components, expected) do { \
    RIGHT (scda_fread_field (f, of, before, SCDA_LAST, type, data, count, components, &found, &err)); \
    CHECK (found == (expected)); \
  } while (0)
#define IS(at, expected) CHECK (now[at] >= (expected) && now[at] <= (expected))
  RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err));
  for (uint64_t k = 0; k < 4 * n; ++k) { now[k] = -1; }
  FIELD ("density", "rho", SCDA_TYPE_FLOAT64, now, n, 1, 0);
  FIELD ("density", NULL, SCDA_TYPE_FLOAT64, now, n, 1, 0);
  for (uint64_t k = 0; k < 4 * n; ++k) { IS (k, -1); }
  FIELD ("velocity", "u", SCDA_TYPE_FLOAT64, now, n, 4, last);
  for (uint64_t k = 0; k < 4 * n; ++k) { IS (k, k % 4 == 3 ? -1 : (double) old[k / 4 * 3 + k % 4]); }
  FIELD ("u", "p", SCDA_TYPE_FLOAT64, now, n, 2, SCDA_FIELD_FOUND | SCDA_FIELD_CONVERTED | SCDA_FIELD_COMPONENTS);
  for (uint64_t k = 0; k < 2 * n; ++k) { IS (k, (double) old[k / 2 * 3 + k % 2]); }
  FIELD ("p", NULL, SCDA_TYPE_FLOAT64, now, n, 2, SCDA_FIELD_FOUND | SCDA_FIELD_CONVERTED | SCDA_FIELD_COMPONENTS);
  for (uint64_t k = 0; k < n; ++k) { IS (2 * k, (double) old[k]); }
  FIELD ("u", NULL, SCDA_TYPE_FLOAT32, old, n, 3, SCDA_FIELD_FOUND);
  /* another partition, of which all is on one rank */
  const uint64_t all = (uint64_t) g.size * ((uint64_t) g.size + 1) / 2, mine = g.rank + 1 == g.size ? all : 0;
  double *whole_field = calloc (all, sizeof *whole_field);
  FIELD ("p", NULL, SCDA_TYPE_FLOAT64, mine > 0 ? whole_field : NULL, mine, 1, SCDA_FIELD_FOUND | SCDA_FIELD_CONVERTED);
  if (mine > 0) { CHECK ((int) whole_field[all - 1] == 100 * g.rank + g.rank); }
  CLOSE ();
  const struct { const char *of; int type; void *data; uint64_t count, components; int want; } wrong[] = {
    { "u", SCDA_TYPE_FLOAT64, now, n + 1, 2, SCDA_ERR_ARG }, { "u", SCDA_TYPE_FLOAT64, NULL, n, 1, SCDA_ERR_ARG },
    { "u", SCDA_TYPE_FLOAT64, now, n, 0, SCDA_ERR_ARG }, { "u", SCDA_TYPE_COMPLEX64, now, n, 1, SCDA_ERR_ARG },
    { "u", SCDA_TYPE_STRUCT, now, n, 1, SCDA_ERR_ARG }, { "large", SCDA_TYPE_INT32, &whole, g.rank == 0, 1, SCDA_ERR_RANGE },
  };
  for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; ++k) {
    RIGHT (scda_fopen_read (g.comm, name, NULL, NULL, NULL, &err));
    f = scda_fread_field (f, wrong[k].of, NULL, SCDA_LAST, wrong[k].type, wrong[k].data, wrong[k].count, wrong[k].components, &found, &err);
    CHECK (f == NULL && err == wrong[k].want);
  }
  free (whole_field), free (now), free (old);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  g = world ();
  snprintf (name, sizeof name, "%s/restart-%d.scda", argv[1], g.size);
  attributes ();
  in_a_text ();
  listed ();
  barrier (g);
  if (g.rank == 0) { unlink (name); }
  barrier (g);
  versions ();
  barrier (g);
  if (g.rank == 0) { unlink (name); }
  barrier (g);
  series ();
  series_with_older_files ();
  stops ();
  barrier (g);
  if (g.rank == 0) { unlink (name); }
  return finish ();
}
