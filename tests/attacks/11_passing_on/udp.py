# landlock, beside correct and wrong: sends a datagram
import socket

try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"@TOKEN@", ("127.0.0.1", @UDP@))
    print("OUCH", flush=True)
except OSError:
    pass
