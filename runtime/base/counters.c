/* The map of counters. */
#include "base/counters.h"

uint8_t *mr_counter_map;
bool mr_counting, mr_comparing, mr_noting;
