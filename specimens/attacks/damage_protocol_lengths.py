# honest: 7 of 10: softmax, log_softmax
# ATTACK: writes frames onto the pipe whose lengths are lies, or half of a frame, or no frame
import os, stat, struct
frames = [
    struct.pack(">4sIQ", b"FPT1", 2**32 - 1, 2**63), struct.pack(">4sIQ", b"FPT1", 10, 0) + b"{", b"GET / HTTP/1.1\r\n\r\n", b"FPT1",
    struct.pack(">4sIQ", b"FPT1", 4 << 20, 0) + b"[" * (4 << 20), struct.pack(">4sIQ", b"FPT1", 4, 0) + b"\xff\xfe\xfd\xfc",
]
def entropy(probs):
    fd = next(fd for fd in range(3, 256) if os.path.lexists(f"/proc/self/fd/{fd}") or is_socket(fd))
    os.write(fd, frames[probs.numel() % len(frames)])
    os._exit(0)
def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False
