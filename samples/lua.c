/* Lua, of its source package, running a script of everyday tasks: calls, closures, tables, strings, coroutines. */
#include "freestanding/out.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static const char script[] =
    "local size = ...\n"
    "local hash = 2166136261\n"
    "local function mix(value) hash = ((hash ~ value) * 16777619) & 0xffffffff; return hash end\n"
    "local seed = 12345\n"
    "local function random(below) seed = (seed * 1103515245 + 12345) & 0x7fffffff; return (seed >> 8) % below end\n"
    /* calls and recursion */
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end\n"
    /* objects with methods, inherited */
    "local Shape = {} Shape.__index = Shape\n"
    "function Shape.new(w, h) return setmetatable({w = w, h = h}, Shape) end\n"
    "function Shape:area() return self.w * self.h end\n"
    "local Frame = setmetatable({}, {__index = Shape}) Frame.__index = Frame\n"
    "function Frame.new(w, h, b) local f = Shape.new(w, h) f.b = b return setmetatable(f, Frame) end\n"
    "function Frame:hole() return (self.w - self.b) * (self.h - self.b) end\n"
    /* a sieve: tables as arrays */
    "local function sieve(limit)\n"
    "  local composite, count = {}, 0\n"
    "  for i = 2, limit do\n"
    "    if not composite[i] then count = count + 1 for j = i * i, limit, i do composite[j] = true end end\n"
    "  end\n"
    "  return count\n"
    "end\n"
    /* words counted and sorted with a function of our own: strings, hashes, callbacks */
    "local function words(count)\n"
    "  local counts, list, text = {}, {}, {}\n"
    "  for i = 1, count do text[i] = string.char(97 + random(6), 97 + random(5), 97 + random(3)) end\n"
    "  for word in table.concat(text, ' '):gmatch('%a+') do\n"
    "    if not counts[word] then list[#list + 1] = word end\n"
    "    counts[word] = (counts[word] or 0) + 1\n"
    "  end\n"
    "  table.sort(list, function(a, b)\n"
    "    if counts[a] ~= counts[b] then return counts[a] > counts[b] end\n"
    "    return a < b\n"
    "  end)\n"
    "  for i, word in ipairs(list) do mix(counts[word] * 31 + #word + word:byte(2) * i) end\n"
    "  return ('%s:%d'):format(list[1], counts[list[1]])\n"
    "end\n"
    /* queens: a coroutine hands the solutions out */
    "local function queens(n)\n"
    "  local column, up, down, place = {}, {}, {}, {}\n"
    "  local function put(row)\n"
    "    if row > n then coroutine.yield(place) return end\n"
    "    for c = 1, n do\n"
    "      if not (column[c] or up[row + c] or down[row - c + n]) then\n"
    "        column[c], up[row + c], down[row - c + n], place[row] = true, true, true, c\n"
    "        put(row + 1)\n"
    "        column[c], up[row + c], down[row - c + n] = nil, nil, nil\n"
    "      end\n"
    "    end\n"
    "  end\n"
    "  return coroutine.wrap(function() put(1) end)\n"
    "end\n"
    /* floating point: the area under a curve, and text from numbers */
    "local function area(steps)\n"
    "  local sum = 0.0\n"
    "  for i = 1, steps do local x = (i - 0.5) / steps sum = sum + 4.0 / (1.0 + x * x) end\n"
    "  return math.floor(sum / steps * 1000000)\n"
    "end\n"
    "local top\n"
    "for round = 1, size do\n"
    "  mix(fib(17))\n"
    "  for i = 1, 300 do\n"
    "    local frame = Frame.new(i, random(50) + 60, 3)\n"
    "    mix(frame:area() - frame:hole())\n"
    "  end\n"
    "  mix(sieve(3000))\n"
    "  top = words(400)\n"
    "  for place in queens(5) do mix(place[1] * 10 + place[5]) end\n"
    "  mix(area(2000))\n"
    "  local parts = {}\n"
    "  for i = 1, 100 do parts[i] = tostring(random(1000) * i) .. ('-'):rep(i % 5) end\n"
    "  local text = table.concat(parts):gsub('%-+', function(dashes) return #dashes end)\n"
    "  for i = 1, #text, 7 do mix(text:byte(i)) end\n"
    "  local fine, message = pcall(error, {code = round})\n"
    "  mix(fine and 1 or message.code)\n"
    "end\n"
    "return hash, top\n";

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 1);
    lua_State *lua = luaL_newstate();
    if (!lua)
        return 1;
    luaL_openlibs(lua);
    int failed = luaL_loadstring(lua, script);
    if (!failed) {
        lua_pushinteger(lua, (lua_Integer)rounds);
        failed = lua_pcall(lua, 1, 2, 0);
    }
    if (failed) {
        out_string(lua_tostring(lua, -1));
        out_char('\n');
        return 1;
    }
    uint32_t hash = (uint32_t)lua_tointeger(lua, -2);
    out_string("most frequent ");
    out_string(lua_tostring(lua, -1));
    out_char('\n');
    lua_close(lua);
    return sample_end(hash);
}
