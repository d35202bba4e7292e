/* scda.h stands alone: CMakeLists.txt compiles this in several languages, every warning an error. */
#include <scda.h>

int main (void) {
  const size_t len = 1;
  int err;
  scda_fcontext_t *f = scda_fopen_write (SCDA_COMM_SELF, "header.scda", "!", &len, NULL, &err);
  return scda_fclose (f, &err);
}
