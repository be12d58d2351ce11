/* Whose files are trusted with the code of this process. The launcher (runtime/launcher) has this, too. */
#ifndef MR_THIS_USER_H
#define MR_THIS_USER_H

#include <stdbool.h>
#include <sys/types.h>

#define MR_OVERFLOW_ID 65534u /* stands for all users, or groups, that have no number here */

bool mr_is_this_user(uid_t user);      /* whether this process is that user, has been from its start, and is nobody else */
bool mr_is_trusted_owner(uid_t owner); /* root, or that */

#endif
