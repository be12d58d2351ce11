/* The lock of what all guest threads share. */
#ifndef MR_BASE_LOCK_H
#define MR_BASE_LOCK_H

/* What all threads share and change: the guest's mappings and heap, its signal actions, remembered limits, the list of
 * threads, modules and translated code. No guest memory may be accessed while a thread holds it: a fault would abandon the
 * frame that has it. Reading one page's bits, dispatch entry or pointer to a page takes no lock. */
void mr_lock(void);
void mr_unlock(void);

#endif
