# Checks what openssl-make.sh left in a folder, be it on this machine or another; prints what follows from the files.
exec 2> /dev/null
cd $1
for cipher in *.enc; do
    openssl enc -d -${cipher%.enc} -pbkdf2 -iter 100 -S 0102030405060708 -k secret -in $cipher | cmp - data && echo $cipher
done
for key in rsa P-256 P-384; do
    openssl dgst -sha256 -verify $key.pub -signature $key.sig data
    openssl dgst -sha1 -verify $key.pub -signature $key.sig data || echo other digest, status $?
done
for key in ed25519 ed448; do
    openssl pkeyutl -verify -pubin -inkey $key.pub -rawin -in data -sigfile $key.sig
    openssl pkeyutl -sign -inkey $key.key -rawin -in data | md5sum
done
openssl dgst -sha512 -sign rsa.key data | md5sum
openssl pkeyutl -decrypt -inkey rsa.key -pkeyopt rsa_padding_mode:oaep -in rsa.oaep | md5sum
for key in P-256 P-384 x25519; do
    openssl pkeyutl -derive -inkey $key.key -peerkey $key-peer.pub | md5sum
    openssl pkeyutl -derive -inkey $key-peer.key -peerkey $key.pub | md5sum
done
for key in *.key; do openssl pkey -in $key -outform DER | md5sum; openssl pkey -in $key -check -noout; done
openssl rsa -in rsa.key -noout -modulus
openssl verify -CAfile ca.pem ca.pem leaf.pem
openssl verify leaf.pem || echo no authority
openssl x509 -in leaf.pem -noout -serial -subject -issuer -dates -fingerprint -sha256
openssl asn1parse -in leaf.pem
openssl pkey -in P-384.p8 -passin pass:secret | md5sum
openssl pkcs12 -in leaf.p12 -passin pass:secret -nodes | openssl x509 -noout -fingerprint
openssl pkcs12 -in leaf.p12 -passin pass:wrong -nodes || echo wrong password
