// Dependency graph of a synthetic graphics trace, and elimination of the commands nobody needs.
//
// Commands read and write intervals of memory pools and fragments of state objects. The latest writer of every slot is
// kept; what one command touches is pending until it ends, so that it does not depend on itself. Paired commands (begin
// and end, create and destroy) have forward edges too: whoever keeps the first must keep the second, unless a reset has
// dropped the pair. Then everything the requested commands need is kept, transitively.
// The argument is the number of commands; `dot` prints a small graph for Graphviz instead.
#include "freestanding/out.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using Command = uint32_t;
constexpr Command nobody = ~0u;

// ---- latest writers ----

// Latest writer of every byte of a pool: disjoint intervals by their start. Writing splits what it overlaps.
class PoolWriters {
public:
    void write(uint32_t start, uint32_t end, Command writer)
    {
        split(start);
        split(end);
        intervals_.erase(intervals_.lower_bound(start), intervals_.lower_bound(end));
        intervals_[start] = {end, writer};
    }

    template <typename Found>
    void read(uint32_t start, uint32_t end, Found found) const
    {
        auto at = intervals_.upper_bound(start);
        if (at != intervals_.begin() && std::prev(at)->second.end > start)
            --at;
        for (; at != intervals_.end() && at->first < end; ++at)
            found(at->second.writer);
    }

    size_t size() const { return intervals_.size(); }

private:
    struct Interval {
        uint32_t end;
        Command writer;
    };

    // Makes `place` a border between intervals if it lies inside one.
    void split(uint32_t place)
    {
        auto at = intervals_.lower_bound(place);
        if (at == intervals_.begin())
            return;
        --at;
        if (at->second.end > place) {
            intervals_[place] = at->second;
            at->second.end = place;
        }
    }

    std::map<uint32_t, Interval> intervals_;
};

struct Fragment {
    uint32_t object, field;
    bool operator==(const Fragment &other) const { return object == other.object && field == other.field; }
};

struct FragmentHash {
    size_t operator()(const Fragment &f) const { return mix32(mix32(2166136261u, f.object), f.field); }
};

// ---- the graph ----

struct Node {
    std::string name;
    std::vector<Command> needs;
    std::vector<Command> forward; // later commands that must be kept with this one
    bool requested = false;
};

struct Access {
    bool is_write, is_memory;
    uint32_t first, second, third; // pool, start, end; or object, field
};

class Graph {
public:
    const std::vector<Node> &nodes() const { return nodes_; }

    Command begin_command(std::string name)
    {
        nodes_.push_back({std::move(name), {}, {}, false});
        return static_cast<Command>(nodes_.size() - 1);
    }

    void touch_memory(bool is_write, uint32_t pool, uint32_t start, uint32_t size)
    {
        pending_.push_back({is_write, true, pool, start, start + size});
    }

    void touch_state(bool is_write, uint32_t object, uint32_t field)
    {
        pending_.push_back({is_write, false, object, field, 0});
    }

    void request() { nodes_.back().requested = true; }

    // Opens a pair (begin, create): the command that closes it will be a forward edge of the current one.
    void open_pair(uint32_t key) { open_pairs_[key].push_back(static_cast<Command>(nodes_.size() - 1)); }

    void close_pair(uint32_t key)
    {
        auto found = open_pairs_.find(key);
        if (found == open_pairs_.end())
            return;
        for (Command opener : found->second) {
            nodes_[opener].forward.push_back(static_cast<Command>(nodes_.size() - 1));
            add_need(opener);
        }
        open_pairs_.erase(found);
    }

    // A reset: whatever was opened stays open for ever, and nothing has to close it.
    void drop_pair(uint32_t key) { open_pairs_.erase(key); }

    // Resolves all reads against earlier commands' writes, then makes the command's own writes the latest.
    void end_command()
    {
        for (const Access &access : pending_)
            if (!access.is_write)
                resolve(access);
        for (const Access &access : pending_)
            if (access.is_write)
                commit(access);
        pending_.clear();
        auto &needs = nodes_.back().needs;
        std::sort(needs.begin(), needs.end());
        needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    }

    size_t interval_count() const
    {
        size_t count = 0;
        for (const auto &pool : pools_)
            count += pool.second.size();
        return count;
    }

private:
    void add_need(Command needed)
    {
        if (needed != nobody && needed != nodes_.size() - 1)
            nodes_.back().needs.push_back(needed);
    }

    void resolve(const Access &access)
    {
        if (access.is_memory) {
            pools_[access.first].read(access.second, access.third, [this](Command writer) { add_need(writer); });
        } else {
            auto found = state_.find({access.first, access.second});
            add_need(found == state_.end() ? nobody : found->second);
        }
    }

    void commit(const Access &access)
    {
        auto self = static_cast<Command>(nodes_.size() - 1);
        if (access.is_memory)
            pools_[access.first].write(access.second, access.third, self);
        else
            state_[{access.first, access.second}] = self;
    }

    std::vector<Node> nodes_;
    std::vector<Access> pending_;
    std::map<uint32_t, PoolWriters> pools_;
    std::unordered_map<Fragment, Command, FragmentHash> state_;
    std::unordered_map<uint32_t, std::vector<Command>> open_pairs_;
};

// Which commands the requested ones need, through both kinds of edges.
std::vector<bool> find_live(const std::vector<Node> &nodes)
{
    std::vector<bool> live(nodes.size());
    std::vector<Command> work;
    auto keep = [&](Command command) {
        if (!live[command]) {
            live[command] = true;
            work.push_back(command);
        }
    };
    for (Command command = 0; command < nodes.size(); command++)
        if (nodes[command].requested)
            keep(command);
    while (!work.empty()) {
        const Node &node = nodes[work.back()];
        work.pop_back();
        std::for_each(node.needs.begin(), node.needs.end(), keep);
        std::for_each(node.forward.begin(), node.forward.end(), keep);
    }
    return live;
}

// ---- the trace ----

enum : uint32_t { pool_count = 4, pool_size = 1 << 16, object_count = 64, field_count = 8, context = 1000, query = 2000 };

class Trace {
public:
    explicit Trace(uint32_t seed) : random_(seed) {}

    void record(Graph &graph)
    {
        switch (below(14)) {
        case 0: case 1: case 2: draw(graph); break;
        case 3: case 4: upload(graph); break;
        case 5: copy(graph); break;
        case 6: create(graph); break;
        case 7: destroy(graph); break;
        case 8: query_pair(graph); break;
        case 9: reset(graph); break;
        case 10: read_back(graph); break;
        default: set_state(graph);
        }
        graph.end_command();
    }

private:
    uint32_t below(uint32_t limit) { return (random32(&random_) >> 8) % limit; }

    void touch(Graph &graph, bool is_write, uint32_t limit)
    {
        uint32_t size = 1 + below(limit); // one call per statement: arguments are evaluated in any order
        uint32_t pool = below(pool_count);
        uint32_t start = below((pool_size - size) / 64) * 64;
        graph.touch_memory(is_write, pool, start, size);
    }

    void touch_object(Graph &graph, bool is_write)
    {
        uint32_t object = below(object_count);
        graph.touch_state(is_write, object, below(field_count));
    }

    // Reads the context and some objects, vertices from memory; writes the frame: one field of the context.
    void draw(Graph &graph)
    {
        graph.begin_command("draw");
        for (uint32_t i = 0; i < 3; i++)
            graph.touch_state(false, context, i);
        touch_object(graph, false);
        touch(graph, false, 512);
        graph.touch_state(false, context, 7);
        graph.touch_state(true, context, 7);
    }

    void upload(Graph &graph)
    {
        graph.begin_command("upload");
        touch(graph, true, 1024);
    }

    void copy(Graph &graph)
    {
        graph.begin_command("copy");
        touch(graph, false, 256);
        touch(graph, true, 256);
    }

    void set_state(Graph &graph)
    {
        Command command = graph.begin_command("set");
        if (command & 1)
            graph.touch_state(true, context, below(7));
        else
            touch_object(graph, true);
    }

    void create(Graph &graph)
    {
        uint32_t object = below(object_count);
        graph.begin_command("create " + std::to_string(object));
        for (uint32_t field = 0; field < field_count; field++)
            graph.touch_state(true, object, field);
        graph.open_pair(object);
    }

    void destroy(Graph &graph)
    {
        uint32_t object = below(object_count);
        graph.begin_command("destroy " + std::to_string(object));
        graph.touch_state(false, object, below(field_count));
        graph.touch_state(true, object, 0);
        graph.close_pair(object);
    }

    void query_pair(Graph &graph)
    {
        in_query_ = !in_query_;
        graph.begin_command(in_query_ ? "begin" : "end");
        graph.touch_state(!in_query_, query, 0);
        if (in_query_)
            graph.open_pair(query);
        else
            graph.close_pair(query);
    }

    void reset(Graph &graph)
    {
        uint32_t object = below(object_count);
        graph.begin_command("reset " + std::to_string(object));
        graph.drop_pair(object);
        if (below(8) == 0) { // now and then the frame starts anew, and what was drawn before is dead
            graph.touch_state(true, context, 7);
            graph.drop_pair(query);
            in_query_ = false;
        }
    }

    // Sometimes what memory holds is asked for; the last frame always is.
    void read_back(Graph &graph)
    {
        graph.begin_command("read");
        touch(graph, false, 128);
        if (below(16) == 0)
            graph.request();
    }

    uint32_t random_;
    bool in_query_ = false;
};

void request_frame(Graph &graph)
{
    graph.begin_command("present");
    graph.touch_state(false, context, 7);
    graph.request();
    graph.end_command();
}

void out_dot(const std::vector<Node> &nodes, const std::vector<bool> &live)
{
    std::string text = "digraph commands {\n";
    for (Command command = 0; command < nodes.size(); command++) {
        std::string name = "n" + std::to_string(command);
        text += "  " + name + " [label=\"" + nodes[command].name + "\"" + (live[command] ? "" : ", style=dotted") + "];\n";
        for (Command needed : nodes[command].needs)
            text += "  " + name + " -> n" + std::to_string(needed) + ";\n";
        for (Command later : nodes[command].forward)
            text += "  " + name + " -> n" + std::to_string(later) + " [style=dashed];\n";
    }
    out_string((text + "}\n").c_str());
}

void out_graph(uint32_t commands)
{
    Graph graph;
    Trace trace(20180424);
    for (uint32_t i = 0; i < commands; i++)
        trace.record(graph);
    request_frame(graph);
    out_dot(graph.nodes(), find_live(graph.nodes()));
}

struct Totals {
    uint32_t hash = 0, kept = 0, edges = 0, forward = 0, intervals = 0;
    std::map<std::string, uint32_t> kept_by_kind;
};

void eliminate(uint32_t commands, uint32_t seed, Totals &totals)
{
    auto graph = std::make_unique<Graph>();
    Trace trace(seed);
    for (uint32_t i = 0; i < commands; i++)
        trace.record(*graph);
    request_frame(*graph);
    std::vector<bool> live = find_live(graph->nodes());
    for (Command command = 0; command < live.size(); command++) {
        const Node &node = graph->nodes()[command];
        auto needs = static_cast<uint32_t>(node.needs.size());
        totals.edges += needs;
        totals.forward += static_cast<uint32_t>(node.forward.size());
        totals.hash = mix32(totals.hash, needs << 1 | live[command]);
        if (live[command])
            totals.kept_by_kind[node.name.substr(0, node.name.find(' '))]++;
    }
    totals.kept += static_cast<uint32_t>(std::count(live.begin(), live.end(), true));
    totals.intervals += static_cast<uint32_t>(graph->interval_count());
}

} // namespace

int main(int argc, char **argv)
{
    constexpr uint32_t trace_size = 20000; // longer runs are several traces
    if (argc > 1 && std::string(argv[1]) == "dot") {
        out_graph(24);
        return 0;
    }
    uint32_t commands = sample_begin(argc, argv, 3000);
    Totals totals;
    for (uint32_t done = 0; done < commands; done += trace_size)
        eliminate(std::min(commands - done, trace_size), 20180424 + done, totals);
    out_line_decimal("kept", static_cast<int32_t>(totals.kept));
    out_line_decimal("edges", static_cast<int32_t>(totals.edges));
    out_line_decimal("forward edges", static_cast<int32_t>(totals.forward));
    out_line_decimal("intervals", static_cast<int32_t>(totals.intervals));
    for (const auto &kind : totals.kept_by_kind)
        out_line_decimal(kind.first.c_str(), static_cast<int32_t>(kind.second));
    return sample_end(mix32(totals.hash, totals.kept));
}
