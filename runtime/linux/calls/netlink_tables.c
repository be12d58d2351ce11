/* Messages of netlink: rtnetlink, diagnostics of sockets, generic netlink's own, netfilter's frame, audit, errors.
 *
 * Sources: linux/rtnetlink.h, if_addr.h, neighbour.h, fib_rules.h, nexthop.h, inet_diag.h, unix_diag.h, genetlink.h. As in
 * netlink_link_tables.c, attributes without a row are bytes.
 */
#include "linux/calls/netlink.h"

#include <linux/audit.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/if_addrlabel.h>
#include <linux/gen_stats.h>
#include <linux/inet_diag.h>
#include <linux/neighbour.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <sys/socket.h>

#define END {MR_NETLINK_END, NULL, NULL}
#define ROWS(name) static const struct mr_netlink_attribute name[]
#define KIND(name, table) static const struct mr_netlink_schema name = {.rows = table}

/* ---- errors ---- */

ROWS(error_rows) = {{NLMSGERR_ATTR_OFFS, "w", NULL}, {5 /* NLMSGERR_ATTR_MISS_TYPE */, "w", NULL},
                    {6 /* NLMSGERR_ATTR_MISS_NEST */, "w", NULL}, END};
const struct mr_netlink_schema mr_netlink_error_attributes = {.rows = error_rows};

/* ---- addresses, routes, neighbours, rules ---- */

ROWS(address_rows) = {{IFA_CACHEINFO, "4w", NULL}, {IFA_FLAGS, "w", NULL}, {IFA_RT_PRIORITY, "w", NULL},
                      {IFA_TARGET_NETNSID, "w", NULL}, END};
KIND(address, address_rows);

ROWS(metric_rows) = {{RTAX_CC_ALGO, NULL, NULL}, END};
static const struct mr_netlink_schema metrics = {.rows = metric_rows, .others = {0, "w", NULL}};
static const struct mr_netlink_schema route;
static const struct mr_netlink_schema next_hops = {.records = true, .more = &route};
ROWS(route_rows) = {
    {RTA_IIF, "w", NULL}, {RTA_OIF, "w", NULL}, {RTA_PRIORITY, "w", NULL}, {RTA_METRICS, NULL, &metrics},
    {RTA_MULTIPATH, NULL, &next_hops}, {RTA_FLOW, "w", NULL}, {RTA_CACHEINFO, "8w", NULL}, {RTA_TABLE, "w", NULL},
    {RTA_MARK, "w", NULL}, {RTA_MFC_STATS, "3d", NULL}, {RTA_VIA, "h", NULL}, {RTA_ENCAP_TYPE, "h", NULL},
    {RTA_EXPIRES, "w", NULL}, {RTA_UID, "w", NULL}, {RTA_NH_ID, "w", NULL}, END,
};
static const struct mr_netlink_schema route = {.rows = route_rows};

ROWS(neighbour_rows) = {{NDA_CACHEINFO, "4w", NULL}, {NDA_PROBES, "w", NULL}, {NDA_VLAN, "h", NULL},
                        {NDA_VNI, "w", NULL}, {NDA_IFINDEX, "w", NULL}, {NDA_MASTER, "w", NULL},
                        {NDA_LINK_NETNSID, "w", NULL}, {NDA_SRC_VNI, "w", NULL}, {NDA_NH_ID, "w", NULL},
                        {NDA_FLAGS_EXT, "w", NULL}, {NDA_NDM_STATE_MASK, "h", NULL}, END};
KIND(neighbour, neighbour_rows);

ROWS(neighbour_parameter_rows) = {
    {NDTPA_IFINDEX, "w", NULL}, {NDTPA_REFCNT, "w", NULL}, {NDTPA_QUEUE_LEN, "w", NULL}, {NDTPA_APP_PROBES, "w", NULL},
    {NDTPA_UCAST_PROBES, "w", NULL}, {NDTPA_MCAST_PROBES, "w", NULL}, {NDTPA_PROXY_QLEN, "w", NULL},
    {NDTPA_QUEUE_LENBYTES, "w", NULL}, {NDTPA_MCAST_REPROBES, "w", NULL}, END,
};
static const struct mr_netlink_schema neighbour_parameters = {.rows = neighbour_parameter_rows, .others = {0, "d", NULL}};
ROWS(neighbour_table_rows) = {{NDTA_THRESH1, "w", NULL}, {NDTA_THRESH2, "w", NULL}, {NDTA_THRESH3, "w", NULL},
                              {NDTA_CONFIG, "2h7w", NULL}, {NDTA_PARMS, NULL, &neighbour_parameters},
                              {NDTA_STATS, "*d", NULL}, {NDTA_GC_INTERVAL, "d", NULL}, END};
KIND(neighbour_table, neighbour_table_rows);

ROWS(rule_rows) = {{FRA_GOTO, "w", NULL}, {FRA_PRIORITY, "w", NULL}, {FRA_FWMARK, "w", NULL}, {FRA_FLOW, "w", NULL},
                   {FRA_SUPPRESS_IFGROUP, "w", NULL}, {FRA_SUPPRESS_PREFIXLEN, "w", NULL}, {FRA_TABLE, "w", NULL},
                   {FRA_FWMASK, "w", NULL}, {FRA_UID_RANGE, "2w", NULL}, {FRA_SPORT_RANGE, "2h", NULL},
                   {FRA_DPORT_RANGE, "2h", NULL}, END};
KIND(rule, rule_rows);

ROWS(label_rows) = {{IFAL_LABEL, "w", NULL}, END};
KIND(label, label_rows);

ROWS(namespace_rows) = {{NETNSA_NSID, "w", NULL}, {NETNSA_PID, "w", NULL}, {NETNSA_FD, "w", NULL},
                        {NETNSA_TARGET_NSID, "w", NULL}, {NETNSA_CURRENT_NSID, "w", NULL}, END};
KIND(namespace, namespace_rows);

static const struct mr_netlink_schema configuration = {.others = {0, "w", NULL}};

ROWS(group_rows) = {{NHA_RES_GROUP_BUCKETS, "h", NULL}, {NHA_RES_GROUP_IDLE_TIMER, "w", NULL},
                    {NHA_RES_GROUP_UNBALANCED_TIMER, "w", NULL}, {NHA_RES_GROUP_UNBALANCED_TIME, "d", NULL}, END};
KIND(group, group_rows);
ROWS(bucket_rows) = {{NHA_RES_BUCKET_INDEX, "h", NULL}, {NHA_RES_BUCKET_IDLE_TIME, "d", NULL},
                     {NHA_RES_BUCKET_NH_ID, "w", NULL}, END};
KIND(bucket, bucket_rows);
#define TWO_OF_GROUP "w4bw4b" /* struct nexthop_grp */
#define EIGHT_OF_GROUP TWO_OF_GROUP TWO_OF_GROUP TWO_OF_GROUP TWO_OF_GROUP
ROWS(next_hop_rows) = {{NHA_ID, "w", NULL}, {NHA_GROUP, EIGHT_OF_GROUP EIGHT_OF_GROUP, NULL},
                       {NHA_GROUP_TYPE, "h", NULL}, {NHA_OIF, "w", NULL},
                       {NHA_ENCAP_TYPE, "h", NULL}, {NHA_MASTER, "w", NULL}, {NHA_RES_GROUP, NULL, &group},
                       {NHA_RES_BUCKET, NULL, &bucket}, END};
KIND(next_hop, next_hop_rows);

/* ---- traffic control ---- */

static const struct mr_netlink_schema fq_codel = {.others = {0, "w", NULL}};
static const struct mr_netlink_kind queue_kinds[] = {
    {TCA_KIND, "pfifo", {0, "w", NULL}},           {TCA_KIND, "bfifo", {0, "w", NULL}},
    {TCA_KIND, "pfifo_head_drop", {0, "w", NULL}}, {TCA_KIND, "pfifo_fast", {0, "w16b", NULL}},
    {TCA_KIND, "prio", {0, "w16b", NULL}},         {TCA_KIND, "fq_codel", {0, NULL, &fq_codel}},
    {TCA_KIND, "codel", {0, NULL, &fq_codel}},     {TCA_KIND, "sfq", {0, "*w", NULL}},
    {0, NULL, {0, NULL, NULL}},
};
ROWS(statistic_rows) = {{TCA_STATS_BASIC, "dw4b", NULL}, {TCA_STATS_RATE_EST, "*w", NULL}, {TCA_STATS_QUEUE, "5w", NULL},
                        {TCA_STATS_RATE_EST64, "*d", NULL}, {7 /* TCA_STATS_BASIC_HW */, "dw4b", NULL},
                        {8 /* TCA_STATS_PKT64 */, "d", NULL}, END};
KIND(statistics, statistic_rows);
ROWS(queue_rows) = {{TCA_STATS, "d7w", NULL}, {TCA_RATE, "2b", NULL}, {TCA_FCNT, "w", NULL},
                    {TCA_STATS2, NULL, &statistics}, {TCA_CHAIN, "w", NULL}, {TCA_INGRESS_BLOCK, "w", NULL},
                    {TCA_EGRESS_BLOCK, "w", NULL}, END};
static const struct mr_netlink_schema queue = {.rows = queue_rows, .kinds = queue_kinds, .name_types = 1u << TCA_KIND};

/* ---- sockets ---- */

#define TCP_INFO_LAYOUT "6bnf24w4d6w4d2w2d6w2hw7w2h*w"
#define SOCKET_ID "36b3w" /* struct inet_diag_sockid: ports, addresses, interface, cookie */

ROWS(inet_rows) = {{INET_DIAG_MEMINFO, "*w", NULL}, {INET_DIAG_INFO, TCP_INFO_LAYOUT, NULL},
                   {INET_DIAG_VEGASINFO, "*w", NULL}, {INET_DIAG_SKMEMINFO, "*w", NULL},
                   {INET_DIAG_DCTCPINFO, "2h3w", NULL}, {INET_DIAG_MARK, "w", NULL}, {INET_DIAG_BBRINFO, "*w", NULL},
                   {INET_DIAG_CLASS_ID, "w", NULL}, {INET_DIAG_CGROUP_ID, "d", NULL}, {INET_DIAG_SOCKOPT, "2r", NULL}, END};
KIND(inet, inet_rows);
ROWS(inet_request_rows) = {{INET_DIAG_REQ_PROTOCOL, "w", NULL}, END};
KIND(inet_request, inet_request_rows);

ROWS(unix_rows) = {{UNIX_DIAG_VFS, "2w", NULL}, {UNIX_DIAG_PEER, "w", NULL}, {UNIX_DIAG_ICONS, "*w", NULL},
                   {UNIX_DIAG_RQLEN, "2w", NULL}, {UNIX_DIAG_MEMINFO, "*w", NULL}, {UNIX_DIAG_UID, "w", NULL}, END};
KIND(unix_socket, unix_rows);

/* ---- generic netlink, netfilter ---- */

static const struct mr_netlink_schema unknown; /* headers of attributes only, and of those marked as nested */

ROWS(operation_rows) = {{CTRL_ATTR_OP_ID, "w", NULL}, {CTRL_ATTR_OP_FLAGS, "w", NULL}, END};
KIND(operation, operation_rows);
static const struct mr_netlink_schema operations = {.others = {0, NULL, &operation}};
ROWS(multicast_rows) = {{CTRL_ATTR_MCAST_GRP_ID, "w", NULL}, END};
KIND(multicast, multicast_rows);
static const struct mr_netlink_schema multicasts = {.others = {0, NULL, &multicast}};
ROWS(control_rows) = {{CTRL_ATTR_FAMILY_ID, "h", NULL}, {CTRL_ATTR_VERSION, "w", NULL}, {CTRL_ATTR_HDRSIZE, "w", NULL},
                      {CTRL_ATTR_MAXATTR, "w", NULL}, {CTRL_ATTR_OPS, NULL, &operations},
                      {CTRL_ATTR_MCAST_GROUPS, NULL, &multicasts}, {CTRL_ATTR_OP, "w", NULL}, END};
KIND(control, control_rows);

/* ---- messages ---- */

#define ROUTE(first, last, layout, attributes) \
    {NETLINK_ROUTE, first, last, MR_ANY_FAMILY, MR_BOTH_WAYS, layout, attributes}
#define LINK_LAYOUT "2bh3w"

const struct mr_netlink_message mr_netlink_messages[] = {
    {NETLINK_ROUTE, RTM_NEWLINK, RTM_SETLINK, AF_BRIDGE, MR_BOTH_WAYS, LINK_LAYOUT, &mr_netlink_bridge_link},
    {NETLINK_ROUTE, RTM_NEWLINK, RTM_SETLINK, AF_INET6, MR_BOTH_WAYS, LINK_LAYOUT, &mr_netlink_inet6_link},
    ROUTE(RTM_NEWLINK, RTM_SETLINK, LINK_LAYOUT, &mr_netlink_link),
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
    ROUTE(RTM_NEWLINKPROP, RTM_GETLINKPROP, LINK_LAYOUT, &mr_netlink_link),
    ROUTE(RTM_NEWNEXTHOPBUCKET, RTM_GETNEXTHOPBUCKET, "4bw", &next_hop),

    {NETLINK_SOCK_DIAG, 20, 21, AF_INET, MR_FROM_GUEST, "4bw" SOCKET_ID, &inet_request},
    {NETLINK_SOCK_DIAG, 20, 21, AF_INET6, MR_FROM_GUEST, "4bw" SOCKET_ID, &inet_request},
    {NETLINK_SOCK_DIAG, 20, 21, AF_INET, MR_TO_GUEST, "4b" SOCKET_ID "5w", &inet},
    {NETLINK_SOCK_DIAG, 20, 21, AF_INET6, MR_TO_GUEST, "4b" SOCKET_ID "5w", &inet},
    {NETLINK_SOCK_DIAG, 20, 21, AF_UNIX, MR_FROM_GUEST, "2bh5w", NULL},
    {NETLINK_SOCK_DIAG, 20, 21, AF_UNIX, MR_TO_GUEST, "4b3w", &unix_socket},

    {NETLINK_GENERIC, GENL_ID_CTRL, GENL_ID_CTRL, MR_ANY_FAMILY, MR_BOTH_WAYS, "2bh", &control},
    {NETLINK_GENERIC, GENL_ID_CTRL + 1, UINT16_MAX, MR_ANY_FAMILY, MR_BOTH_WAYS, "2bh", &unknown},
    {NETLINK_NETFILTER, NLMSG_MIN_TYPE, UINT16_MAX, MR_ANY_FAMILY, MR_BOTH_WAYS, "4b", &unknown}, /* in network order */
    {NETLINK_AUDIT, AUDIT_GET, AUDIT_SET, MR_ANY_FAMILY, MR_BOTH_WAYS, "*w", NULL},
    {NETLINK_AUDIT, AUDIT_GET_FEATURE, AUDIT_SET_FEATURE, MR_ANY_FAMILY, MR_BOTH_WAYS, "*w", NULL},
    {0, 0, 0, 0, MR_BOTH_WAYS, NULL, NULL},
};
