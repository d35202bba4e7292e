/* The functions of libxsmm that PyFR's OpenMP backend calls, without compiled kernels: for machines that have none of a version that PyFR takes. */
#include <stdlib.h>
#include <string.h>

typedef struct {
  int type, m, n, k, ldb, ldc;
  double alpha, beta, a[];
} kernel_t;

void libxsmm_init (void) {}
void libxsmm_finalize (void) {}
unsigned long long libxsmm_timer_tick (void) { return 0; }

void *libxsmm_fsspmdm_create (int type, int m, int n, int k, int lda, int ldb, int ldc, const void *alpha, const void *beta, const void *a,
                              int is_nontemporal, void *tick) {
  kernel_t *one = type == 0 ? malloc (sizeof *one + sizeof (double) * (size_t) m * (size_t) k) : NULL;
  (void) is_nontemporal, (void) tick;
  if (one == NULL) { return NULL; }
  one->type = type, one->m = m, one->n = n, one->k = k, one->ldb = ldb, one->ldc = ldc;
  one->alpha = *(const double *) alpha, one->beta = *(const double *) beta;
  for (int i = 0; i < m; ++i) { memcpy (one->a + (size_t) i * (size_t) k, (const double *) a + (size_t) i * (size_t) lda, sizeof (double) * (size_t) k); }
  return one;
}

void libxsmm_fsspmdm_execute (const void *what, const double *b, double *c) {
  const kernel_t *one = what;
  for (int i = 0; i < one->m; ++i) {
    double *row = c + (size_t) i * (size_t) one->ldc;
    for (int j = 0; j < one->n; ++j) { row[j] = one->beta == 0 ? 0 : row[j]; }
    for (int l = 0; l < one->k; ++l) {
      const double factor = one->alpha * one->a[i * one->k + l];
      for (int j = 0; j < one->n; ++j) { row[j] += factor * b[(size_t) l * (size_t) one->ldb + (size_t) j]; }
    }
  }
}

void libxsmm_fsspmdm_destroy (void *one) { free (one); }
