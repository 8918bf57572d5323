/* Updates in double precision. */
#define REAL  double
#define ROOT  sqrt
#define LOOPS hp_update_f64
#include "run/optimizer/update.inc"
