const size = 256;
let inside = 0;
for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
        const cr = 3 * x / size - 2, ci = 2 * y / size - 1;
        let zr = 0, zi = 0, steps = 0;
        while (zr * zr + zi * zi < 4 && steps < 100) {
            const next = zr * zr - zi * zi + cr;
            zi = 2 * zr * zi + ci;
            zr = next;
            steps++;
        }
        if (steps === 100) inside++;
    }
console.log(inside);
