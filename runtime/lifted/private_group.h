/* Whether a group is the user's alone. The launcher (runtime/launcher) has this, too. */
#ifndef MR_PRIVATE_GROUP_H
#define MR_PRIVATE_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

bool mr_group_is_private(gid_t group); /* of the user of this process, who is in it alone */
/* Whether a file or folder may have an access control list: then the group's rights may be others', too. */
bool mr_has_access_list(const char *path);

#endif
