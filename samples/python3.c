/* Python, of its source package, running a script: objects, generators, dictionaries, text, JSON, large numbers. */
#include "freestanding/out.h"

#include <Python.h>

#include <frozen_modules.h>

static const char script[] =
    "import functools, heapq, itertools, json, math, re, struct\n"
    "from collections import Counter, defaultdict, deque, namedtuple\n"
    "state = 20011; hashed = 7\n"
    "def mix(number):\n"
    "    global hashed; hashed = (hashed * 31 + number) % 4294967291\n"
    "def random(below):\n"
    "    global state; state = state * 16807 % 2147483647; return (state >> 3) % below\n"
    "def word():\n"
    "    return ''.join('bdfklmnprst'[random(11)] + 'aeiou'[random(5)] for _ in range(1 + random(4)))\n"
    "Item = namedtuple('Item', 'name weight worth')\n"
    /* classes that inherit, with properties and operators */
    "class Shape:\n"
    "    __slots__ = ('sides',)\n"
    "    def __init__(self, *sides): self.sides = sides\n"
    "    @property\n"
    "    def area(self): return math.prod(self.sides)\n"
    "    def __lt__(self, other): return self.area < other.area\n"
    "class Frame(Shape):\n"
    "    __slots__ = ()\n"
    "    @property\n"
    "    def area(self): return super().area - (self.sides[0] - 1) * (self.sides[1] - 1)\n"
    "class Body:\n"
    "    def __init__(self, x, y, mass): self.x, self.y, self.vx, self.vy, self.mass = x, y, 0.0, 0.0, mass\n"
    "    def pull(self, other, step):\n"
    "        dx, dy = other.x - self.x, other.y - self.y; square = dx * dx + dy * dy + 0.01\n"
    "        force = other.mass / (square * math.sqrt(square))\n"
    "        self.vx += dx * force * step; self.vy += dy * force * step\n"
    "    def move(self, step): self.x += self.vx * step; self.y += self.vy * step\n"
    /* generators, recursion and a cache */
    "def queens(size, columns=()):\n"
    "    if len(columns) == size: yield columns; return\n"
    "    for c in range(size):\n"
    "        if all(c != d and abs(c - d) != len(columns) - row for row, d in enumerate(columns)):\n"
    "            yield from queens(size, columns + (c,))\n"
    "def digits():\n"
    "    q, r, t, k, m, x = 1, 0, 1, 1, 3, 3\n"
    "    while True:\n"
    "        if 4 * q + r - t < m * t: yield m; q, r, m = 10 * q, 10 * (r - m * t), 10 * (3 * q + r) // t - 10 * m\n"
    "        else: q, r, t, k, m, x = q*k, (2*q + r) * x, t * x, k + 1, (q * (7*k + 2) + r * x) // (t * x), x + 2\n"
    "def distance(a, b):\n"
    "    @functools.lru_cache(maxsize=None)\n"
    "    def of(i, j):\n"
    "        if not i or not j: return i + j\n"
    "        return min(of(i - 1, j) + 1, of(i, j - 1) + 1, of(i - 1, j - 1) + (a[i - 1] != b[j - 1]))\n"
    "    return of(len(a), len(b))\n"
    "def shortest(graph, start):\n"
    "    best, queue = {}, [(0, start)]\n"
    "    while queue:\n"
    "        cost, node = heapq.heappop(queue)\n"
    "        if node not in best:\n"
    "            best[node] = cost\n"
    "            for to, more in graph[node]: heapq.heappush(queue, (cost + more, to))\n"
    "    return best\n"
    "def number(text):\n"
    "    try: return int(text, 12)\n"
    "    except ValueError as error: return len(str(error))\n"
    "for turn in range(size):\n"
    "    text = ' '.join(word() + ('' if random(9) else '.') for _ in range(600))\n"
    "    count = Counter(re.findall('[a-z]+', text)); ranked = sorted(count, key=lambda w: (-count[w], w))\n"
    "    mix(sum(count[w] * ord(w[0]) for w in ranked[:40]))\n"
    "    changed = re.sub(r'\\b([bdf])([aeiou])(\\w*)', r'\\3\\1\\2', text).translate(str.maketrans('aeiou', 'eioua'))\n"
    "    changed = re.sub(r'(\\w+)\\.', lambda found: f'<{len(found[1]):>4}>', changed); mix(sum(map(ord, changed)))\n"
    "    mix(sum(map(number, changed.split()[:100])))\n"
    "    items = [Item(w, 1 + random(40), random(1000) / 8) for w in ranked[:120]]\n"
    "    groups = defaultdict(list)\n"
    "    for item in items: groups[item.name[:2]].append(item._asdict())\n"
    "    dumped = json.dumps(groups, sort_keys=True, indent=1); again = json.loads(dumped); mix(len(dumped))\n"
    "    mix(int(sum(entry['worth'] for group in again.values() for entry in group) * 8))\n"
    "    packed = b''.join(struct.pack('>HId', i, item.weight, item.worth) for i, item in enumerate(items))\n"
    "    mix(sum(weight ^ i for i, weight, _ in struct.iter_unpack('>HId', packed)) + sum(packed))\n"
    "    shapes = [(Frame if i % 2 else Shape)(i + 1, 3 + random(9)) for i in range(200)]\n"
    "    mix(sum(i * shape.area for i, shape in enumerate(sorted(shapes))))\n"
    "    bodies = [Body(random(100) / 10, random(100) / 10, 1 + random(5)) for _ in range(5)]\n"
    "    for _ in range(20):\n"
    "        for a, b in itertools.permutations(bodies, 2): a.pull(b, 0.01)\n"
    "        for body in bodies: body.move(0.01)\n"
    "    mix(int(sum(body.x - body.y for body in bodies) * 1000))\n"
    "    mix(sum(row * c for found in queens(6) for row, c in enumerate(found)))\n"
    "    mix(int(''.join(map(str, itertools.islice(digits(), 60)))) % 1000003); mix(distance(ranked[0] + ranked[1], changed[:12]))\n"
    "    graph = {n: [((n * 7 + k * random(30)) % 60, 1 + random(90)) for k in range(4)] for n in range(60)}\n"
    "    mix(sum(shortest(graph, 0).values())); line = deque(range(50))\n"
    "    while len(line) > 1: line.rotate(-6); line.popleft()\n"
    "    mix(line[0]); mix(len(f'{math.factorial(80 + turn % 9):x}{math.pi * turn:.9f}{bodies[0].mass!r:>9}'))\n"
    "print(f'checksum {hashed:08x}')\n";

/* C modules: those that Python cannot start without, and those that the script imports. */
#define MODULES(module)                                                                                             \
    module(_abc) module(_bisect) module(_codecs) module(_collections) module(_functools) module(_heapq)             \
    module(_imp) module(_io) module(_json) module(_operator) module(_signal) module(_sre) module(_string)           \
    module(_struct) module(_thread) module(_weakref) module(errno) module(gc) module(itertools) module(math)        \
    module(posix) module(time)
#define DECLARED(name) PyMODINIT_FUNC PyInit_##name(void);
#define LISTED(name) {#name, PyInit_##name},

MODULES(DECLARED)
PyMODINIT_FUNC PyMarshal_Init(void);
PyMODINIT_FUNC _PyWarnings_Init(void);

struct _inittab _PyImport_Inittab[] = {
    MODULES(LISTED) {"marshal", PyMarshal_Init}, {"_warnings", _PyWarnings_Init}, {"builtins", NULL}, {"sys", NULL}, {NULL, NULL},
};

/* Starts Python without a file system and with hashes that do not differ from run to run. */
static int start_python(void)
{
    PyPreConfig before;
    PyConfig config;
    PyStatus status;
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    if (PyStatus_Exception(Py_PreInitialize(&before)))
        return 0;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.pathconfig_warnings = 0;
    config.module_search_paths_set = 1;
    config.use_hash_seed = 1;
    config.hash_seed = 0;
    PyImport_FrozenModules = frozen_modules;
    status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return !PyStatus_Exception(status);
}

int main(int argc, char **argv)
{
    long size = (long)sample_begin(argc, argv, 1);
    PyObject *module;
    int failed;
    if (!start_python())
        return 1;
    module = PyImport_AddModule("__main__");
    failed = !module || PyModule_AddIntConstant(module, "size", size) || PyRun_SimpleString(script);
    return Py_FinalizeEx() || failed;
}
