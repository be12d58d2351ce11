/* The table of ioctl requests. Numbers and structures: the kernel's headers, linux/ and asm/. */
#include "linux/calls/ioctl.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <linux/blkpg.h>
#include <linux/blkzoned.h>
#include <linux/cdrom.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/hdreg.h>
#include <linux/i2c-dev.h>
#include <linux/if_tun.h>
#include <linux/input.h>
#include <linux/kd.h>
#include <linux/loop.h>
#include <linux/msdos_fs.h>
#include <linux/nsfs.h>
#include <linux/random.h>
#include <linux/rtc.h>
#include <linux/serial.h>
#include <linux/timerfd.h>
#include <linux/vt.h>
#include <linux/watchdog.h>
#include <mtd/mtd-user.h>

/* The guest's number of what <linux/ioctl.h> of the host makes: other bits for none, read and write, and another size. */
#define DIRECTION(HOST) ((HOST) >> 30 == 0 ? 1u : ((HOST) >> 30 & 2u) | ((HOST) >> 30 & 1u) << 2)
#define GUEST_NUMBER(HOST, SIZE) (DIRECTION((uint32_t)(HOST)) << 29 | (uint32_t)(SIZE) << 16 | ((uint32_t)(HOST)&0xffffu))
#define HOST_SIZE(HOST) ((uint32_t)(HOST) >> 16 & 0x3fffu)

#define FULL(NUMBER, HOST, NAME, ARGUMENT, LAYOUT) {NUMBER, (uint32_t)(HOST), NAME, MR_IOCTL_##ARGUMENT, LAYOUT, NULL}
/* As <linux/ioctl.h> makes it; the argument's size is the same on both sides. */
#define ROW(NAME, ARGUMENT, LAYOUT) FULL(GUEST_NUMBER(NAME, HOST_SIZE(NAME)), NAME, #NAME, ARGUMENT, LAYOUT)
/* The same with another size of the argument for the guest, which has a long in it. */
#define SIZED(NAME, SIZE, ARGUMENT, LAYOUT) FULL(GUEST_NUMBER(NAME, SIZE), NAME, #NAME, ARGUMENT, LAYOUT)
/* A number that is the same everywhere. */
#define SAME(NAME, ARGUMENT, LAYOUT) FULL((uint32_t)(NAME), NAME, #NAME, ARGUMENT, LAYOUT)
/* A number of MIPS's own. */
#define OWN(NUMBER, NAME, ARGUMENT, LAYOUT) FULL(NUMBER, NAME, #NAME, ARGUMENT, LAYOUT)
#define BODY(NUMBER, NAME, FUNCTION) {NUMBER, (uint32_t)(NAME), #NAME, MR_IOCTL_BODY, NULL, FUNCTION}
#define AS(NUMBER, NAME, HOST, FUNCTION) {NUMBER, (uint32_t)(HOST), NAME, MR_IOCTL_BODY, NULL, FUNCTION}
#define MADE(NAME, FUNCTION) AS(GUEST_NUMBER(NAME, HOST_SIZE(NAME)), #NAME, NAME, FUNCTION)

/* Those of newer kernels than the host's headers may be from. */
#ifndef EPIOCSPARAMS
#define EPIOCSPARAMS _IOW(0x8a, 0x01, uint64_t)
#define EPIOCGPARAMS _IOR(0x8a, 0x02, uint64_t)
#endif
#ifndef LOOP_CONFIGURE
#define LOOP_CONFIGURE 0x4C0A
#endif
#define INOTIFY_IOC_SETNEXTWD _IOW('I', 0, int32_t)
#define LOOP_INFO "w3u4w64b32b2u4b" /* the first two device numbers are an unsigned int for the guest */
#define LOOP_INFO64 "5q4w160b2q"
#define RTC_TIME "9w"

const struct mr_ioctl_row mr_ioctl_rows[] = {
    /* ---- any descriptor ---- */
    OWN(0x467f, FIONREAD, OUT, "w"),
    OWN(0x667e, FIONBIO, IN, "w"),
    OWN(0x667d, FIOASYNC, IN, "w"),
    OWN(0x6601, FIOCLEX, NONE, NULL),
    OWN(0x6602, FIONCLEX, NONE, NULL),
    OWN(0x667f, FIOQSIZE, OUT, "q"),
    ROW(FIBMAP, INOUT, "w"),
    ROW(FIGETBSZ, OUT, "w"),
    ROW(EPIOCSPARAMS, IN, "wh2b"),
    ROW(EPIOCGPARAMS, OUT, "wh2b"),
    ROW(TFD_IOC_SET_TICKS, IN, "q"),
    ROW(INOTIFY_IOC_SETNEXTWD, VALUE, NULL),
    ROW(NS_GET_USERNS, NONE, NULL),
    ROW(NS_GET_PARENT, NONE, NULL),
    ROW(NS_GET_NSTYPE, NONE, NULL),
    ROW(NS_GET_OWNER_UID, OUT, "w"),

    /* ---- terminals ---- */
    AS(0x540d, "TCGETS", TCGETS2, mr_ioctl_termios),
    BODY(0x540e, TCSETS, mr_ioctl_termios),
    BODY(0x540f, TCSETSW, mr_ioctl_termios),
    BODY(0x5410, TCSETSF, mr_ioctl_termios),
    AS(0x4030542a, "TCGETS2", TCGETS2, mr_ioctl_termios2),
    AS(0x8030542b, "TCSETS2", TCSETS2, mr_ioctl_termios2),
    AS(0x8030542c, "TCSETSW2", TCSETSW2, mr_ioctl_termios2),
    AS(0x8030542d, "TCSETSF2", TCSETSF2, mr_ioctl_termios2),
    AS(0x5401, "TCGETA", TCGETS2, mr_ioctl_termio),
    AS(0x5402, "TCSETA", TCSETS, mr_ioctl_termio),
    AS(0x5403, "TCSETAW", TCSETSW, mr_ioctl_termio),
    AS(0x5404, "TCSETAF", TCSETSF, mr_ioctl_termio),
    OWN(0x5405, TCSBRK, VALUE, NULL),
    OWN(0x5486, TCSBRKP, VALUE, NULL),
    OWN(0x5406, TCXONC, VALUE, NULL),
    OWN(0x5407, TCFLSH, VALUE, NULL),
    OWN(0x40087468, TIOCGWINSZ, OUT, "4h"),
    OWN(0x80087467, TIOCSWINSZ, IN, "4h"),
    OWN(0x40047477, TIOCGPGRP, OUT, "w"),
    OWN(0x80047476, TIOCSPGRP, IN, "w"),
    OWN(0x7416, TIOCGSID, OUT, "w"),
    OWN(0x5480, TIOCSCTTY, VALUE, NULL),
    OWN(0x5471, TIOCNOTTY, NONE, NULL),
    OWN(0x740d, TIOCEXCL, NONE, NULL),
    OWN(0x740e, TIOCNXCL, NONE, NULL),
    OWN(0x5427, TIOCSBRK, NONE, NULL),
    OWN(0x5428, TIOCCBRK, NONE, NULL),
    OWN(0x7472, TIOCOUTQ, OUT, "w"),
    OWN(0x5472, TIOCSTI, IN, "b"),
    OWN(0x5481, TIOCGSOFTCAR, OUT, "w"),
    OWN(0x5482, TIOCSSOFTCAR, IN, "w"),
    BODY(0x741d, TIOCMGET, mr_ioctl_modem),
    BODY(0x741a, TIOCMSET, mr_ioctl_modem),
    BODY(0x741b, TIOCMBIS, mr_ioctl_modem),
    BODY(0x741c, TIOCMBIC, mr_ioctl_modem),
    BODY(0x5491, TIOCMIWAIT, mr_ioctl_modem_wait),
    OWN(0x5492, TIOCGICOUNT, OUT, "20w"),
    OWN(0x7400, TIOCGETD, OUT, "w"),
    OWN(0x7401, TIOCSETD, IN, "w"),
    OWN(0x5484, TIOCGSERIAL, OUT, "8wh2bw2huhwu"),
    OWN(0x5485, TIOCSSERIAL, IN, "8wh2bw2huhwu"),
    OWN(0x548e, TIOCSERGETLSR, OUT, "w"),
    OWN(0x4020542e, TIOCGRS485, OUT, "8w"),
    OWN(0xc020542f, TIOCSRS485, INOUT, "8w"),
    OWN(0x80047478, TIOCCONS, NONE, NULL),
    OWN(0x5470, TIOCPKT, IN, "w"),
    OWN(0x40045430, TIOCGPTN, OUT, "w"),
    OWN(0x80045431, TIOCSPTLCK, IN, "w"),
    OWN(0x40045432, TIOCGDEV, OUT, "w"),
    OWN(0x5437, TIOCVHANGUP, NONE, NULL),
    OWN(0x40045438, TIOCGPKT, OUT, "w"),
    OWN(0x40045439, TIOCGPTLCK, OUT, "w"),
    OWN(0x40045440, TIOCGEXCL, OUT, "w"),
    BODY(0x20005441, TIOCGPTPEER, mr_ioctl_open_flags),
    BODY(0x80045436, TIOCSIG, mr_ioctl_signal),

    /* ---- consoles ---- */
    SAME(KDGETLED, OUT, "b"),
    SAME(KDSETLED, VALUE, NULL),
    SAME(KIOCSOUND, VALUE, NULL),
    SAME(KDMKTONE, VALUE, NULL),
    SAME(KDGKBTYPE, OUT, "b"),
    SAME(KDSETMODE, VALUE, NULL),
    SAME(KDGETMODE, OUT, "w"),
    SAME(GIO_CMAP, OUT, "48b"),
    SAME(PIO_CMAP, IN, "48b"),
    SAME(KDGKBMODE, OUT, "w"),
    SAME(KDSKBMODE, VALUE, NULL),
    SAME(KDGKBMETA, OUT, "w"),
    SAME(KDSKBMETA, VALUE, NULL),
    SAME(KDGKBLED, OUT, "b"),
    SAME(KDSKBLED, VALUE, NULL),
    SAME(KDGKBENT, INOUT, "2bh"),
    SAME(KDSKBENT, IN, "2bh"),
    SAME(KDGETKEYCODE, INOUT, "2w"),
    SAME(KDSETKEYCODE, IN, "2w"),
    BODY(KDSIGACCEPT, KDSIGACCEPT, mr_ioctl_signal),
    SAME(KDKBDREP, INOUT, "2w"),
    SAME(VT_OPENQRY, OUT, "w"),
    BODY(VT_GETMODE, VT_GETMODE, mr_ioctl_console_mode),
    BODY(VT_SETMODE, VT_SETMODE, mr_ioctl_console_mode),
    SAME(VT_GETSTATE, OUT, "3h"),
    SAME(VT_RELDISP, VALUE, NULL),
    SAME(VT_ACTIVATE, VALUE, NULL),
    SAME(VT_WAITACTIVE, VALUE, NULL),
    SAME(VT_DISALLOCATE, VALUE, NULL),
    SAME(VT_RESIZE, IN, "3h"),
    SAME(VT_LOCKSWITCH, VALUE, NULL),
    SAME(VT_UNLOCKSWITCH, VALUE, NULL),

    /* ---- file systems ---- */
    SIZED(FS_IOC_GETFLAGS, 4, OUT, "w"), /* the number says long, the kernel reads and writes an int */
    SIZED(FS_IOC_SETFLAGS, 4, IN, "w"),
    SIZED(FS_IOC_GETVERSION, 4, OUT, "w"),
    SIZED(FS_IOC_SETVERSION, 4, IN, "w"),
    MADE(FS_IOC_FIEMAP, mr_ioctl_extents),
    ROW(FS_IOC_FSGETXATTR, OUT, "5w8b"),
    ROW(FS_IOC_FSSETXATTR, IN, "5w8b"),
    ROW(FS_IOC_GETFSLABEL, OUT, "256b"),
    ROW(FS_IOC_SETFSLABEL, IN, "256b"),
    ROW(FICLONE, DESCRIPTOR, NULL),
    ROW(FICLONERANGE, IN_DESCRIPTOR, "4q"),
    MADE(FIDEDUPERANGE, mr_ioctl_dedupe),
    ROW(FIFREEZE, NONE, NULL),
    ROW(FITHAW, NONE, NULL),
    ROW(FITRIM, INOUT, "3q"),
    ROW(FAT_IOCTL_GET_ATTRIBUTES, OUT, "w"),
    ROW(FAT_IOCTL_SET_ATTRIBUTES, IN, "w"),
    ROW(FAT_IOCTL_GET_VOLUME_ID, OUT, "w"),

    /* ---- block devices ---- */
    ROW(BLKROSET, IN, "w"),
    ROW(BLKROGET, OUT, "w"),
    ROW(BLKRRPART, NONE, NULL),
    ROW(BLKGETSIZE, OUT, "u"),
    ROW(BLKFLSBUF, NONE, NULL),
    ROW(BLKRASET, VALUE, NULL),
    ROW(BLKRAGET, OUT, "u"),
    ROW(BLKFRASET, VALUE, NULL),
    ROW(BLKFRAGET, OUT, "u"),
    ROW(BLKSECTGET, OUT, "h"),
    ROW(BLKSSZGET, OUT, "w"),
    MADE(BLKPG, mr_ioctl_partition),
    SIZED(BLKBSZGET, 4, OUT, "w"), /* size_t in the number */
    SIZED(BLKBSZSET, 4, IN, "w"),
    SIZED(BLKGETSIZE64, 4, OUT, "q"),
    ROW(BLKDISCARD, IN, "2q"),
    ROW(BLKIOMIN, OUT, "w"),
    ROW(BLKIOOPT, OUT, "w"),
    ROW(BLKALIGNOFF, OUT, "w"),
    ROW(BLKPBSZGET, OUT, "w"),
    ROW(BLKDISCARDZEROES, OUT, "w"),
    ROW(BLKSECDISCARD, IN, "2q"),
    ROW(BLKROTATIONAL, OUT, "h"),
    ROW(BLKZEROOUT, IN, "2q"),
    ROW(BLKGETZONESZ, OUT, "w"),
    ROW(BLKGETNRZONES, OUT, "w"),
    SAME(HDIO_GETGEO, OUT, "2bhu"),
    SAME(HDIO_GET_32BIT, OUT, "u"),
    SAME(HDIO_GET_ACOUSTIC, OUT, "u"),
    SAME(HDIO_GET_DMA, OUT, "u"),
    SAME(HDIO_GET_MULTCOUNT, OUT, "u"),
    SAME(HDIO_GET_WCACHE, OUT, "u"),
    SAME(LOOP_SET_FD, DESCRIPTOR, NULL),
    SAME(LOOP_CLR_FD, NONE, NULL),
    SAME(LOOP_SET_STATUS, IN, LOOP_INFO),
    SAME(LOOP_GET_STATUS, OUT, LOOP_INFO),
    SAME(LOOP_SET_STATUS64, IN, LOOP_INFO64),
    SAME(LOOP_GET_STATUS64, OUT, LOOP_INFO64),
    SAME(LOOP_CHANGE_FD, DESCRIPTOR, NULL),
    SAME(LOOP_SET_CAPACITY, NONE, NULL),
    SAME(LOOP_SET_DIRECT_IO, VALUE, NULL),
    SAME(LOOP_SET_BLOCK_SIZE, VALUE, NULL),
    SAME(LOOP_CONFIGURE, IN_DESCRIPTOR, "2w" LOOP_INFO64 "8q"),
    SAME(LOOP_CTL_ADD, VALUE, NULL),
    SAME(LOOP_CTL_REMOVE, VALUE, NULL),
    SAME(LOOP_CTL_GET_FREE, NONE, NULL),
    SAME(CDROMPAUSE, NONE, NULL),
    SAME(CDROMRESUME, NONE, NULL),
    SAME(CDROMSTOP, NONE, NULL),
    SAME(CDROMSTART, NONE, NULL),
    SAME(CDROMREADTOCHDR, OUT, "2b"),
    SAME(CDROMEJECT, NONE, NULL),
    SAME(CDROMEJECT_SW, VALUE, NULL),
    SAME(CDROMCLOSETRAY, NONE, NULL),
    SAME(CDROM_SET_OPTIONS, VALUE, NULL),
    SAME(CDROM_CLEAR_OPTIONS, VALUE, NULL),
    SAME(CDROM_MEDIA_CHANGED, VALUE, NULL),
    SAME(CDROM_DRIVE_STATUS, VALUE, NULL),
    SAME(CDROM_DISC_STATUS, NONE, NULL),
    SAME(CDROM_LOCKDOOR, VALUE, NULL),
    SAME(CDROM_GET_CAPABILITY, NONE, NULL),

    /* ---- flash memory and buses of small machines ---- */
    ROW(MEMGETINFO, OUT, "b5wq"),
    ROW(MEMERASE, IN, "2w"),
    ROW(MEMLOCK, IN, "2w"),
    ROW(MEMUNLOCK, IN, "2w"),
    ROW(MEMGETREGIONCOUNT, OUT, "w"),
    ROW(MEMGETBADBLOCK, IN, "q"),
    ROW(MEMSETBADBLOCK, IN, "q"),
    ROW(MEMERASE64, IN, "2q"),
    ROW(MTDFILEMODE, VALUE, NULL),
    SAME(I2C_RETRIES, VALUE, NULL),
    SAME(I2C_TIMEOUT, VALUE, NULL),
    SAME(I2C_SLAVE, VALUE, NULL),
    SAME(I2C_SLAVE_FORCE, VALUE, NULL),
    SAME(I2C_TENBIT, VALUE, NULL),
    SAME(I2C_FUNCS, OUT, "u"),
    SAME(I2C_PEC, VALUE, NULL),
    ROW(WDIOC_GETSUPPORT, OUT, "2w32b"),
    ROW(WDIOC_GETSTATUS, OUT, "w"),
    ROW(WDIOC_GETBOOTSTATUS, OUT, "w"),
    ROW(WDIOC_GETTEMP, OUT, "w"),
    ROW(WDIOC_SETOPTIONS, IN, "w"), /* the number says that it is read */
    ROW(WDIOC_KEEPALIVE, NONE, NULL),
    ROW(WDIOC_SETTIMEOUT, INOUT, "w"),
    ROW(WDIOC_GETTIMEOUT, OUT, "w"),
    ROW(WDIOC_SETPRETIMEOUT, INOUT, "w"),
    ROW(WDIOC_GETPRETIMEOUT, OUT, "w"),
    ROW(WDIOC_GETTIMELEFT, OUT, "w"),

    /* ---- clocks ---- */
    ROW(RTC_AIE_ON, NONE, NULL),
    ROW(RTC_AIE_OFF, NONE, NULL),
    ROW(RTC_UIE_ON, NONE, NULL),
    ROW(RTC_UIE_OFF, NONE, NULL),
    ROW(RTC_PIE_ON, NONE, NULL),
    ROW(RTC_PIE_OFF, NONE, NULL),
    ROW(RTC_WIE_ON, NONE, NULL),
    ROW(RTC_WIE_OFF, NONE, NULL),
    ROW(RTC_ALM_SET, IN, RTC_TIME),
    ROW(RTC_ALM_READ, OUT, RTC_TIME),
    ROW(RTC_RD_TIME, OUT, RTC_TIME),
    ROW(RTC_SET_TIME, IN, RTC_TIME),
    SIZED(RTC_IRQP_READ, 4, OUT, "u"),
    SIZED(RTC_IRQP_SET, 4, VALUE, NULL),
    SIZED(RTC_EPOCH_READ, 4, OUT, "u"),
    SIZED(RTC_EPOCH_SET, 4, VALUE, NULL),
    ROW(RTC_WKALM_SET, IN, "2b" RTC_TIME),
    ROW(RTC_WKALM_RD, OUT, "2b" RTC_TIME),
    ROW(RTC_VL_READ, OUT, "w"),
    ROW(RTC_VL_CLR, NONE, NULL),

    /* ---- random numbers ---- */
    ROW(RNDGETENTCNT, OUT, "w"),
    ROW(RNDADDTOENTCNT, IN, "w"),
    MADE(RNDADDENTROPY, mr_ioctl_entropy),
    ROW(RNDZAPENTCNT, NONE, NULL),
    ROW(RNDCLEARPOOL, NONE, NULL),
    ROW(RNDRESEEDCRNG, NONE, NULL),

    /* ---- network tunnels: the numbers say int, the kernel reads a name and 16 bits of flags ---- */
    ROW(TUNSETIFF, INOUT, "16bh"),
    ROW(TUNGETIFF, OUT, "16bh"),
    ROW(TUNSETQUEUE, IN, "16bh"),
    ROW(TUNSETNOCSUM, VALUE, NULL),
    ROW(TUNSETDEBUG, VALUE, NULL),
    ROW(TUNSETPERSIST, VALUE, NULL),
    ROW(TUNSETOWNER, VALUE, NULL),
    ROW(TUNSETGROUP, VALUE, NULL),
    ROW(TUNSETLINK, VALUE, NULL),
    ROW(TUNGETFEATURES, OUT, "w"),
    ROW(TUNSETOFFLOAD, VALUE, NULL),
    ROW(TUNGETSNDBUF, OUT, "w"),
    ROW(TUNSETSNDBUF, IN, "w"),
    ROW(TUNGETVNETHDRSZ, OUT, "w"),
    ROW(TUNSETVNETHDRSZ, IN, "w"),
    ROW(TUNSETIFINDEX, IN, "w"),
    ROW(TUNSETVNETLE, IN, "w"),
    ROW(TUNGETVNETLE, OUT, "w"),

    /* ---- input devices: those of one size; the others are in ioctl_special.c ---- */
    ROW(EVIOCGVERSION, OUT, "w"),
    ROW(EVIOCGID, OUT, "4h"),
    ROW(EVIOCGREP, OUT, "2w"),
    ROW(EVIOCSREP, IN, "2w"),
    ROW(EVIOCGKEYCODE, INOUT, "2w"), /* the number says that it is read only */
    ROW(EVIOCSKEYCODE, IN, "2w"),
    ROW(EVIOCRMFF, VALUE, NULL),
    ROW(EVIOCGEFFECTS, OUT, "w"),
    ROW(EVIOCGRAB, VALUE, NULL),
    ROW(EVIOCREVOKE, VALUE, NULL),
    ROW(EVIOCSCLOCKID, IN, "w"),
};

const size_t mr_ioctl_row_count = sizeof mr_ioctl_rows / sizeof *mr_ioctl_rows;
