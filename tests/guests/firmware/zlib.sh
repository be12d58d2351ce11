# minigzip at each level and strategy, and zlib's own test. Sums of what they write are the same on every machine.
seq 1 60000 > numbers
awk 'BEGIN { for (x = 1; i < 30000; i++) { x = (x * 69069 + 1) % 65536; printf "%d%c", x, x % 60 + 40 } }' > mixed
head -c 200000 /dev/zero > zeros
for level in -1 -2 -3 -4 -5 -6 -7 -8 -9 -f -h -r; do
    for file in numbers mixed zeros; do
        minigzip $level < $file > packed
        md5sum < packed
        minigzip -d < packed | cmp - $file
        gunzip -c < packed | cmp - $file
        gzip -c $file | minigzip -d | cmp - $file
    done
done
cp mixed kept && minigzip -9 kept && ls kept* && minigzip -d kept.gz && ls kept* && cmp kept mixed && echo same
minigzip -6 < mixed > packed
head -c 5000 packed | minigzip -d > cut; echo status $?; cmp -n 1000 cut mixed
(head -c 3000 packed; echo damage; tail -c +3008 packed) | minigzip -d > /dev/null; echo status $?
example | grep -v 'zlib version' # which shows the sizes of types
