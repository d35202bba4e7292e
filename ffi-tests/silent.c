/* Each large allocation fails in its turn, among them those of libdeflate, whose wrapper panics: an error is returned, and nothing is
 * written to standard error.
 *
 *   silent DIR */
#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <sys/stat.h>

#if defined __GLIBC__

extern void *__libc_malloc (size_t bytes);

static int left = -1; /* of the large ones, until one fails */

/* In place of the C library's, for all code of this process. What the library only tries to allocate is larger. */
void *malloc (size_t bytes) {
  if (left >= 0 && bytes >= (32 << 10) && bytes < (1 << 20) && left-- == 0) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_malloc (bytes);
}

enum { bytes = 300000, most = 60 };

int main (int argc, char **argv) {
  static char data[bytes];
  char path[1000], printed[1000];
  struct stat about;
  int of_libdeflate = 0, failed = 0, n;
  start (&argc, &argv);
  REQUIRE (argc == 2);
  const group_t g = world ();
  snprintf (path, sizeof path, "%s/silent.scda", argv[1]);
  snprintf (printed, sizeof printed, "%s/silent.txt", argv[1]);
  uint64_t rng = 1;
  for (int i = 0; i < bytes; ++i) { data[i] = (char) below (&rng, 20); }
  const int terminal = dup (2);
  REQUIRE (freopen (printed, "w", stderr) != NULL);
  for (n = 0; n < most; ++n) {
    scda_params_t params = default_params ();
    params.driver = SCDA_DRIVER_POSIX;
    int err, closed = SCDA_SUCCESS;
    left = -1;
    scda_fcontext_t *f = scda_fopen_write (g.comm, path, "silent", NULL, &params, &err);
    left = n;
    f = scda_fwrite_block (f, data, bytes, "all", NULL, 0, SCDA_ENCODE_ALWAYS, &err);
    const int has_failed = left < 0;
    left = -1;
    if (f != NULL) { scda_fclose (f, &closed); }
    if (!has_failed) { break; }
    failed += err == SCDA_ERR_MEMORY;
    of_libdeflate += strstr (scda_last_error_message (), "libdeflate's compressor") != NULL;
  }
  fflush (stderr);
  REQUIRE (stat (printed, &about) == 0);
  dup2 (terminal, 2);
  CHECK (about.st_size == 0);
  CHECK (n < most && failed > 0 && of_libdeflate > 0);
  return finish ();
}

#else

int main (void) { return 77; }

#endif
