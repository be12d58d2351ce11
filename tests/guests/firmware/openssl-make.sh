# Digests, ciphers, keys and certificates of openssl, in an empty folder. What it prints is the same on every machine;
# openssl-check.sh checks the files that it leaves.
exec 2> log
seq 1 30000 > data
for digest in md5 sha1 sha224 sha256 sha384 sha512 sha512-256 sha3-256 sha3-512 blake2b512 blake2s256; do
    openssl dgst -$digest -r data
    openssl dgst -$digest -hmac secret -r data
done
openssl mac -cipher AES-128-CBC -macopt hexkey:000102030405060708090a0b0c0d0e0f -in data CMAC
openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f -in data Poly1305
for cipher in aes-128-cbc aes-192-ctr aes-256-cfb aes-256-ofb aes-128-ecb des-ede3-cbc chacha20; do
    openssl enc -e -$cipher -pbkdf2 -iter 100 -S 0102030405060708 -k secret -in data -out $cipher.enc
    md5sum $cipher.enc
done
openssl kdf -keylen 40 -kdfopt digest:SHA256 -kdfopt pass:secret -kdfopt salt:pepper -kdfopt iter:500 PBKDF2
openssl kdf -keylen 40 -kdfopt digest:SHA512 -kdfopt key:secret -kdfopt salt:pepper HKDF
openssl kdf -keylen 40 -kdfopt pass:secret -kdfopt salt:pepper -kdfopt n:256 -kdfopt r:8 -kdfopt p:2 SCRYPT
for kind in 1 apr1 5 6; do openssl passwd -$kind -salt pepper secret; done
openssl prime 1000003 1000005 170141183460469231731687303715884105727
openssl enc -base64 -in data | md5sum
openssl rand 32 | wc -c

cat > own.cnf << END
[req]
distinguished_name = name
x509_extensions = authority
[name]
[authority]
basicConstraints = critical, CA:TRUE
[server]
subjectAltName = DNS:router, IP:127.0.0.1
END
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.key && echo rsa
for curve in P-256 P-384; do
    openssl genpkey -algorithm EC -pkeyopt group:$curve -out $curve.key && echo $curve
    openssl genpkey -algorithm EC -pkeyopt group:$curve -out $curve-peer.key
done
for kind in ed25519 ed448 x25519 x448; do openssl genpkey -algorithm $kind -out $kind.key && echo $kind; done
openssl genpkey -algorithm x25519 -out x25519-peer.key
openssl genpkey -algorithm DH -pkeyopt group:ffdhe2048 -out dh.key && echo dh
for key in *.key; do openssl pkey -in $key -pubout -out ${key%key}pub || echo $key has no other half; done
for key in rsa P-256 P-384; do openssl dgst -sha256 -sign $key.key -out $key.sig data && echo $key signs; done
for key in ed25519 ed448; do openssl pkeyutl -sign -inkey $key.key -rawin -in data -out $key.sig && echo $key signs; done
head -c 100 data | openssl pkeyutl -encrypt -pubin -inkey rsa.pub -pkeyopt rsa_padding_mode:oaep -out rsa.oaep && echo oaep
openssl req -config own.cnf -new -x509 -key rsa.key -sha256 -days 3650 -subj /CN=authority -out ca.pem && echo ca
openssl req -config own.cnf -new -key P-256.key -subj /C=DE/O=Routers/CN=router -out leaf.csr && openssl req -config own.cnf -in leaf.csr -noout -verify && echo csr
openssl x509 -req -in leaf.csr -CA ca.pem -CAkey rsa.key -set_serial 77 -days 3650 -extfile own.cnf -extensions server -out leaf.pem && echo leaf
openssl pkcs8 -topk8 -in P-384.key -passout pass:secret -out P-384.p8 && echo pkcs8
openssl pkcs12 -export -in leaf.pem -inkey P-256.key -passout pass:secret -out leaf.p12 && echo pkcs12
