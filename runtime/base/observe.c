/* The table of those who look on while the guest runs: empty when nobody does. */
#include "base/observe.h"

struct mr_observe mr_observe;
bool mr_verifying, mr_debugging, mr_sampling, mr_samples_held;
_Atomic bool mr_growth_due;
