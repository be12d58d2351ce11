local limit, count, composite = 3000000, 0, {}
for i = 2, limit do
    if not composite[i] then
        count = count + 1
        for j = i * i, limit, i do composite[j] = true end
    end
end
print(count)
