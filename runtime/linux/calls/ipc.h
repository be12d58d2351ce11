/* What the files of System V IPC share: the calls by their names, and by the one old call that stands for all (sys_ipc.c).
 *
 * Structures are those of o32 with IPC_64 (asm/ipcbuf.h, sembuf.h, msgbuf.h, shmbuf.h of MIPS). Numbers of objects and keys
 * are the host's, so guests and other programs find each other's objects.
 */
#ifndef MR_IPC_H
#define MR_IPC_H

#include "linux/abi.h"

#include <linux/ipc.h>
#include <stdint.h>

/* Begins a status, the rest of which is zero; returns where it is, or NULL. */
uint8_t *mr_put_ipc_perm(uint32_t guest, uint32_t status_bytes, const struct ipc64_perm *perm);
/* Reads what IPC_SET looks at: 0 or -EFAULT. */
int mr_get_ipc_perm(uint32_t guest, uint32_t status_bytes, struct ipc64_perm *perm);

int64_t mr_semctl(int id, int number, int command, uint32_t argument);
int64_t mr_semtimedop(int id, uint32_t operations, uint32_t count, uint32_t timeout, enum mr_time_width width);
int64_t mr_msgctl(int id, int command, uint32_t argument);
int64_t mr_msgsnd(int id, uint32_t message, uint32_t size_bytes, int flags);
int64_t mr_msgrcv(int id, uint32_t message, uint32_t size_bytes, int32_t type, int flags);
int64_t mr_shmctl(int id, int command, uint32_t argument);
int64_t mr_shmat(int id, uint32_t guest, int flags); /* the address, or -errno */
int64_t mr_shmdt(uint32_t guest);

#endif
