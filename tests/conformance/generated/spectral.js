const n = 200;
const element = (i, j) => 1 / ((i + j) * (i + j + 1) / 2 + i + 1);
function times(v, transposed) {
    const result = new Array(n);
    for (let i = 0; i < n; i++) {
        let sum = 0;
        for (let j = 0; j < n; j++) sum += (transposed ? element(j, i) : element(i, j)) * v[j];
        result[i] = sum;
    }
    return result;
}
let u = new Array(n).fill(1), v;
for (let round = 0; round < 10; round++) {
    v = times(times(u, false), true);
    u = times(times(v, false), true);
}
let vbv = 0, vv = 0;
for (let i = 0; i < n; i++) {
    vbv += u[i] * v[i];
    vv += v[i] * v[i];
}
console.log(Math.sqrt(vbv / vv).toFixed(9));
