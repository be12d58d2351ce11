# Applets of busybox; prints nothing that depends on the machine. The folder that it runs in is empty.
exec 2> /dev/null # names of scripts, versions with times
umask 022
seq 1 3000 > numbers
yes 'the quick brown fox' | head -n 500 > text
for tool in md5sum sha1sum sha256sum sha512sum sha3sum crc32; do $tool numbers text; done
sort -rn numbers | head -n 3
sort -k 2 -t ' ' text | uniq -c
for tool in gzip bzip2 lzop; do
    cp numbers copy && $tool copy && ls copy.* && $tool -dc copy.* | cmp - numbers && echo $tool same
    rm -f copy copy.*
done
touch -d '2001-02-03 04:05:06' numbers text
chmod 640 text
mkdir -p deep/er && ln -s ../../text deep/er/link && ln numbers deep/hard
tar -cf all.tar numbers text deep && tar -tf all.tar && mkdir out && tar -xf all.tar -C out && cmp numbers out/numbers
find deep | sort | cpio -o -H newc 2> /dev/null | cpio -t 2> /dev/null
stat -c '%n %s %a %F %Y %h' numbers text out/text; stat -c '%n %s %F' out/deep/er/link
readlink -f deep/er/link | sed "s|$PWD||"
find . -type f -newermt 2020-01-01 -name '*.tar'; find . -size +10k -type f | sort | xargs wc -c
awk 'BEGIN { for (i = 0; i < 40; i++) printf "%d %x %.6f %e %g\n", i, i * i, sqrt(i), exp(i / 7), 1 / (i + 1) }' | md5sum
awk '{ sum += $1; seen[$1 % 7]++ } END { print sum; for (i = 0; i < 7; i++) print i, seen[i] }' numbers
sed -n -e '/99$/{s/\(.\)\(.*\)/<\2\1>/;p}' numbers | tr '0-9' 'a-j' | tail -n 3
hexdump -C text | head -n 3; od -c -An numbers | head -n 2; xxd numbers | head -n 2
dd if=numbers bs=7 skip=3 count=10 2> /dev/null | tr '\n' ,; echo
head -c 100 text | uuencode name | uudecode -o - | cmp -n 100 - text && echo uu same
base64 text | base64 -d | cmp - text && echo base64 same
printf '%5d|%-5s|%05.1f|%x|%c\n' 42 ab 3.14159 255 z
expr 7 \* 6 + 1; expr length abcdef; factor 1234567890 9223372036854775807; echo '2 3 ^ 10 / p' | dc
echo 'scale=20; 4*a(1); 2^100' | bc -l
date -u -d @1234567890 '+%Y-%m-%d %H:%M:%S %j %u'; cal 2 2024
diff -u numbers text | head -n 4 | tail -n 2
mkfifo pipe; (seq 1 20000 > pipe) & sum=0; while read -r n; do sum=$((sum + n)); done < pipe; wait; echo $sum
trap 'echo caught' USR1; kill -USR1 $$; (exit 3) || echo status $?
timeout 1 sleep 5; echo timeout $?
set -- a b 'c d'; for word; do printf '<%s>' "$word"; done; echo
x=abcdefgh; echo ${x#abc} ${x%fgh} ${x:2:3} ${#x} $((0x7fffffff + 1)) $((1 << 40)) $((-7 / 2)) $((-7 % 3))
case $x in a*h) echo matched ;; esac
dd if=/dev/zero of=image bs=1024 count=512 2> /dev/null && mkfs.ext2 image 2> /dev/null | tail -n 1; blkid image 2> /dev/null | wc -l
ipcalc -n -b -m 10.1.2.3/20; which cat > /dev/null && echo found
