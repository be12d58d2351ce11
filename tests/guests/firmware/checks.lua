-- Prints nothing that depends on the machine, but for what it computes itself from string.pack's byte orders.
local function show(...) print(string.format(...)) end

show("%d %d %d", 7 // 2, -7 // 2, -7 % 3)
show("%s %s", math.maxinteger + 1 == math.mininteger, math.type(3.0))
show("%.14g %.14g %.14g", math.pi, math.exp(1), math.sin(1e6))
show("%q %q", 0.1, "a\0b\n")
show("%a", 0.1)
show("%s %s %s", 1e15, 2^53, -0.0)
show("%s", ("x"):rep(3, ","))
for _, format in ipairs {">i4", "<i4", ">d", "<f", ">s2", "<i8", ">I3", "!4 >i1i4"} do
    local values = format:find "s" and {"text"} or format:find "i1" and {1, -2} or {-2}
    if format == ">I3" then values = {0x010203} end
    local packed = string.pack(format, table.unpack(values))
    show("%s %s %s", format, packed:gsub(".", function(c) return ("%02x"):format(c:byte()) end), string.unpack(format, packed))
end
assert(string.unpack("=i4", string.pack("=i4", 0x01020304)) == 0x01020304)

local function fibonacci(n) if n < 2 then return n end return fibonacci(n - 1) + fibonacci(n - 2) end
show("%d", fibonacci(22))
local words = {}
for word in ("the quick brown fox jumps over the lazy dog"):gmatch "%a+" do words[#words + 1] = word end
table.sort(words, function(a, b) return a > b end)
print(table.concat(words, " "))
print(("key = value"):match "^(%w+)%s*=%s*(%w+)$")
print(utf8.char(72, 228, 8364, 128512), utf8.len "Hä€😀")

local numbers = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i * i) end end)
print(numbers(), numbers(), numbers())
print(select(2, pcall(function() error {code = 7} end)).code)
print(select(2, pcall(error, "message", 0)))
print(select("#", table.unpack({}, 1, 200)))

local made = setmetatable({}, {__mode = "k"})
for i = 1, 2000 do made[{}] = ("x"):rep(i % 50) end
collectgarbage()
print(next(made), collectgarbage "count" < 20000)
do
    local closed <close> = setmetatable({}, {__close = function() print "closed" end})
end

local name = os.tmpname()
local file = assert(io.open(name, "wb"))
for i = 1, 1000 do file:write(i, " ", i / 8, "\n") end
file:close()
local sum, count = 0, 0
for a, b in io.open(name):read "a":gmatch "(%d+) ([%d.]+)\n" do sum, count = sum + a * b, count + 1 end
show("%d %.3f", count, sum)
os.remove(name)
print(os.time {year = 2024, month = 2, day = 29, hour = 12}, os.date("!%Y-%m-%d %H:%M:%S", 86400 * 365))
local pipe = io.popen "echo from a pipe; exit 3"
print(pipe:read "a", pipe:close())
math.randomseed(42)
print(math.random(100) == math.random(100), #tostring(math.random()) > 2)
local hash = 0
for i = 1, 200000 do hash = (hash * 31 + i) & 0xffffffff ~ (hash >> 7) end
print(hash)
