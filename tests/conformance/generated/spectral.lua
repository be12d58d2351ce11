local n = 200
local function element(i, j) return 1 / ((i + j) * (i + j + 1) / 2 + i + 1) end
local function times(v, transposed)
    local result = {}
    for i = 0, n - 1 do
        local sum = 0
        for j = 0, n - 1 do sum = sum + (transposed and element(j, i) or element(i, j)) * v[j] end
        result[i] = sum
    end
    return result
end
local u, v = {}, nil
for i = 0, n - 1 do u[i] = 1 end
for _ = 1, 10 do
    v = times(times(u, false), true)
    u = times(times(v, false), true)
end
local vbv, vv = 0, 0
for i = 0, n - 1 do
    vbv, vv = vbv + u[i] * v[i], vv + v[i] * v[i]
end
print(string.format("%.9f", math.sqrt(vbv / vv)))
