/* The marks of executed instructions. */
#include "base/marks.h"

uint8_t *mr_marks;
