/* A ring of packets that the kernel and the program share: needs members in the kernel's byte order. */
#include "show.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

int main(void)
{
    int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP)), version = TPACKET_V2, udp = socket(AF_INET, SOCK_DGRAM, 0);
    struct tpacket_req ring = {4096, 4, 2048, 8};
    struct sockaddr_in address = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_ll on = {AF_PACKET, htons(ETH_P_IP), 1};
    socklen_t size = sizeof address;
    SHOW(setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version));
    if (SHOW(setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring)))
        return 1;
    char *frames = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    bind(fd, (void *)&on, sizeof on), bind(udp, (void *)&address, size), getsockname(udp, (void *)&address, &size);
    sendto(udp, "through a ring", 14, 0, (void *)&address, size);
    struct pollfd polled = {fd, POLLIN, 0};
    SHOW(poll(&polled, 1, 5000));
    for (int i = 0; i < 8; i++) {
        struct tpacket2_hdr *header = (void *)(frames + 2048 * i);
        char *text = (char *)header + header->tp_net + 28;
        if (header->tp_status & TP_STATUS_USER && header->tp_len == 42 && !memcmp(text, "through", 7)) {
            printf("%u %.14s\n", header->tp_snaplen, text);
            break;
        }
    }
    return 0;
}
