/* Load and store handlers for any processor. */
#define NAME(x) x##_baseline
#include "sim/exec/access_body.h"
