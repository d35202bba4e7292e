/* scda.h stands alone: CMakeLists.txt compiles this in several languages, every warning an error. */
#include <scda.h>

int main (void) { return scda_feof ((scda_fcontext_t *) 0) == 0; }
