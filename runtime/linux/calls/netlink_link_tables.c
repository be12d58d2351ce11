/* Attributes of network devices: those of RTM_*LINK. Sources: linux/if_link.h, and linux/veth.h for the peer of a pair.
 *
 * Rows are for numbers and structures in the byte order of the machine. Attributes without a row are bytes: names, hardware
 * and IP addresses, and what is in network order, such as the ports of tunnels.
 */
#include "linux/calls/netlink.h"

#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <stddef.h>

#define END {MR_NETLINK_END, NULL, NULL}
#define ROWS(name) static const struct mr_netlink_attribute name[]
#define SCHEMA(name, ...) static const struct mr_netlink_schema name = {__VA_ARGS__}
#define IFINFOMSG "2bh3w"

/* ---- kinds of devices ---- */

SCHEMA(all_words, .others = {0, "w", NULL});

ROWS(vlan_rows) = {{IFLA_VLAN_ID, "h", NULL}, {IFLA_VLAN_FLAGS, "2w", NULL}, {IFLA_VLAN_EGRESS_QOS, NULL, &all_words},
                   {IFLA_VLAN_INGRESS_QOS, NULL, &all_words}, END};
ROWS(macvlan_rows) = {{IFLA_MACVLAN_MODE, "w", NULL}, {IFLA_MACVLAN_FLAGS, "h", NULL},
                      {IFLA_MACVLAN_MACADDR_MODE, "w", NULL}, {IFLA_MACVLAN_MACADDR_COUNT, "w", NULL},
                      {IFLA_MACVLAN_BC_QUEUE_LEN, "w", NULL}, {IFLA_MACVLAN_BC_QUEUE_LEN_USED, "w", NULL}, END};
ROWS(ipvlan_rows) = {{IFLA_IPVLAN_MODE, "h", NULL}, {IFLA_IPVLAN_FLAGS, "h", NULL}, END};
ROWS(vrf_rows) = {{IFLA_VRF_TABLE, "w", NULL}, END};
ROWS(veth_rows) = {{1 /* VETH_INFO_PEER */, IFINFOMSG, &mr_netlink_link}, END};
ROWS(tun_rows) = {{IFLA_TUN_OWNER, "w", NULL}, {IFLA_TUN_GROUP, "w", NULL}, {IFLA_TUN_NUM_QUEUES, "w", NULL},
                  {IFLA_TUN_NUM_DISABLED_QUEUES, "w", NULL}, END};
ROWS(tunnel_rows) = {{IFLA_IPTUN_LINK, "w", NULL}, {IFLA_IPTUN_FLAGS, "h", NULL}, {IFLA_IPTUN_6RD_PREFIXLEN, "h", NULL},
                     {IFLA_IPTUN_6RD_RELAY_PREFIXLEN, "h", NULL}, {IFLA_IPTUN_ENCAP_TYPE, "h", NULL},
                     {IFLA_IPTUN_ENCAP_FLAGS, "h", NULL}, {IFLA_IPTUN_FWMARK, "w", NULL}, END};
ROWS(tunnel6_rows) = {{IFLA_IPTUN_LINK, "w", NULL}, {IFLA_IPTUN_FLAGS, "w", NULL}, {IFLA_IPTUN_ENCAP_TYPE, "h", NULL},
                      {IFLA_IPTUN_ENCAP_FLAGS, "h", NULL}, {IFLA_IPTUN_FWMARK, "w", NULL}, END};
ROWS(gre_rows) = {{IFLA_GRE_LINK, "w", NULL}, {IFLA_GRE_FLAGS, "w", NULL}, {IFLA_GRE_ENCAP_TYPE, "h", NULL},
                  {IFLA_GRE_ENCAP_FLAGS, "h", NULL}, {IFLA_GRE_FWMARK, "w", NULL}, {IFLA_GRE_ERSPAN_INDEX, "w", NULL},
                  {IFLA_GRE_ERSPAN_HWID, "h", NULL}, END};
ROWS(vti_rows) = {{IFLA_VTI_LINK, "w", NULL}, {IFLA_VTI_FWMARK, "w", NULL}, END};
ROWS(xfrm_rows) = {{IFLA_XFRM_LINK, "w", NULL}, {IFLA_XFRM_IF_ID, "w", NULL}, END};
ROWS(vxlan_rows) = {{IFLA_VXLAN_ID, "w", NULL}, {IFLA_VXLAN_LINK, "w", NULL}, {IFLA_VXLAN_AGEING, "w", NULL},
                    {IFLA_VXLAN_LIMIT, "w", NULL}, END};
ROWS(geneve_rows) = {{IFLA_GENEVE_ID, "w", NULL}, END};
ROWS(hsr_rows) = {{IFLA_HSR_SLAVE1, "w", NULL}, {IFLA_HSR_SLAVE2, "w", NULL}, {IFLA_HSR_SEQ_NR, "h", NULL}, END};

ROWS(bridge_rows) = {
    {IFLA_BR_FORWARD_DELAY, "w", NULL}, {IFLA_BR_HELLO_TIME, "w", NULL}, {IFLA_BR_MAX_AGE, "w", NULL},
    {IFLA_BR_AGEING_TIME, "w", NULL}, {IFLA_BR_STP_STATE, "w", NULL}, {IFLA_BR_PRIORITY, "h", NULL},
    {IFLA_BR_GROUP_FWD_MASK, "h", NULL}, {IFLA_BR_ROOT_PORT, "h", NULL}, {IFLA_BR_ROOT_PATH_COST, "w", NULL},
    {IFLA_BR_HELLO_TIMER, "d", NULL}, {IFLA_BR_TCN_TIMER, "d", NULL}, {IFLA_BR_TOPOLOGY_CHANGE_TIMER, "d", NULL},
    {IFLA_BR_GC_TIMER, "d", NULL}, {IFLA_BR_MCAST_HASH_ELASTICITY, "w", NULL}, {IFLA_BR_MCAST_HASH_MAX, "w", NULL},
    {IFLA_BR_MCAST_LAST_MEMBER_CNT, "w", NULL}, {IFLA_BR_MCAST_STARTUP_QUERY_CNT, "w", NULL},
    {IFLA_BR_MCAST_LAST_MEMBER_INTVL, "d", NULL}, {IFLA_BR_MCAST_MEMBERSHIP_INTVL, "d", NULL},
    {IFLA_BR_MCAST_QUERIER_INTVL, "d", NULL}, {IFLA_BR_MCAST_QUERY_INTVL, "d", NULL},
    {IFLA_BR_MCAST_QUERY_RESPONSE_INTVL, "d", NULL}, {IFLA_BR_MCAST_STARTUP_QUERY_INTVL, "d", NULL},
    {IFLA_BR_VLAN_DEFAULT_PVID, "h", NULL}, {IFLA_BR_MULTI_BOOLOPT, "2w", NULL}, END,
};

ROWS(bond_info_rows) = {{5 /* the partner's address */, NULL, NULL}, END};
SCHEMA(bond_info, .rows = bond_info_rows, .others = {0, "h", NULL});
ROWS(bond_rows) = {
    {IFLA_BOND_ACTIVE_SLAVE, "w", NULL}, {IFLA_BOND_MIIMON, "w", NULL}, {IFLA_BOND_UPDELAY, "w", NULL},
    {IFLA_BOND_DOWNDELAY, "w", NULL}, {IFLA_BOND_ARP_INTERVAL, "w", NULL}, {IFLA_BOND_ARP_VALIDATE, "w", NULL},
    {IFLA_BOND_ARP_ALL_TARGETS, "w", NULL}, {IFLA_BOND_PRIMARY, "w", NULL}, {IFLA_BOND_RESEND_IGMP, "w", NULL},
    {IFLA_BOND_MIN_LINKS, "w", NULL}, {IFLA_BOND_LP_INTERVAL, "w", NULL}, {IFLA_BOND_PACKETS_PER_SLAVE, "w", NULL},
    {IFLA_BOND_AD_INFO, NULL, &bond_info}, {IFLA_BOND_AD_ACTOR_SYS_PRIO, "h", NULL},
    {IFLA_BOND_AD_USER_PORT_KEY, "h", NULL}, {IFLA_BOND_PEER_NOTIF_DELAY, "w", NULL}, END,
};

#define KIND(name, table) static const struct mr_netlink_schema name = {.rows = table}
KIND(vlan, vlan_rows);
KIND(macvlan, macvlan_rows);
KIND(ipvlan, ipvlan_rows);
KIND(vrf, vrf_rows);
KIND(veth, veth_rows);
KIND(tun, tun_rows);
KIND(tunnel, tunnel_rows);
KIND(tunnel6, tunnel6_rows);
KIND(gre, gre_rows);
KIND(vti, vti_rows);
KIND(xfrm, xfrm_rows);
KIND(vxlan, vxlan_rows);
KIND(geneve, geneve_rows);
KIND(hsr, hsr_rows);
KIND(bridge, bridge_rows);
KIND(bond, bond_rows);

ROWS(bond_port_rows) = {{IFLA_BOND_SLAVE_LINK_FAILURE_COUNT, "w", NULL}, {IFLA_BOND_SLAVE_QUEUE_ID, "h", NULL},
                        {IFLA_BOND_SLAVE_AD_AGGREGATOR_ID, "h", NULL},
                        {IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE, "h", NULL},
                        {9 /* IFLA_BOND_SLAVE_PRIO */, "w", NULL}, END};
ROWS(bridge_port_rows) = {
    {IFLA_BRPORT_PRIORITY, "h", NULL}, {IFLA_BRPORT_COST, "w", NULL}, {IFLA_BRPORT_DESIGNATED_PORT, "h", NULL},
    {IFLA_BRPORT_DESIGNATED_COST, "h", NULL}, {IFLA_BRPORT_ID, "h", NULL}, {IFLA_BRPORT_NO, "h", NULL},
    {IFLA_BRPORT_MESSAGE_AGE_TIMER, "d", NULL}, {IFLA_BRPORT_FORWARD_DELAY_TIMER, "d", NULL},
    {IFLA_BRPORT_HOLD_TIMER, "d", NULL}, {IFLA_BRPORT_GROUP_FWD_MASK, "h", NULL}, {IFLA_BRPORT_BACKUP_PORT, "w", NULL},
    {IFLA_BRPORT_MCAST_EHT_HOSTS_LIMIT, "w", NULL}, {IFLA_BRPORT_MCAST_EHT_HOSTS_CNT, "w", NULL}, END,
};
ROWS(vrf_port_rows) = {{IFLA_VRF_PORT_TABLE, "w", NULL}, END};
KIND(bond_port, bond_port_rows);
KIND(bridge_port, bridge_port_rows);
KIND(vrf_port, vrf_port_rows);

#define DEVICE(name, schema) {IFLA_INFO_KIND, name, {0, NULL, schema}}
#define PORT(name, schema) {IFLA_INFO_SLAVE_KIND, name, {0, NULL, schema}}
static const struct mr_netlink_kind kinds[] = {
    DEVICE("vlan", &vlan), DEVICE("macvlan", &macvlan), DEVICE("macvtap", &macvlan), DEVICE("ipvlan", &ipvlan),
    DEVICE("ipvtap", &ipvlan), DEVICE("vrf", &vrf), DEVICE("veth", &veth), DEVICE("tun", &tun), DEVICE("ipip", &tunnel),
    DEVICE("sit", &tunnel), DEVICE("ip6tnl", &tunnel6), DEVICE("gre", &gre), DEVICE("gretap", &gre),
    DEVICE("ip6gre", &gre), DEVICE("ip6gretap", &gre), DEVICE("erspan", &gre), DEVICE("ip6erspan", &gre),
    DEVICE("vti", &vti), DEVICE("vti6", &vti), DEVICE("xfrm", &xfrm), DEVICE("vxlan", &vxlan), DEVICE("geneve", &geneve),
    DEVICE("hsr", &hsr), DEVICE("bridge", &bridge), DEVICE("bond", &bond), PORT("bond", &bond_port),
    PORT("bridge", &bridge_port), PORT("vrf", &vrf_port), {0, NULL, {0, NULL, NULL}},
};

/* ---- a device ---- */

SCHEMA(link_info, .kinds = kinds, .name_types = 1u << IFLA_INFO_KIND | 1u << IFLA_INFO_SLAVE_KIND);

ROWS(inet_rows) = {{IFLA_INET_CONF, "*w", NULL}, END};
ROWS(inet6_rows) = {{IFLA_INET6_FLAGS, "w", NULL}, {IFLA_INET6_CONF, "*w", NULL}, {IFLA_INET6_STATS, "*d", NULL},
                    {IFLA_INET6_CACHEINFO, "4w", NULL}, {IFLA_INET6_ICMP6STATS, "*d", NULL},
                    {IFLA_INET6_RA_MTU, "w", NULL}, END};
KIND(inet, inet_rows);
KIND(inet6, inet6_rows);
ROWS(family_rows) = {{2 /* AF_INET */, NULL, &inet}, {10 /* AF_INET6 */, NULL, &inet6}, END};
KIND(by_family, family_rows);

ROWS(xdp_rows) = {{IFLA_XDP_FD, "w", NULL}, {IFLA_XDP_FLAGS, "w", NULL}, {IFLA_XDP_PROG_ID, "w", NULL},
                  {IFLA_XDP_DRV_PROG_ID, "w", NULL}, {IFLA_XDP_SKB_PROG_ID, "w", NULL},
                  {IFLA_XDP_HW_PROG_ID, "w", NULL}, {IFLA_XDP_EXPECTED_FD, "w", NULL}, END};
KIND(xdp, xdp_rows);

SCHEMA(vf_stats, .others = {0, "d", NULL});
ROWS(vf_rows) = {{IFLA_VF_MAC, "w32b", NULL}, {IFLA_VF_VLAN, "3w", NULL}, {IFLA_VF_TX_RATE, "2w", NULL},
                 {IFLA_VF_SPOOFCHK, "2w", NULL}, {IFLA_VF_LINK_STATE, "2w", NULL}, {IFLA_VF_RATE, "3w", NULL},
                 {IFLA_VF_RSS_QUERY_EN, "2w", NULL}, {IFLA_VF_STATS, NULL, &vf_stats}, {IFLA_VF_TRUST, "2w", NULL}, END};
KIND(vf, vf_rows);
SCHEMA(vf_list, .others = {0, NULL, &vf});

ROWS(down_reason_rows) = {{1, "w", NULL}, {2, "w", NULL}, END};
KIND(down_reason, down_reason_rows);
SCHEMA(properties, .others = {0, NULL, NULL}); /* names */

ROWS(link_rows) = {
    {IFLA_MTU, "w", NULL}, {IFLA_LINK, "w", NULL}, {IFLA_STATS, "*w", NULL}, {IFLA_COST, "w", NULL},
    {IFLA_PRIORITY, "w", NULL}, {IFLA_MASTER, "w", NULL}, {IFLA_TXQLEN, "w", NULL},
    {IFLA_MAP, "3dh6b", NULL}, {IFLA_WEIGHT, "w", NULL}, {IFLA_LINKINFO, NULL, &link_info},
    {IFLA_NET_NS_PID, "w", NULL}, {IFLA_NUM_VF, "w", NULL}, {IFLA_VFINFO_LIST, NULL, &vf_list},
    {IFLA_STATS64, "*d", NULL}, {IFLA_AF_SPEC, NULL, &by_family}, {IFLA_GROUP, "w", NULL}, {IFLA_NET_NS_FD, "w", NULL},
    {IFLA_EXT_MASK, "w", NULL}, {IFLA_PROMISCUITY, "w", NULL}, {IFLA_NUM_TX_QUEUES, "w", NULL},
    {IFLA_NUM_RX_QUEUES, "w", NULL}, {IFLA_CARRIER_CHANGES, "w", NULL}, {IFLA_LINK_NETNSID, "w", NULL},
    {IFLA_GSO_MAX_SEGS, "w", NULL}, {IFLA_GSO_MAX_SIZE, "w", NULL}, {IFLA_XDP, NULL, &xdp}, {IFLA_EVENT, "w", NULL},
    {IFLA_NEW_NETNSID, "w", NULL}, {IFLA_TARGET_NETNSID, "w", NULL}, {IFLA_CARRIER_UP_COUNT, "w", NULL},
    {IFLA_CARRIER_DOWN_COUNT, "w", NULL}, {IFLA_NEW_IFINDEX, "w", NULL}, {IFLA_MIN_MTU, "w", NULL},
    {IFLA_MAX_MTU, "w", NULL}, {IFLA_PROP_LIST, NULL, &properties}, {IFLA_PROTO_DOWN_REASON, NULL, &down_reason},
    {IFLA_GRO_MAX_SIZE, "w", NULL}, {IFLA_TSO_MAX_SIZE, "w", NULL}, {IFLA_TSO_MAX_SEGS, "w", NULL},
    {IFLA_ALLMULTI, "w", NULL}, {63 /* IFLA_GSO_IPV4_MAX_SIZE */, "w", NULL}, {64 /* IFLA_GRO_IPV4_MAX_SIZE */, "w", NULL},
    {66 /* IFLA_MAX_PACING_OFFLOAD_HORIZON */, "d", NULL}, END,
};
const struct mr_netlink_schema mr_netlink_link = {.rows = link_rows};

/* ---- a device as its bridge sees it: messages of AF_BRIDGE ---- */

ROWS(bridge_spec_rows) = {{0 /* IFLA_BRIDGE_FLAGS */, "h", NULL}, {1 /* IFLA_BRIDGE_MODE */, "h", NULL},
                          {2 /* IFLA_BRIDGE_VLAN_INFO */, "2h", NULL}, END};
KIND(bridge_spec, bridge_spec_rows);
ROWS(bridge_link_rows) = {{IFLA_AF_SPEC, NULL, &bridge_spec}, {IFLA_PROTINFO, NULL, &bridge_port}, END};
const struct mr_netlink_schema mr_netlink_bridge_link = {.rows = bridge_link_rows, .more = &mr_netlink_link};

/* ---- a device as IPv6 sees it: messages of AF_INET6 ---- */

ROWS(inet6_link_rows) = {{IFLA_PROTINFO, NULL, &inet6}, END};
const struct mr_netlink_schema mr_netlink_inet6_link = {.rows = inet6_link_rows, .more = &mr_netlink_link};
