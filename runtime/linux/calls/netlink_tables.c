/* Messages of netlink: rtnetlink, diagnostics of sockets, generic netlink's own, netfilter's frame, audit, errors.
 *
 * Sources: linux/rtnetlink.h, if_addr.h, neighbour.h, fib_rules.h, nexthop.h, inet_diag.h, unix_diag.h, genetlink.h.
 * Rows are for numbers and structures in the byte order of the machine. Attributes without a row are bytes: names,
 * hardware and IP addresses, and what is in network order, such as the ports of tunnels.
 */
#include "linux/calls/netlink.h"

#include <linux/audit.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/if_addrlabel.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/inet_diag.h>
#include <linux/neighbour.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <sys/socket.h>

/* One number, of 16, 32 or 64 bits; a layout (layout.h); attributes; bytes that are the same on both sides. */
#define H(type) {type, "h", NULL}
#define W(type) {type, "w", NULL}
#define Q(type) {type, "q", NULL}
#define AS(type, layout) {type, layout, NULL}
#define NEST(type, schema) {type, NULL, &(schema)}
#define BYTES(type) {type, NULL, NULL}
#define ROWS(...) .rows = (const struct mr_netlink_attribute[]){__VA_ARGS__, {MR_NETLINK_END, NULL, NULL}}

#define LINK_LAYOUT "2bh3w" /* struct ifinfomsg */

/* ---- errors ---- */

const struct mr_netlink_schema mr_netlink_error_attributes = {ROWS(
    W(NLMSGERR_ATTR_OFFS), W(5 /* NLMSGERR_ATTR_MISS_TYPE */), W(6 /* NLMSGERR_ATTR_MISS_NEST */))};

/* ---- kinds of network devices: linux/if_link.h, and linux/veth.h for the peer of a pair ---- */

static const struct mr_netlink_schema all_words = {.others = {0, "w", NULL}};

static const struct mr_netlink_schema vlan = {ROWS(
    H(IFLA_VLAN_ID), AS(IFLA_VLAN_FLAGS, "2w"), NEST(IFLA_VLAN_EGRESS_QOS, all_words),
    NEST(IFLA_VLAN_INGRESS_QOS, all_words))};
static const struct mr_netlink_schema macvlan = {ROWS(
    W(IFLA_MACVLAN_MODE), H(IFLA_MACVLAN_FLAGS), W(IFLA_MACVLAN_MACADDR_MODE), W(IFLA_MACVLAN_MACADDR_COUNT),
    W(IFLA_MACVLAN_BC_QUEUE_LEN), W(IFLA_MACVLAN_BC_QUEUE_LEN_USED))};
static const struct mr_netlink_schema ipvlan = {ROWS(H(IFLA_IPVLAN_MODE), H(IFLA_IPVLAN_FLAGS))};
static const struct mr_netlink_schema vrf = {ROWS(W(IFLA_VRF_TABLE))};
static const struct mr_netlink_schema device;
static const struct mr_netlink_schema veth = {ROWS({1 /* VETH_INFO_PEER */, LINK_LAYOUT, &device})};
static const struct mr_netlink_schema tun = {ROWS(
    W(IFLA_TUN_OWNER), W(IFLA_TUN_GROUP), W(IFLA_TUN_NUM_QUEUES), W(IFLA_TUN_NUM_DISABLED_QUEUES))};
static const struct mr_netlink_schema tunnel = {ROWS(
    W(IFLA_IPTUN_LINK), H(IFLA_IPTUN_FLAGS), H(IFLA_IPTUN_6RD_PREFIXLEN), H(IFLA_IPTUN_6RD_RELAY_PREFIXLEN),
    H(IFLA_IPTUN_ENCAP_TYPE), H(IFLA_IPTUN_ENCAP_FLAGS), W(IFLA_IPTUN_FWMARK))};
static const struct mr_netlink_schema tunnel6 = {ROWS(
    W(IFLA_IPTUN_LINK), W(IFLA_IPTUN_FLAGS), H(IFLA_IPTUN_ENCAP_TYPE), H(IFLA_IPTUN_ENCAP_FLAGS),
    W(IFLA_IPTUN_FWMARK))};
static const struct mr_netlink_schema gre = {ROWS(
    W(IFLA_GRE_LINK), W(IFLA_GRE_FLAGS), H(IFLA_GRE_ENCAP_TYPE), H(IFLA_GRE_ENCAP_FLAGS), W(IFLA_GRE_FWMARK),
    W(IFLA_GRE_ERSPAN_INDEX), H(IFLA_GRE_ERSPAN_HWID))};
static const struct mr_netlink_schema vti = {ROWS(W(IFLA_VTI_LINK), W(IFLA_VTI_FWMARK))};
static const struct mr_netlink_schema xfrm = {ROWS(W(IFLA_XFRM_LINK), W(IFLA_XFRM_IF_ID))};
static const struct mr_netlink_schema vxlan = {ROWS(
    W(IFLA_VXLAN_ID), W(IFLA_VXLAN_LINK), W(IFLA_VXLAN_AGEING), W(IFLA_VXLAN_LIMIT))};
static const struct mr_netlink_schema geneve = {ROWS(W(IFLA_GENEVE_ID))};
static const struct mr_netlink_schema hsr = {ROWS(W(IFLA_HSR_SLAVE1), W(IFLA_HSR_SLAVE2), H(IFLA_HSR_SEQ_NR))};

static const struct mr_netlink_schema bridge = {ROWS(
    W(IFLA_BR_FORWARD_DELAY), W(IFLA_BR_HELLO_TIME), W(IFLA_BR_MAX_AGE), W(IFLA_BR_AGEING_TIME), W(IFLA_BR_STP_STATE),
    H(IFLA_BR_PRIORITY), H(IFLA_BR_GROUP_FWD_MASK), H(IFLA_BR_ROOT_PORT), W(IFLA_BR_ROOT_PATH_COST),
    Q(IFLA_BR_HELLO_TIMER), Q(IFLA_BR_TCN_TIMER), Q(IFLA_BR_TOPOLOGY_CHANGE_TIMER), Q(IFLA_BR_GC_TIMER),
    W(IFLA_BR_MCAST_HASH_ELASTICITY), W(IFLA_BR_MCAST_HASH_MAX), W(IFLA_BR_MCAST_LAST_MEMBER_CNT),
    W(IFLA_BR_MCAST_STARTUP_QUERY_CNT), Q(IFLA_BR_MCAST_LAST_MEMBER_INTVL), Q(IFLA_BR_MCAST_MEMBERSHIP_INTVL),
    Q(IFLA_BR_MCAST_QUERIER_INTVL), Q(IFLA_BR_MCAST_QUERY_INTVL), Q(IFLA_BR_MCAST_QUERY_RESPONSE_INTVL),
    Q(IFLA_BR_MCAST_STARTUP_QUERY_INTVL), H(IFLA_BR_VLAN_DEFAULT_PVID), AS(IFLA_BR_MULTI_BOOLOPT, "2w"))};

static const struct mr_netlink_schema bond_info = {ROWS(
    BYTES(5 /* the partner's address */)), .others = {0, "h", NULL}};
static const struct mr_netlink_schema bond = {ROWS(
    W(IFLA_BOND_ACTIVE_SLAVE), W(IFLA_BOND_MIIMON), W(IFLA_BOND_UPDELAY), W(IFLA_BOND_DOWNDELAY),
    W(IFLA_BOND_ARP_INTERVAL), W(IFLA_BOND_ARP_VALIDATE), W(IFLA_BOND_ARP_ALL_TARGETS), W(IFLA_BOND_PRIMARY),
    W(IFLA_BOND_RESEND_IGMP), W(IFLA_BOND_MIN_LINKS), W(IFLA_BOND_LP_INTERVAL), W(IFLA_BOND_PACKETS_PER_SLAVE),
    NEST(IFLA_BOND_AD_INFO, bond_info), H(IFLA_BOND_AD_ACTOR_SYS_PRIO), H(IFLA_BOND_AD_USER_PORT_KEY),
    W(IFLA_BOND_PEER_NOTIF_DELAY))};

static const struct mr_netlink_schema bond_port = {ROWS(
    W(IFLA_BOND_SLAVE_LINK_FAILURE_COUNT), H(IFLA_BOND_SLAVE_QUEUE_ID), H(IFLA_BOND_SLAVE_AD_AGGREGATOR_ID),
    H(IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE), W(9 /* IFLA_BOND_SLAVE_PRIO */))};
static const struct mr_netlink_schema bridge_port = {ROWS(
    H(IFLA_BRPORT_PRIORITY), W(IFLA_BRPORT_COST), H(IFLA_BRPORT_DESIGNATED_PORT), H(IFLA_BRPORT_DESIGNATED_COST),
    H(IFLA_BRPORT_ID), H(IFLA_BRPORT_NO), Q(IFLA_BRPORT_MESSAGE_AGE_TIMER), Q(IFLA_BRPORT_FORWARD_DELAY_TIMER),
    Q(IFLA_BRPORT_HOLD_TIMER), H(IFLA_BRPORT_GROUP_FWD_MASK), W(IFLA_BRPORT_BACKUP_PORT),
    W(IFLA_BRPORT_MCAST_EHT_HOSTS_LIMIT), W(IFLA_BRPORT_MCAST_EHT_HOSTS_CNT))};
static const struct mr_netlink_schema vrf_port = {ROWS(W(IFLA_VRF_PORT_TABLE))};

#define DEVICE(name, schema) {IFLA_INFO_KIND, name, {0, NULL, schema}}
#define PORT(name, schema) {IFLA_INFO_SLAVE_KIND, name, {0, NULL, schema}}
static const struct mr_netlink_kind device_kinds[] = {
    DEVICE("vlan", &vlan), DEVICE("macvlan", &macvlan), DEVICE("macvtap", &macvlan), DEVICE("ipvlan", &ipvlan),
    DEVICE("ipvtap", &ipvlan), DEVICE("vrf", &vrf), DEVICE("veth", &veth), DEVICE("tun", &tun), DEVICE("ipip", &tunnel),
    DEVICE("sit", &tunnel), DEVICE("ip6tnl", &tunnel6), DEVICE("gre", &gre), DEVICE("gretap", &gre),
    DEVICE("ip6gre", &gre), DEVICE("ip6gretap", &gre), DEVICE("erspan", &gre), DEVICE("ip6erspan", &gre),
    DEVICE("vti", &vti), DEVICE("vti6", &vti), DEVICE("xfrm", &xfrm), DEVICE("vxlan", &vxlan), DEVICE("geneve", &geneve),
    DEVICE("hsr", &hsr), DEVICE("bridge", &bridge), DEVICE("bond", &bond), PORT("bond", &bond_port),
    PORT("bridge", &bridge_port), PORT("vrf", &vrf_port), {0, NULL, {0, NULL, NULL}},
};

/* ---- a network device ---- */

#define NAMES_OF_KINDS (1u << IFLA_INFO_KIND | 1u << IFLA_INFO_SLAVE_KIND)
static const struct mr_netlink_schema link_info = {.kinds = device_kinds, .name_types = NAMES_OF_KINDS};

static const struct mr_netlink_schema inet = {ROWS(AS(IFLA_INET_CONF, "*w"))};
static const struct mr_netlink_schema inet6 = {ROWS(
    W(IFLA_INET6_FLAGS), AS(IFLA_INET6_CONF, "*w"), AS(IFLA_INET6_STATS, "*q"), AS(IFLA_INET6_CACHEINFO, "4w"),
    AS(IFLA_INET6_ICMP6STATS, "*q"), W(IFLA_INET6_RA_MTU))};
static const struct mr_netlink_schema by_family = {ROWS(NEST(2 /* AF_INET */, inet), NEST(10 /* AF_INET6 */, inet6))};

static const struct mr_netlink_schema xdp = {ROWS(
    W(IFLA_XDP_FD), W(IFLA_XDP_FLAGS), W(IFLA_XDP_PROG_ID), W(IFLA_XDP_DRV_PROG_ID), W(IFLA_XDP_SKB_PROG_ID),
    W(IFLA_XDP_HW_PROG_ID), W(IFLA_XDP_EXPECTED_FD))};

static const struct mr_netlink_schema vf_stats = {.others = {0, "q", NULL}};
static const struct mr_netlink_schema vf = {ROWS(
    AS(IFLA_VF_MAC, "w32b"), AS(IFLA_VF_VLAN, "3w"), AS(IFLA_VF_TX_RATE, "2w"), AS(IFLA_VF_SPOOFCHK, "2w"),
    AS(IFLA_VF_LINK_STATE, "2w"), AS(IFLA_VF_RATE, "3w"), AS(IFLA_VF_RSS_QUERY_EN, "2w"),
    NEST(IFLA_VF_STATS, vf_stats), AS(IFLA_VF_TRUST, "2w"))};
static const struct mr_netlink_schema vf_list = {.others = {0, NULL, &vf}};

static const struct mr_netlink_schema down_reason = {ROWS(W(1), W(2))};
static const struct mr_netlink_schema properties = {.others = {0, NULL, NULL}}; /* names */

static const struct mr_netlink_schema device = {ROWS(
    W(IFLA_MTU), W(IFLA_LINK), AS(IFLA_STATS, "*w"), W(IFLA_COST), W(IFLA_PRIORITY), W(IFLA_MASTER), W(IFLA_TXQLEN),
    AS(IFLA_MAP, "3qh6b"), W(IFLA_WEIGHT), NEST(IFLA_LINKINFO, link_info), W(IFLA_NET_NS_PID), W(IFLA_NUM_VF),
    NEST(IFLA_VFINFO_LIST, vf_list), AS(IFLA_STATS64, "*q"), NEST(IFLA_AF_SPEC, by_family), W(IFLA_GROUP),
    W(IFLA_NET_NS_FD), W(IFLA_EXT_MASK), W(IFLA_PROMISCUITY), W(IFLA_NUM_TX_QUEUES), W(IFLA_NUM_RX_QUEUES),
    W(IFLA_CARRIER_CHANGES), W(IFLA_LINK_NETNSID), W(IFLA_GSO_MAX_SEGS), W(IFLA_GSO_MAX_SIZE), NEST(IFLA_XDP, xdp),
    W(IFLA_EVENT), W(IFLA_NEW_NETNSID), W(IFLA_TARGET_NETNSID), W(IFLA_CARRIER_UP_COUNT), W(IFLA_CARRIER_DOWN_COUNT),
    W(IFLA_NEW_IFINDEX), W(IFLA_MIN_MTU), W(IFLA_MAX_MTU), NEST(IFLA_PROP_LIST, properties),
    NEST(IFLA_PROTO_DOWN_REASON, down_reason), W(IFLA_GRO_MAX_SIZE), W(IFLA_TSO_MAX_SIZE), W(IFLA_TSO_MAX_SEGS),
    W(IFLA_ALLMULTI), W(63 /* IFLA_GSO_IPV4_MAX_SIZE */), W(64 /* IFLA_GRO_IPV4_MAX_SIZE */),
    Q(66 /* IFLA_MAX_PACING_OFFLOAD_HORIZON */))};

/* ---- a device as its bridge sees it: messages of AF_BRIDGE ---- */

static const struct mr_netlink_schema bridge_spec = {ROWS(
    H(0 /* IFLA_BRIDGE_FLAGS */), H(1 /* IFLA_BRIDGE_MODE */), AS(2 /* IFLA_BRIDGE_VLAN_INFO */, "2h"))};
static const struct mr_netlink_schema device_of_bridge = {ROWS(
    NEST(IFLA_AF_SPEC, bridge_spec), NEST(IFLA_PROTINFO, bridge_port)), .more = &device};

/* ---- a device as IPv6 sees it: messages of AF_INET6 ---- */

static const struct mr_netlink_schema device_of_inet6 = {ROWS(NEST(IFLA_PROTINFO, inet6)), .more = &device};

/* ---- addresses, routes, neighbours, rules ---- */

static const struct mr_netlink_schema address = {ROWS(
    AS(IFA_CACHEINFO, "4w"), W(IFA_FLAGS), W(IFA_RT_PRIORITY), W(IFA_TARGET_NETNSID))};

static const struct mr_netlink_schema metrics = {ROWS(BYTES(RTAX_CC_ALGO)), .others = {0, "w", NULL}};
static const struct mr_netlink_schema route;
static const struct mr_netlink_schema next_hops = {.records = true, .more = &route};
static const struct mr_netlink_schema route = {ROWS(
    W(RTA_IIF), W(RTA_OIF), W(RTA_PRIORITY), NEST(RTA_METRICS, metrics), NEST(RTA_MULTIPATH, next_hops), W(RTA_FLOW),
    AS(RTA_CACHEINFO, "8w"), W(RTA_TABLE), W(RTA_MARK), AS(RTA_MFC_STATS, "3q"), H(RTA_VIA), H(RTA_ENCAP_TYPE),
    W(RTA_EXPIRES), W(RTA_UID), W(RTA_NH_ID))};

static const struct mr_netlink_schema neighbour = {ROWS(
    AS(NDA_CACHEINFO, "4w"), W(NDA_PROBES), H(NDA_VLAN), W(NDA_VNI), W(NDA_IFINDEX), W(NDA_MASTER),
    W(NDA_LINK_NETNSID), W(NDA_SRC_VNI), W(NDA_NH_ID), W(NDA_FLAGS_EXT), H(NDA_NDM_STATE_MASK))};

static const struct mr_netlink_schema neighbour_parameters = {ROWS(
    W(NDTPA_IFINDEX), W(NDTPA_REFCNT), W(NDTPA_QUEUE_LEN), W(NDTPA_APP_PROBES), W(NDTPA_UCAST_PROBES),
    W(NDTPA_MCAST_PROBES), W(NDTPA_PROXY_QLEN), W(NDTPA_QUEUE_LENBYTES),
    W(NDTPA_MCAST_REPROBES)), .others = {0, "q", NULL}};
static const struct mr_netlink_schema neighbour_table = {ROWS(
    W(NDTA_THRESH1), W(NDTA_THRESH2), W(NDTA_THRESH3), AS(NDTA_CONFIG, "2h7w"),
    NEST(NDTA_PARMS, neighbour_parameters), AS(NDTA_STATS, "*q"), Q(NDTA_GC_INTERVAL))};

static const struct mr_netlink_schema rule = {ROWS(
    W(FRA_GOTO), W(FRA_PRIORITY), W(FRA_FWMARK), W(FRA_FLOW), W(FRA_SUPPRESS_IFGROUP), W(FRA_SUPPRESS_PREFIXLEN),
    W(FRA_TABLE), W(FRA_FWMASK), AS(FRA_UID_RANGE, "2w"), AS(FRA_SPORT_RANGE, "2h"), AS(FRA_DPORT_RANGE, "2h"))};

static const struct mr_netlink_schema label = {ROWS(W(IFAL_LABEL))};

static const struct mr_netlink_schema namespace = {ROWS(
    W(NETNSA_NSID), W(NETNSA_PID), W(NETNSA_FD), W(NETNSA_TARGET_NSID), W(NETNSA_CURRENT_NSID))};

static const struct mr_netlink_schema configuration = {.others = {0, "w", NULL}};

static const struct mr_netlink_schema group = {ROWS(
    H(NHA_RES_GROUP_BUCKETS), W(NHA_RES_GROUP_IDLE_TIMER), W(NHA_RES_GROUP_UNBALANCED_TIMER),
    Q(NHA_RES_GROUP_UNBALANCED_TIME))};
static const struct mr_netlink_schema bucket = {ROWS(
    H(NHA_RES_BUCKET_INDEX), Q(NHA_RES_BUCKET_IDLE_TIME), W(NHA_RES_BUCKET_NH_ID))};
#define TWO_OF_GROUP "w4bw4b" /* struct nexthop_grp */
#define EIGHT_OF_GROUP TWO_OF_GROUP TWO_OF_GROUP TWO_OF_GROUP TWO_OF_GROUP
static const struct mr_netlink_schema next_hop = {ROWS(
    W(NHA_ID), AS(NHA_GROUP, EIGHT_OF_GROUP EIGHT_OF_GROUP), H(NHA_GROUP_TYPE), W(NHA_OIF), H(NHA_ENCAP_TYPE),
    W(NHA_MASTER), NEST(NHA_RES_GROUP, group), NEST(NHA_RES_BUCKET, bucket))};

/* ---- traffic control ---- */

static const struct mr_netlink_schema fq_codel = {.others = {0, "w", NULL}};
static const struct mr_netlink_kind queue_kinds[] = {
    {TCA_KIND, "pfifo", {0, "w", NULL}},           {TCA_KIND, "bfifo", {0, "w", NULL}},
    {TCA_KIND, "pfifo_head_drop", {0, "w", NULL}}, {TCA_KIND, "pfifo_fast", {0, "w16b", NULL}},
    {TCA_KIND, "prio", {0, "w16b", NULL}},         {TCA_KIND, "fq_codel", {0, NULL, &fq_codel}},
    {TCA_KIND, "codel", {0, NULL, &fq_codel}},     {TCA_KIND, "sfq", {0, "*w", NULL}},
    {0, NULL, {0, NULL, NULL}},
};
static const struct mr_netlink_schema statistics = {ROWS(
    AS(TCA_STATS_BASIC, "qw4b"), AS(TCA_STATS_RATE_EST, "*w"), AS(TCA_STATS_QUEUE, "5w"),
    AS(TCA_STATS_RATE_EST64, "*q"), AS(7 /* TCA_STATS_BASIC_HW */, "qw4b"), Q(8 /* TCA_STATS_PKT64 */))};
static const struct mr_netlink_schema queue = {ROWS(
    AS(TCA_STATS, "q7w"), AS(TCA_RATE, "2b"), W(TCA_FCNT), NEST(TCA_STATS2, statistics), W(TCA_CHAIN),
    W(TCA_INGRESS_BLOCK), W(TCA_EGRESS_BLOCK)), .kinds = queue_kinds, .name_types = 1u << TCA_KIND};

/* ---- sockets ---- */

#define TCP_INFO_LAYOUT "6bnf24w4q6w4q2w2q6w2hw7w2h*w"
#define SOCKET_ID "36b3w" /* struct inet_diag_sockid: ports, addresses, interface, cookie */

static const struct mr_netlink_schema inet_socket = {ROWS(
    AS(INET_DIAG_MEMINFO, "*w"), AS(INET_DIAG_INFO, TCP_INFO_LAYOUT), AS(INET_DIAG_VEGASINFO, "*w"),
    AS(INET_DIAG_SKMEMINFO, "*w"), AS(INET_DIAG_DCTCPINFO, "2h3w"), W(INET_DIAG_MARK), AS(INET_DIAG_BBRINFO, "*w"),
    W(INET_DIAG_CLASS_ID), Q(INET_DIAG_CGROUP_ID), AS(INET_DIAG_SOCKOPT, "2r"))};
static const struct mr_netlink_schema inet_request = {ROWS(W(INET_DIAG_REQ_PROTOCOL))};

static const struct mr_netlink_schema unix_socket = {ROWS(
    AS(UNIX_DIAG_VFS, "2w"), W(UNIX_DIAG_PEER), AS(UNIX_DIAG_ICONS, "*w"), AS(UNIX_DIAG_RQLEN, "2w"),
    AS(UNIX_DIAG_MEMINFO, "*w"), W(UNIX_DIAG_UID))};

/* ---- generic netlink, netfilter ---- */

static const struct mr_netlink_schema unknown; /* headers of attributes only, and of those marked as nested */

static const struct mr_netlink_schema operation = {ROWS(W(CTRL_ATTR_OP_ID), W(CTRL_ATTR_OP_FLAGS))};
static const struct mr_netlink_schema operations = {.others = {0, NULL, &operation}};
static const struct mr_netlink_schema multicast = {ROWS(W(CTRL_ATTR_MCAST_GRP_ID))};
static const struct mr_netlink_schema multicasts = {.others = {0, NULL, &multicast}};
static const struct mr_netlink_schema control = {ROWS(
    H(CTRL_ATTR_FAMILY_ID), W(CTRL_ATTR_VERSION), W(CTRL_ATTR_HDRSIZE), W(CTRL_ATTR_MAXATTR),
    NEST(CTRL_ATTR_OPS, operations), NEST(CTRL_ATTR_MCAST_GROUPS, multicasts), W(CTRL_ATTR_OP))};

/* ---- messages ---- */

#define ROUTE(first, last, layout, attributes) \
    {NETLINK_ROUTE, first, last, MR_ANY_FAMILY, MR_BOTH_WAYS, layout, attributes}

const struct mr_netlink_message mr_netlink_messages[] = {
    {NETLINK_ROUTE, RTM_NEWLINK, RTM_SETLINK, AF_BRIDGE, MR_BOTH_WAYS, LINK_LAYOUT, &device_of_bridge},
    {NETLINK_ROUTE, RTM_NEWLINK, RTM_SETLINK, AF_INET6, MR_BOTH_WAYS, LINK_LAYOUT, &device_of_inet6},
    ROUTE(RTM_NEWLINK, RTM_SETLINK, LINK_LAYOUT, &device),
    ROUTE(RTM_NEWADDR, RTM_GETADDR, "4bw", &address),
    ROUTE(RTM_NEWROUTE, RTM_GETROUTE, "8bw", &route),
    ROUTE(RTM_NEWNEIGH, RTM_GETNEIGH, "2bhwh2b", &neighbour),
    ROUTE(RTM_NEWRULE, RTM_GETRULE, "8bw", &rule),
    ROUTE(RTM_NEWQDISC, RTM_GETTFILTER, "2bh4w", &queue),
    ROUTE(RTM_NEWACTION, RTM_GETACTION, "2bh", &unknown),
    ROUTE(RTM_NEWPREFIX, RTM_NEWPREFIX, "2bhw4b", NULL),
    ROUTE(RTM_GETMULTICAST - 2, RTM_GETANYCAST, "4bw", &address),
    ROUTE(RTM_NEWNEIGHTBL, RTM_SETNEIGHTBL, "2bh", &neighbour_table),
    ROUTE(RTM_NEWNDUSEROPT, RTM_NEWNDUSEROPT, "2bhw*b", NULL),
    ROUTE(RTM_NEWADDRLABEL, RTM_GETADDRLABEL, "4b2w", &label),
    ROUTE(RTM_NEWNETCONF, RTM_GETNETCONF, "b", &configuration),
    ROUTE(RTM_NEWMDB, RTM_GETMDB, "4bw", &unknown),
    ROUTE(RTM_NEWNSID, RTM_GETNSID, "b", &namespace),
    ROUTE(RTM_NEWSTATS, RTM_GETSTATS, "2bh2w", &unknown),
    ROUTE(RTM_NEWCHAIN, RTM_GETCHAIN, "2bh4w", &queue),
    ROUTE(RTM_NEWNEXTHOP, RTM_GETNEXTHOP, "4bw", &next_hop),
    ROUTE(RTM_NEWLINKPROP, RTM_GETLINKPROP, LINK_LAYOUT, &device),
    ROUTE(RTM_NEWNEXTHOPBUCKET, RTM_GETNEXTHOPBUCKET, "4bw", &next_hop),

    {NETLINK_SOCK_DIAG, 20, 21, AF_INET, MR_FROM_GUEST, "4bw" SOCKET_ID, &inet_request},
    {NETLINK_SOCK_DIAG, 20, 21, AF_INET6, MR_FROM_GUEST, "4bw" SOCKET_ID, &inet_request},
    {NETLINK_SOCK_DIAG, 20, 21, AF_INET, MR_TO_GUEST, "4b" SOCKET_ID "5w", &inet_socket},
    {NETLINK_SOCK_DIAG, 20, 21, AF_INET6, MR_TO_GUEST, "4b" SOCKET_ID "5w", &inet_socket},
    {NETLINK_SOCK_DIAG, 20, 21, AF_UNIX, MR_FROM_GUEST, "2bh5w", NULL},
    {NETLINK_SOCK_DIAG, 20, 21, AF_UNIX, MR_TO_GUEST, "4b3w", &unix_socket},

    {NETLINK_GENERIC, GENL_ID_CTRL, GENL_ID_CTRL, MR_ANY_FAMILY, MR_BOTH_WAYS, "2bh", &control},
    {NETLINK_GENERIC, GENL_ID_CTRL + 1, UINT16_MAX, MR_ANY_FAMILY, MR_BOTH_WAYS, "2bh", &unknown},
    {NETLINK_NETFILTER, NLMSG_MIN_TYPE, UINT16_MAX, MR_ANY_FAMILY, MR_BOTH_WAYS, "4b", &unknown}, /* in network order */
    {NETLINK_AUDIT, AUDIT_GET, AUDIT_SET, MR_ANY_FAMILY, MR_BOTH_WAYS, "*w", NULL},
    {NETLINK_AUDIT, AUDIT_GET_FEATURE, AUDIT_SET_FEATURE, MR_ANY_FAMILY, MR_BOTH_WAYS, "*w", NULL},
    {0, 0, 0, 0, MR_BOTH_WAYS, NULL, NULL},
};
