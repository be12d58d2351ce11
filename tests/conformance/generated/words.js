let seed = 42, total = 0;
const counts = new Map();
for (let round = 0; round < 200000; round++) {
    seed = (seed * 16807) % 2147483647;
    const word = "w" + seed % 5000;
    counts.set(word, (counts.get(word) || 0) + 1);
}
for (const [word, count] of counts) total = (total + word.length * count * count) % 1000003;
console.log(total);
