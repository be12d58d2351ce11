"""openssl of a firmware, beside this machine's own: each checks the keys, signatures and certificates of the other.

Enters: a firmware that firmware_root.py built, and a way of running it; scripts in tests/guests/firmware. Leaves:
Failed, with what differs, or which of openssl's own tests failed. What its `speed` measures is not judged.
"""

from __future__ import annotations

import re
import shutil
import socket
import ssl
from pathlib import Path

from tests.conformance.debian_roots import Way, end_all
from tests.conformance.firmware_programs import SCRIPTS, Failed, Firmware, must_equal
from tests.conformance.firmware_services import PATIENCE, free_port, until

DATA = {
    "bntest": ("10-test_bn_data", ("bnexp", "bngcd", "bnmod", "bnmul", "bnshift", "bnsum")),
    "evp_test": ("30-test_evp_data", (
        "evpciph_aes_ccm_cavs", "evpciph_aes_common", "evpciph_aes_cts", "evpciph_aes_ocb", "evpciph_aes_siv",
        "evpciph_aes_wrap", "evpciph_chacha", "evpciph_des3_common", "evpencod", "evpkdf_hkdf", "evpkdf_scrypt",
        "evpkdf_tls13_kdf", "evpmac_common", "evpmac_poly1305", "evpmd_blake", "evpmd_md", "evpmd_sha",
        "evppbe_pbkdf2", "evppkey_ecc", "evppkey_ecdh", "evppkey_ecdsa", "evppkey_ecx", "evppkey_ffdhe", "evppkey_rsa",
        "evppkey_rsa_common", "evprand")),
}  # fmt: skip
"""Tests that read files, one in each run: where the files are among the recipes, and their names."""
THREADS = "90-test_threads_data"
PLAIN_TESTS = ("aesgcmtest", "asn1_encode_test", "bio_enc_test", "exptest", "lhash_test", "sanitytest", "secmemtest",
               "sha_test")  # fmt: skip
SPEED = {"md5": "+F:", "sha256": "+F:", "aes-128-cbc": "+F:", "rsa2048": "+F2:", "ecdsap256": "+F4:",
         "ecdhx25519": "+F5:", "ed25519": "+F6:"}  # fmt: skip
"""Algorithms to measure, and how their lines begin; those of one kind have their names, too."""


def _own_tests(firmware: Firmware, way: Way) -> None:
    folder = "/usr/lib/openssl"
    recipes = firmware.state / "sources/openssl/test/recipes"
    commands = [f"{folder}/{name}" for name in PLAIN_TESTS]
    if way.start != "qemu":  # whose readdir of 32 bits fails with EOVERFLOW on ext4
        commands.append(f"{folder}/threadstest {folder}/{THREADS}")
    for data in (THREADS, *(data for data, _ in DATA.values())):
        shutil.copytree(recipes / data, firmware.root.folder / folder.strip("/") / data, dirs_exist_ok=True)
    for test, (data, names) in DATA.items():
        commands += [f"{folder}/{test} {folder}/{data}/{name}.txt" for name in names]
    script = "\n".join(f"{line} > log 2>&1 || {{ tail -n 20 log; echo {line}: failed; }}" for line in commands)
    must_equal(firmware.in_root(way, script + "\necho all ended", 3600), "all ended\nstatus 0\n")


def _speed(firmware: Firmware, way: Way) -> None:
    """Its speeds are printed for each algorithm, and none is zero."""
    output = firmware.in_root(way, f"openssl speed -mr -seconds 1 -bytes 1024 {' '.join(SPEED)}")
    for name, begin in SPEED.items():
        lines = [line.split(":") for line in output.splitlines() if line.startswith(begin)]
        lines = [words for words in lines if begin != "+F:" or words[2] == name]
        if len(lines) != 1 or float(lines[0][-1]) <= 0:
            raise Failed(f"speed of {name}: {lines}\n{output[-1500:]}")
    if not output.endswith("status 0\n"):
        raise Failed(f"speed: {output[-500:]}")


def _exchange(firmware: Firmware, way: Way) -> None:
    """Each side makes files and checks those of both sides."""
    shell: list[str | Path] = [firmware.native["busybox"], "sh"]
    work = firmware.root.folder / "tmp/exchange"
    shutil.rmtree(work, ignore_errors=True)
    expected = firmware.natively([*shell, SCRIPTS / "openssl-make.sh"])
    if not expected.endswith("pkcs12\nstatus 0\n"):
        raise Failed(f"this machine's openssl fails:\n{expected[-500:]}")
    shutil.copytree(firmware.state / "native-work", work / "native")
    script = "sh /root/checks/openssl-make.sh; cp -r . /tmp/exchange/guest"
    must_equal(firmware.in_root(way, script), expected)
    for maker in ("native", "guest"):
        expected = firmware.natively([*shell, SCRIPTS / "openssl-check.sh", work / maker])
        if not expected.endswith("wrong password\nstatus 0\n") or expected.count("Verified") != 5:
            raise Failed(f"what the {maker} openssl made is wrong:\n{expected}")
        must_equal(firmware.in_root(way, f"sh /root/checks/openssl-check.sh /tmp/exchange/{maker}"), expected)


def _tls(firmware: Firmware, way: Way) -> None:
    """A client of this machine asks a server for its page, by both versions of TLS, and trusts its authority."""
    port, work = free_port(), firmware.root.folder / "tmp/exchange/guest"
    command = f"cd /tmp/exchange/guest; exec openssl s_server -www -accept {port} -cert leaf.pem -key P-256.key"
    with firmware.root.started(way, command) as process:
        try:
            until(lambda: socket.create_connection(("127.0.0.1", port), 1).close())
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                context = ssl.create_default_context(cafile=str(work / "ca.pem"))
                context.minimum_version = context.maximum_version = version
                raw = socket.create_connection(("127.0.0.1", port), PATIENCE)
                with raw, context.wrap_socket(raw, server_hostname="router") as client:
                    client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                    answer = client.makefile("rb").read()
                if not re.match(rb"HTTP/1.0 200 ok\r\n", answer) or b"Ciphers supported" not in answer:
                    raise Failed(f"{version.name}: {answer[:500]!r}")
        except (Failed, OSError) as error:
            end_all(process)
            assert process.stdout is not None
            raise Failed(f"{error}\nits log:\n{process.stdout.read()[-1000:]}") from error


def openssl(firmware: Firmware, way: Way) -> None:
    """openssl's own tests pass, it agrees with this machine's one, it serves by TLS, and it measures its speed."""
    _exchange(firmware, way)
    _tls(firmware, way)
    _own_tests(firmware, way)
    _speed(firmware, way)
