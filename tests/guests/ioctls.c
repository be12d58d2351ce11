/* ioctl on terminals, files, block devices, tunnels, random numbers, consoles. Runs in an empty folder. */
#include "show.h"

#include <asm/termios.h>
#include <fcntl.h>
#include <linux/blkpg.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/hdreg.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/kd.h>
#include <linux/loop.h>
#include <linux/nsfs.h>
#include <linux/random.h>
#include <linux/rtc.h>
#include <linux/serial.h>
#include <linux/vt.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <unistd.h>

int ioctl(int, unsigned long, ...);
int posix_openpt(int), grantpt(int), unlockpt(int);

/* struct termio of the kernel, which the libc's headers have in another place. */
struct old_termio {
    unsigned short flags[4];
    unsigned char line, characters[31];
};

struct size {
    unsigned short rows, columns, width, height;
};

static void attributes(int slave)
{
    struct termios2 terminal;
    struct old_termio old;
    SHOW(ioctl(slave, TCGETS2, &terminal));
    printf("%x %x %x %x speeds %u %u intr %d eof %d min %d\n", terminal.c_iflag, terminal.c_oflag, terminal.c_cflag & ~CBAUD,
           !!(terminal.c_lflag & ICANON), terminal.c_ispeed, terminal.c_ospeed, terminal.c_cc[VINTR], terminal.c_cc[VEOF],
           terminal.c_cc[VMIN]);
    terminal.c_cflag = (terminal.c_cflag & ~CBAUD) | BOTHER;
    terminal.c_ispeed = terminal.c_ospeed = 12345;
    terminal.c_lflag &= ~(ICANON | ECHO);
    terminal.c_lflag |= TOSTOP | EXTPROC;
    terminal.c_cc[VMIN] = 3, terminal.c_cc[VTIME] = 4, terminal.c_cc[VLNEXT] = 7;
    SHOW(ioctl(slave, TCSETS2, &terminal));
    SHOW(ioctl(slave, TCSETSW2, &terminal));
    SHOW(ioctl(slave, TCSETSF2, &terminal));
    memset(&terminal, 0, sizeof terminal);
    SHOW(ioctl(slave, TCGETS2, &terminal));
    printf("speeds %u %u other %d canon %d echo %d tostop %d extproc %d min %d time %d next %d\n", terminal.c_ispeed,
           terminal.c_ospeed, (terminal.c_cflag & CBAUD) == BOTHER, !!(terminal.c_lflag & ICANON), !!(terminal.c_lflag & ECHO),
           !!(terminal.c_lflag & TOSTOP), !!(terminal.c_lflag & EXTPROC), terminal.c_cc[VMIN], terminal.c_cc[VTIME],
           terminal.c_cc[VLNEXT]);
    SHOW(ioctl(slave, TCGETA, &old));
    printf("%x %x isig %d icanon %d min %d\n", old.flags[0], old.flags[1], !!(old.flags[3] & ISIG), !!(old.flags[3] & ICANON),
           old.characters[VMIN]);
    old.flags[3] |= ICANON | ECHO;
    old.characters[VINTR] = 9;
    SHOW(ioctl(slave, TCSETA, &old));
    SHOW(ioctl(slave, TCSETAW, &old));
    SHOW(ioctl(slave, TCSETAF, &old));
    SHOW(ioctl(slave, TCGETS2, &terminal));
    printf("icanon %d tostop %d extproc %d intr %d\n", !!(terminal.c_lflag & ICANON), !!(terminal.c_lflag & TOSTOP),
           !!(terminal.c_lflag & EXTPROC), terminal.c_cc[VINTR]);
    SHOW(ioctl(slave, TCGETS2, BAD));
    SHOW(ioctl(slave, TCSETS2, BAD));
}

static void terminals(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), number = -1, value = 0;
    SHOW(ioctl(master, TIOCGPTLCK, &value));
    printf("%d\n", value);
    value = 0;
    SHOW(ioctl(master, TIOCSPTLCK, &value));
    SHOW(ioctl(master, TIOCGPTN, &number));
    printf("%d\n", number >= 0);
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    SHOW(fcntl(slave, F_GETFD));
    SHOW(!!(fcntl(slave, F_GETFL) & O_NONBLOCK));
    attributes(slave);
    struct size size = {1, 2, 3, 4}, got;
    SHOW(ioctl(master, TIOCSWINSZ, &size));
    SHOW(ioctl(slave, TIOCGWINSZ, &got));
    printf("%d %d %d %d\n", got.rows, got.columns, got.width, got.height);
    SHOW(ioctl(slave, TIOCGWINSZ, BAD));
    value = 1;
    SHOW(ioctl(master, TIOCPKT, &value));
    value = 7;
    SHOW(ioctl(master, TIOCGPKT, &value));
    printf("%d\n", value);
    SHOW(ioctl(slave, TIOCEXCL));
    SHOW(ioctl(slave, TIOCGEXCL, &value));
    printf("%d\n", value);
    SHOW(ioctl(slave, TIOCNXCL));
    SHOW(ioctl(slave, TIOCGETD, &value));
    printf("%d\n", value);
    SHOW(ioctl(slave, TIOCMGET, &value));
    SHOW(ioctl(slave, TIOCGSOFTCAR, &value));
    SHOW(ioctl(slave, TIOCSTI, "") == -1 || 1);
    SHOW(ioctl(slave, TIOCGPGRP, &value));
    SHOW(ioctl(slave, TIOCSPGRP, &value));
    SHOW(ioctl(slave, TIOCGSID, &value));
    SHOW(ioctl(slave, TIOCOUTQ, &value));
    SHOW(ioctl(master, TIOCSIG, 12345));
    SHOW(ioctl(slave, TCXONC, 3));
    SHOW(ioctl(slave, TCXONC, 99));
    SHOW(ioctl(slave, TCFLSH, 99));
    SHOW(ioctl(slave, 0x54fe));
    SHOW(ioctl(99, 0x54fe));
    int line = open("/dev/ttyS0", O_RDWR | O_NOCTTY | O_NONBLOCK), bits = 0;
    struct serial_struct serial = {0};
    if (SHOW(ioctl(line, TIOCMGET, &bits)) == 0)
        printf("lines %d %d %d %d %d\n", !!(bits & 2), !!(bits & 4), !!(bits & TIOCM_CTS), !!(bits & TIOCM_DSR), !!(bits & TIOCM_CAR));
    if (SHOW(ioctl(line, TIOCGSERIAL, &serial)) == 0)
        printf("%d %d %x %d %d %d\n", serial.type, serial.line, serial.port, serial.irq, serial.baud_base, serial.close_delay);
}

static void any_descriptor(void)
{
    int ends[2], value = 1, file = open("file", O_RDWR | O_CREAT, 0600);
    long long wide = 0;
    pipe(ends);
    write(ends[1], "abc", 3);
    SHOW(ioctl(ends[0], FIONREAD, &value));
    printf("%d\n", value);
    SHOW(ioctl(ends[0], FIONREAD, BAD));
    SHOW(ioctl(ends[0], FIOASYNC, &value));
    SHOW(!!(fcntl(ends[0], F_GETFL) & O_ASYNC));
    SHOW(ioctl(ends[0], FIONBIO, &value));
    SHOW(!!(fcntl(ends[0], F_GETFL) & O_NONBLOCK));
    ftruncate(file, 5000);
    SHOW(ioctl(file, FIOQSIZE, &wide));
    printf("%lld\n", wide);
    SHOW(ioctl(file, FIGETBSZ, &value));
    printf("%d\n", value);
    SHOW(ioctl(open("/proc/self/ns/uts", O_RDONLY), NS_GET_NSTYPE) == CLONE_NEWUTS);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    uint64_t ticks = 7;
    SHOW(ioctl(timer, _IOW('T', 0, uint64_t), &ticks)); /* TFD_IOC_SET_TICKS */
    ticks = 0;
    SHOW(read(timer, &ticks, 8));
    printf("%d\n", (int)ticks);
}

static void files(void)
{
    int file = open("file", O_RDWR | O_CREAT, 0600), other = open("other", O_RDWR | O_CREAT, 0600), flags = -1;
    struct {
        struct fiemap head;
        struct fiemap_extent extents[4];
    } map = {.head = {.fm_length = FIEMAP_MAX_OFFSET, .fm_flags = FIEMAP_FLAG_SYNC, .fm_extent_count = 4}};
    static char block[8192];
    pwrite(file, block, sizeof block, 0);
    pwrite(file, block, sizeof block, 65536);
    SHOW(ioctl(file, FS_IOC_GETFLAGS, &flags));
    int old = flags;
    flags |= FS_NOATIME_FL;
    SHOW(ioctl(file, FS_IOC_SETFLAGS, &flags));
    flags = 0;
    SHOW(ioctl(file, FS_IOC_GETFLAGS, &flags));
    printf("%x\n", flags ^ old);
    SHOW(ioctl(file, FS_IOC_GETVERSION, &flags));
    SHOW(ioctl(file, FS_IOC_FIEMAP, &map));
    printf("%u extents\n", map.head.fm_mapped_extents);
    for (unsigned i = 0; i < map.head.fm_mapped_extents && i < 4; i++)
        printf("at %llu, %llu bytes, flags %x, somewhere %d\n", (unsigned long long)map.extents[i].fe_logical,
               (unsigned long long)map.extents[i].fe_length, map.extents[i].fe_flags, map.extents[i].fe_physical > 0);
    struct fsxattr attributes = {0};
    SHOW(ioctl(file, FS_IOC_FSGETXATTR, &attributes));
    printf("%x %x\n", attributes.fsx_xflags, attributes.fsx_projid);
    char label[256] = {0};
    SHOW(ioctl(file, FS_IOC_GETFSLABEL, label));
    SHOW(ioctl(other, FICLONE, file));
    const struct file_clone_range range = {file, 0, 4096, 0};
    SHOW(ioctl(other, FICLONERANGE, &range));
    struct {
        struct file_dedupe_range head;
        struct file_dedupe_range_info info[2];
    } dedupe = {.head = {.src_length = 4096, .dest_count = 2}, .info = {{.dest_fd = other}, {.dest_fd = 99}}};
    SHOW(ioctl(file, FIDEDUPERANGE, &dedupe));
    printf("%d %d\n", -dedupe.info[0].status, -dedupe.info[1].status == EBADF);
    SHOW(ioctl(file, BLKGETSIZE64, &dedupe));
    struct fstrim_range trim = {.len = 4096, .minlen = ~0ull};
    SHOW(ioctl(file, FITRIM, &trim));
}

static void ask_block_device(int device)
{
    unsigned long sectors = 0, ahead = 0;
    unsigned long long size = 0;
    unsigned number = 0;
    int value = 0;
    unsigned short half = 0;
    SHOW(ioctl(device, BLKGETSIZE, &sectors));
    SHOW(ioctl(device, BLKGETSIZE64, &size));
    printf("%lu %llu\n", sectors, size);
    SHOW(ioctl(device, BLKSSZGET, &value));
    printf("%d\n", value);
    SHOW(ioctl(device, BLKBSZGET, &value));
    value = 1024;
    SHOW(ioctl(device, BLKBSZSET, &value));
    SHOW(ioctl(device, BLKBSZGET, &value));
    printf("%d\n", value);
    SHOW(ioctl(device, BLKRASET, 64));
    SHOW(ioctl(device, BLKRAGET, &ahead));
    printf("%lu\n", ahead);
    SHOW(ioctl(device, BLKIOMIN, &number));
    printf("%u\n", number);
    SHOW(ioctl(device, BLKPBSZGET, &number));
    printf("%u\n", number);
    SHOW(ioctl(device, BLKALIGNOFF, &value));
    printf("%d\n", value);
    SHOW(ioctl(device, BLKROTATIONAL, &half));
    SHOW(ioctl(device, BLKSECTGET, &half));
    printf("%d\n", half > 0);
    value = 1;
    SHOW(ioctl(device, BLKROSET, &value));
    value = 0;
    SHOW(ioctl(device, BLKROGET, &value));
    printf("%d\n", value);
    value = 0;
    SHOW(ioctl(device, BLKROSET, &value));
    SHOW(ioctl(device, BLKFLSBUF));
    const uint64_t piece[2] = {4096, 8192}, odd[2] = {1, 2};
    SHOW(ioctl(device, BLKZEROOUT, piece));
    SHOW(ioctl(device, BLKZEROOUT, odd));
    SHOW(ioctl(device, BLKDISCARD, odd));
    struct hd_geometry geometry = {0};
    SHOW(ioctl(device, HDIO_GETGEO, &geometry));
    struct blkpg_partition partition = {.start = 1 << 20, .length = 1 << 20, .pno = 1};
    struct blkpg_ioctl_arg request = {.op = BLKPG_ADD_PARTITION, .datalen = sizeof partition, .data = &partition};
    SHOW(ioctl(device, BLKPG, &request));
    request.op = BLKPG_DEL_PARTITION;
    SHOW(ioctl(device, BLKPG, &request));
    request.op = 99;
    SHOW(ioctl(device, BLKPG, &request));
}

static void block_devices(void)
{
    int control = open("/dev/loop-control", O_RDWR), file = open("image", O_RDWR | O_CREAT, 0600);
    int number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
    char name[32];
    snprintf(name, sizeof name, "/dev/loop%d", number);
    int device = number < 0 ? -1 : open(name, O_RDWR);
    if (device < 0) {
        printf("no loop devices here\n");
        return;
    }
    ftruncate(file, 4 << 20);
    struct loop_config config = {.fd = file, .info = {.lo_offset = 4096, .lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_PARTSCAN}};
    strcpy((char *)config.info.lo_file_name, "a name");
    SHOW(ioctl(device, LOOP_CONFIGURE, &config));
    struct loop_info64 wide = {0};
    struct loop_info narrow = {0};
    struct stat status;
    fstat(file, &status);
    SHOW(ioctl(device, LOOP_GET_STATUS64, &wide));
    printf("%d %d %llu %llu %d %s\n", wide.lo_inode == status.st_ino, wide.lo_device == makedev(major(status.st_dev), minor(status.st_dev)),
           (unsigned long long)wide.lo_offset, (unsigned long long)wide.lo_sizelimit, wide.lo_flags, wide.lo_file_name);
    SHOW(ioctl(device, LOOP_GET_STATUS, &narrow));
    printf("%d %d %d %d %s\n", narrow.lo_number == number, narrow.lo_inode == status.st_ino, narrow.lo_offset, narrow.lo_flags,
           narrow.lo_name);
    wide.lo_sizelimit = 3 << 20;
    SHOW(ioctl(device, LOOP_SET_STATUS64, &wide));
    ask_block_device(device);
    SHOW(ioctl(device, LOOP_SET_BLOCK_SIZE, 4097));
    SHOW(ioctl(device, LOOP_SET_DIRECT_IO, 0));
    SHOW(ioctl(device, LOOP_SET_CAPACITY));
    SHOW(ioctl(device, LOOP_CLR_FD));
    close(device);
}

static void others(void)
{
    int random = open("/dev/random", O_RDWR), bits = 0, value = 0;
    struct {
        int bits, bytes;
        unsigned char data[8];
    } pool = {0, 8, "1234567"};
    SHOW(ioctl(random, RNDGETENTCNT, &bits));
    printf("%d\n", bits >= 0);
    SHOW(ioctl(random, RNDADDENTROPY, &pool));
    SHOW(ioctl(random, RNDADDTOENTCNT, &value));
    pool.bytes = -1;
    SHOW(ioctl(random, RNDADDENTROPY, &pool));
    SHOW(ioctl(random, RNDRESEEDCRNG));
    int tunnel = open("/dev/net/tun", O_RDWR);
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strcpy(request.ifr_name, "mipsrec%d");
    if (unshare(CLONE_NEWNET) == 0 && tunnel >= 0) {
        unsigned features = 0;
        SHOW(ioctl(tunnel, TUNGETFEATURES, &features));
        printf("%d\n", !!(features & IFF_TAP));
        SHOW(ioctl(tunnel, TUNSETIFF, &request));
        printf("%s\n", request.ifr_name);
        memset(&request, 0, sizeof request);
        SHOW(ioctl(tunnel, TUNGETIFF, &request));
        printf("%s %d\n", request.ifr_name, !!(request.ifr_flags & IFF_TAP));
        value = 12;
        SHOW(ioctl(tunnel, TUNSETVNETHDRSZ, &value));
        value = 0;
        SHOW(ioctl(tunnel, TUNGETVNETHDRSZ, &value));
        printf("%d\n", value);
    }
    int console = open("/dev/tty0", O_RDWR | O_NOCTTY);
    if (console >= 0) {
        struct vt_mode mode = {0};
        struct vt_stat state = {0};
        struct kbentry entry = {0, 30, 0};
        char type = 0;
        SHOW(ioctl(console, KDGETMODE, &value));
        printf("%d\n", value);
        SHOW(ioctl(console, KDGKBMODE, &value));
        printf("%d\n", value);
        SHOW(ioctl(console, KDGKBTYPE, &type));
        printf("%d\n", type);
        SHOW(ioctl(console, KDGKBENT, &entry));
        printf("%x\n", entry.kb_value);
        SHOW(ioctl(console, VT_GETSTATE, &state));
        printf("%d\n", state.v_active > 0);
        SHOW(ioctl(console, VT_GETMODE, &mode));
        printf("%d %d\n", mode.mode, mode.relsig);
    }
    struct rtc_time time;
    SHOW(ioctl(open("/dev/rtc0", O_RDONLY), RTC_RD_TIME, &time));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    terminals();
    any_descriptor();
    files();
    block_devices();
    others();
    return 0;
}
