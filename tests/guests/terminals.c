/* Terminals: attributes, window sizes, job control, input modes, over a pseudo-terminal. */
#include "show.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

static void print_flags(const struct termios *t)
{
    printf("icrnl %d ixon %d brkint %d imaxbel %d opost %d onlcr %d cs8 %d cread %d hupcl %d\n", !!(t->c_iflag & ICRNL),
           !!(t->c_iflag & IXON), !!(t->c_iflag & BRKINT), !!(t->c_iflag & IMAXBEL), !!(t->c_oflag & OPOST),
           !!(t->c_oflag & ONLCR), (t->c_cflag & CSIZE) == CS8, !!(t->c_cflag & CREAD), !!(t->c_cflag & HUPCL));
    printf("isig %d icanon %d echo %d echoe %d echok %d noflsh %d tostop %d iexten %d echoctl %d echoke %d\n",
           !!(t->c_lflag & ISIG), !!(t->c_lflag & ICANON), !!(t->c_lflag & ECHO), !!(t->c_lflag & ECHOE),
           !!(t->c_lflag & ECHOK), !!(t->c_lflag & NOFLSH), !!(t->c_lflag & TOSTOP), !!(t->c_lflag & IEXTEN),
           !!(t->c_lflag & ECHOCTL), !!(t->c_lflag & ECHOKE));
    printf("intr %d quit %d erase %d kill %d eof %d time %d min %d start %d stop %d susp %d eol %d werase %d lnext %d\n",
           t->c_cc[VINTR], t->c_cc[VQUIT], t->c_cc[VERASE], t->c_cc[VKILL], t->c_cc[VEOF], t->c_cc[VTIME],
           t->c_cc[VMIN], t->c_cc[VSTART], t->c_cc[VSTOP], t->c_cc[VSUSP], t->c_cc[VEOL], t->c_cc[VWERASE],
           t->c_cc[VLNEXT]);
}

static void attributes(int master, int slave)
{
    struct termios terminal, changed;
    char text[64] = {0};
    SHOW(tcgetattr(slave, &terminal));
    print_flags(&terminal);
    printf("%d\n", cfgetospeed(&terminal) == B38400);
    SHOW(write(master, "line one\nrest", 13));
    SHOW(read(slave, text, sizeof text));
    printf("%s", text);
    cfmakeraw(&terminal);
    terminal.c_lflag |= TOSTOP | NOFLSH | IEXTEN;
    terminal.c_cc[VMIN] = 2;
    terminal.c_cc[VTIME] = 1;
    terminal.c_cc[VEOF] = 5;
    terminal.c_cc[VEOL] = 6;
    cfsetspeed(&terminal, B115200);
    SHOW(tcsetattr(slave, TCSANOW, &terminal));
    SHOW(tcgetattr(slave, &changed));
    print_flags(&changed);
    printf("%d\n", cfgetospeed(&changed) == B115200);
    int waiting;
    SHOW(ioctl(slave, FIONREAD, &waiting));
    printf("%d\n", waiting);
    SHOW(read(slave, text, 4));
    printf("%.4s\n", text);
    SHOW(tcflush(slave, TCIOFLUSH));
    SHOW(tcsetattr(slave, TCSAFLUSH, &terminal));
    SHOW(tcsetattr(slave, TCSADRAIN, &terminal));
    SHOW(tcdrain(slave));
    SHOW(tcflow(slave, TCOON));
    SHOW(tcsendbreak(slave, 0));
}

static void windows(int master, int slave)
{
    struct winsize size = {.ws_row = 25, .ws_col = 80, .ws_xpixel = 1, .ws_ypixel = 2}, got;
    SHOW(ioctl(slave, TIOCGWINSZ, &got));
    printf("%d %d\n", got.ws_row, got.ws_col);
    SHOW(ioctl(master, TIOCSWINSZ, &size));
    SHOW(ioctl(slave, TIOCGWINSZ, &got));
    printf("%d %d %d %d\n", got.ws_row, got.ws_col, got.ws_xpixel, got.ws_ypixel);
    SHOW(isatty(slave));
    SHOW(isatty(open("/dev/null", O_RDONLY)));
    SHOW(ioctl(slave, 0x12345678));
    SHOW(ioctl(99, TIOCGWINSZ, &got));
    SHOW(ioctl(99, 0x12345678));
    int one = 1, ends[2];
    pipe(ends);
    SHOW(ioctl(ends[0], FIONBIO, &one));
    SHOW(!!(fcntl(ends[0], F_GETFL) & O_NONBLOCK));
    SHOW(ioctl(ends[0], FIOCLEX));
    SHOW(fcntl(ends[0], F_GETFD));
    SHOW(ioctl(ends[0], FIONCLEX));
    SHOW(fcntl(ends[0], F_GETFD));
}

static volatile int interrupted;

static void on_interrupt(int number)
{
    interrupted = number;
}

static void jobs(int master, const char *name)
{
    fflush(stdout);
    if (fork() == 0) {
        SHOW(setsid() == getpid());
        int terminal = open(name, O_RDWR);
        SHOW(ioctl(terminal, TIOCSCTTY, 0));
        SHOW(tcgetsid(terminal) == getpid());
        SHOW(tcgetpgrp(terminal) == getpid());
        SHOW(tcsetpgrp(terminal, getpgrp()));
        struct termios settings;
        tcgetattr(terminal, &settings);
        settings.c_lflag |= ISIG;
        tcsetattr(terminal, TCSANOW, &settings);
        struct sigaction action = {.sa_handler = on_interrupt};
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
        char byte;
        write(master, "\003", 1);
        if (!interrupted) /* it may have come during the write already */
            read(terminal, &byte, 1);
        printf("%d\n", interrupted == SIGINT);
        fflush(stdout);
        _exit(0);
    }
    int status;
    wait(&status);
    printf("%d\n", status);
}

int main(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master)) {
        printf("no pseudo-terminals here\n");
        return 0;
    }
    const char *name = ptsname(master);
    int slave = open(name, O_RDWR | O_NOCTTY);
    printf("%d %d\n", strncmp(name, "/dev/pts/", 9), slave >= 0);
    attributes(master, slave);
    windows(master, slave);
    jobs(master, name);
    return 0;
}
