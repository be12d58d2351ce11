const limit = 3000000, composite = new Uint8Array(limit + 1);
let count = 0;
for (let i = 2; i <= limit; i++) {
    if (composite[i]) continue;
    count++;
    for (let j = i * i; j <= limit; j += i) composite[j] = 1;
}
console.log(count);
