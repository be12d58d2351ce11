local size, inside = 256, 0
for y = 0, size - 1 do
    for x = 0, size - 1 do
        local cr, ci, zr, zi, steps = 3 * x / size - 2, 2 * y / size - 1, 0, 0, 0
        while zr * zr + zi * zi < 4 and steps < 100 do
            zr, zi, steps = zr * zr - zi * zi + cr, 2 * zr * zi + ci, steps + 1
        end
        if steps == 100 then inside = inside + 1 end
    end
end
print(inside)
