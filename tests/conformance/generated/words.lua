local seed, counts, total = 42, {}, 0
for _ = 1, 200000 do
    seed = (seed * 16807) % 2147483647
    local word = "w" .. (seed % 5000)
    counts[word] = (counts[word] or 0) + 1
end
for word, count in pairs(counts) do total = (total + #word * count * count) % 1000003 end
print(total)
