/* Updates in single precision. */
#define REAL  float
#define ROOT  sqrtf
#define LOOPS hp_update_f32
#include "run/optimizer/update.inc"
